"""Break the privacy code on purpose, one small change at a time, and see which test notices.

    python benchmarks/mutants.py [--set learners] [--sample N] [--jobs J] [--only FILE]
                                 [--minutes M] [--again] [--report]

Each mutant is one change to the syntax tree of one file: an operator, a comparison's boundary, a
constant, `max` for `min`, a charge left out, a scale rounded to nearest. Every process has a copy of
the package; the mutated file is written into it, and the tests that are named for the file run
against it until one fails, those that killed others of the file's mutants first. Results go to
docs/results/mutants.csv as they come, so a run resumes where it stopped; docs/results/mutants.md
lists every mutant with what killed it. The script ends with exit code 1 while a mutant is untried,
or survives without a reason in mutants_explained.toml.

`--set learners` breaks the papers' learners instead (mutants_learners.py): first each equation by
hand, then like the privacy code; its results are in mutants_learners.csv and .md. `--sample N` tries N
of them, always the same ones.
"""

from __future__ import annotations

import argparse
import atexit
import csv
import functools
import importlib
import multiprocessing
import os
import random
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

from mutants_making import SETS, SOURCE, Mutant, mutants_in
from mutants_report import EXPLAINED, key_of, report

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
SLOW = 3  # a mutant that takes so many times as long as none is one that loops: killed by time
KILLERS = 4  # so many tests that killed a file's last mutants are tried first
IDLE = 6  # and one that waits takes so many times its limit of CPU time by the clock
GUARDS = {file: tests for guarded in SETS.values() for file, tests in guarded.items()}

HEAVY = (
    "numpy", "pandas", "pyarrow.dataset", "numba", "scipy.stats", "sklearn.ensemble", "sklearn.utils",
    "opendp.prelude", "dp_accounting", "hypothesis", "pytest", "cryptography.fernet", "sqlalchemy",
)  # fmt: skip
"""What every test run imports: read once by each process, then inherited by its forks."""

QUICK = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FRITH_SHRINK": "0", "OMP_NUM_THREADS": "1"}
"""Without plugins that these tests do not need, and without looking for the smallest example."""

KERNELS = (
    "kernels/counts", "kernels/levels", "kernels/gradients", "kernels/label_gradients",
    "kernels/residuals", "growing/random_trees", "growing/consistency", "forest/voting",
)  # fmt: skip
"""Modules that would be compiled anew for each mutant: they run as Python instead."""


class Copy:
    """The package in a folder of its own, in which one file at a time is broken."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="frith-mutants-"))
        self.limits: dict[str, int] = {}
        self.killers: dict[str, list[str]] = {}
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(SOURCE, self.folder / "frith", ignore=ignored)
        os.environ |= QUICK
        for name in HEAVY:
            importlib.import_module(name)

    def run(self, file: str, limit: int) -> tuple[int, str]:
        """The exit code of a file's tests, in a fork of so many CPU seconds, and what failed first."""
        log = self.folder / "log"
        child = os.fork()
        if child == 0:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
            _test(self.folder, log, file, self.killers.get(file, []))
        end = time.monotonic() + IDLE * limit
        while not (ended := os.wait4(child, os.WNOHANG))[0]:
            if time.monotonic() > end:
                os.killpg(child, signal.SIGKILL)
                ended = os.wait4(child, 0)
                break
            time.sleep(0.05)
        _, status, self.used = ended
        if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
            return 1, "time"
        text = log.read_text(encoding="utf-8", errors="replace")
        failed = re.search(r"^(?:FAILED|ERROR) (\S+)", text, re.MULTILINE)
        return status, failed[1] if failed else text.strip()[-60:]

    def check(self, file: str) -> None:
        """The tests of a file pass without a mutant, in some time; also compiles what is compiled."""
        if file not in self.limits:
            code, by = self.run(file, 600)
            if code:
                raise RuntimeError(f"{file}: its tests fail without a mutant ({by})")
            self.limits[file] = 10 + round(SLOW * (self.used.ru_utime + self.used.ru_stime))

    def broken(self, mutant: Mutant) -> tuple[int, str]:
        path = self.folder / "frith" / mutant.file
        path.write_text(mutant.text, encoding="utf-8")
        try:
            code, by = self.run(mutant.file, self.limits[mutant.file])
        finally:
            shutil.copy2(SOURCE / mutant.file, path)
        if code and "::" in by:
            first, known = by.partition("[")[0], self.killers.get(mutant.file, [])
            self.killers[mutant.file] = [first, *(k for k in known if k != first)][:KILLERS]
        return code, by


def _test(folder: Path, log: Path, file: str, first: list[str]) -> None:
    """In a fork: a file's tests against the copy, some of them first, and the end of the process."""
    code = 1
    try:
        import numba
        import pytest

        with log.open("wb") as output:
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
        os.environ["PYTHONPATH"] = str(folder)
        sys.dont_write_bytecode, numba.config.CACHE_DIR = True, str(folder / "compiled")
        sys.path.insert(0, str(folder))
        os.chdir(ROOT)
        importlib.import_module("frith.domain.dates")  # whose loops count on integers of 8 bits
        numba.config.DISABLE_JIT = file.removesuffix(".py") in KERNELS
        code = 0
        for tests in filter(None, (first, GUARDS[file])):
            code = code or int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


@functools.cache
def _place() -> Copy:
    """The copy of this process."""
    place = Copy()
    atexit.register(shutil.rmtree, place.folder, ignore_errors=True)
    return place


FIELDS = ("id", "file", "function", "line", "change", "outcome", "by", "seconds")


def read_rows(path: Path) -> dict[str, dict[str, str]]:
    if not path.is_file():
        return {}
    with path.open(newline="", encoding="utf-8") as file:
        return {row["id"]: row for row in csv.DictReader(file)}


def write_rows(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda r: (r["file"], int(r["line"]), r["change"])))


def told(mutant: Mutant) -> dict[str, str]:
    """What a row says of the mutant itself, whatever an earlier version of this script wrote."""
    names = ("file", "function", "line", "change")
    return {name: str(getattr(mutant, name)) for name in names}


def try_mutant(mutant: Mutant) -> dict[str, str]:
    _place().check(mutant.file)
    start = time.monotonic()
    code, by = _place().broken(mutant)
    outcome = "survived" if code == 0 else "killed"
    return {
        "id": mutant.id, **told(mutant), "outcome": outcome, "by": "" if code == 0 else by,
        "seconds": f"{time.monotonic() - start:.0f}",
    }  # fmt: skip


def try_all(todo: list[Mutant], jobs: int, minutes: float | None) -> Iterator[dict[str, str]]:
    """Results as they come; none is begun after so many minutes."""
    end = time.monotonic() + 60 * (minutes or 1e9)
    with ProcessPoolExecutor(jobs, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = [pool.submit(try_mutant, mutant) for mutant in todo]
        for number, future in enumerate(as_completed(futures), start=1):
            try:
                row = future.result()
            except RuntimeError as error:  # its mutants stay untried, and the others go on
                print(f"{number}/{len(todo)} not tried: {error}", flush=True)
                continue
            print(f"{number}/{len(todo)} {row['outcome']} {key_of(row)}", flush=True)
            yield row
            if time.monotonic() > end:
                pool.shutdown(cancel_futures=True)
                return


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--set", choices=SETS, default="privacy", help="what is broken")
    arguments.add_argument("--sample", type=int, help="only so many, the same ones in every run")
    arguments.add_argument("--jobs", type=int, default=os.cpu_count(), help="processes")
    arguments.add_argument("--only", default="", help="only files whose name has this in it")
    arguments.add_argument("--minutes", type=float, help="begin no mutant after so many minutes")
    arguments.add_argument(
        "--again", action="store_true", help="try survivors without reason again"
    )
    arguments.add_argument("--report", action="store_true", help="only write the list again")
    options = arguments.parse_args()
    every = mutants_in(options.set)
    path = RESULTS / ("mutants.csv" if options.set == "privacy" else f"mutants_{options.set}.csv")
    rows = {i: r | told(every[i]) for i, r in read_rows(path).items() if i in every}
    if options.again:
        rows = {i: r for i, r in rows.items() if r["outcome"] == "killed" or key_of(r) in EXPLAINED}
    wanted = _sample(list(every.values()), options.sample)
    todo = [m for m in wanted if m.id not in rows and options.only in m.file]
    for row in try_all([] if options.report else todo, options.jobs, options.minutes):
        rows[row["id"]] = row
        write_rows(path, list(rows.values()))
    ordered = sorted(rows.values(), key=lambda r: (r["file"], int(r["line"]), r["change"]))
    text = report(ordered, len(every), SETS[options.set])
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    unexplained = [
        key_of(r) for r in ordered if r["outcome"] == "survived" and key_of(r) not in EXPLAINED
    ]
    for text in unexplained:
        print(f"not explained: {text}")
    return 1 if unexplained or any(m.id not in rows for m in wanted) else 0


def _sample(mutants: list[Mutant], size: int | None) -> list[Mutant]:
    """The breaks by hand and so many others: a larger sample holds every smaller one."""
    if size is None:
        return mutants
    others = [m for m in mutants if not m.by_hand]
    random.Random(0).shuffle(others)
    return [m for m in mutants if m.by_hand] + others[:size]


if __name__ == "__main__":
    sys.exit(main())
