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
import ast
import atexit
import copy
import csv
import functools
import hashlib
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
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

import mutants_learners
from mutants_report import EXPLAINED, key_of, report

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "frith"
RESULTS = ROOT / "docs" / "results"
SLOW = 3  # a mutant that takes so many times as long as none is one that loops: killed by time
KILLERS = 4  # so many tests that killed a file's last mutants are tried first
IDLE = 6  # and one that waits takes so many times its limit of CPU time by the clock

TESTS: dict[str, tuple[str, ...]] = {
    "privacy/exact.py": ("tests/privacy/test_exact.py",),
    "privacy/window.py": ("tests/privacy/test_window.py",),
    "privacy/budget.py": (
        "tests/privacy/test_budget.py", "tests/privacy/test_window.py",
        "tests/curator/test_curator.py",
    ),
    "privacy/composition.py": ("tests/privacy/test_budget.py",),
    "privacy/mechanisms.py": (
        "tests/privacy/test_sources.py", "tests/privacy/test_mechanisms.py",
        "tests/privacy/test_sign_choice.py",
    ),
    "privacy/labeling.py": ("tests/privacy/test_labeling.py",),
    "privacy/shares.py": ("tests/privacy/test_shares.py",),
    "privacy/polya.py": ("tests/privacy/test_shares.py",),
    "privacy/sources.py": (
        "tests/privacy/test_mechanisms.py", "tests/privacy/test_sign_choice.py",
        "tests/privacy/test_labeling.py", "tests/privacy/test_shares.py",
        "tests/privacy/test_sources.py",
    ),
    "privacy/laplace_draws.py": (
        "tests/privacy/test_laplace_draws.py", "tests/privacy/test_choice_draws.py",
    ),
    "privacy/choice_draws.py": ("tests/privacy/test_choice_draws.py",),
    "privacy/gaussian_draws.py": ("tests/privacy/test_gaussian_draws.py",),
    "privacy/thresholds.py": ("tests/privacy/test_thresholds.py",),
    "kernels/quantiles.py": (
        "tests/kernels/test_quantiles.py", "tests/kernels/test_closed.py",
        "tests/kernels/test_measured.py",
    ),
    "curator/drafting.py": (
        "tests/curator/test_drafting.py", "tests/learners/test_private_domain.py",
    ),
    "privacy/rebuilding.py": ("tests/privacy/test_rebuilding.py",),
    "_amounts.py": ("tests/privacy/test_exact.py",),
    "privacy/promise.py": ("tests/privacy/test_promise.py", "tests/cli/test_show.py"),
    "privacy/guarantee.py": (
        "tests/privacy/test_budget.py", "tests/curator/test_curator.py",
        "tests/learners/test_published.py", "tests/learners/test_random_decision.py",
    ),
    "curator/curator.py": (
        "tests/curator/test_curator.py", "tests/curator/test_choices.py",
        "tests/kernels/test_closed.py", "tests/curator/test_confusion.py",
        "tests/parties/test_joint.py", "tests/learners/test_choice_mechanism.py",
    ),
    "curator/pricing.py": ("tests/curator/test_curator.py", "tests/privacy/test_shares.py"),
    "forest/trees.py": ("tests/kernels/test_closed.py", "tests/kernels/test_hostile.py"),
    "kernels/counts.py": (
        "tests/kernels/test_sensitivities.py", "tests/kernels/test_counts.py",
        "tests/kernels/test_closed.py",
    ),
    "kernels/levels.py": (
        "tests/kernels/test_sensitivities.py", "tests/kernels/test_levels.py",
        "tests/kernels/test_closed.py",
    ),
    "kernels/choices.py": (
        "tests/kernels/test_choices.py", "tests/kernels/test_closed.py", "tests/kernels/test_measured.py",
        "tests/curator/test_choices.py", "tests/curator/test_curator.py",
    ),
    "kernels/naming.py": (
        "tests/kernels/test_choices.py", "tests/kernels/test_naming.py",
        "tests/kernels/test_measured.py",
    ),
    "kernels/partitions.py": (
        "tests/kernels/test_choices.py", "tests/kernels/test_naming.py",
        "tests/kernels/test_measured.py",
    ),
    "kernels/strengths.py": ("tests/kernels/test_choices.py", "tests/kernels/test_naming.py"),
    "kernels/closed.py": ("tests/kernels/test_closed.py", "tests/curator/test_curator.py"),
    "kernels/measuring.py": ("tests/kernels/test_measured.py", "tests/kernels/test_hostile.py"),
    "kernels/gradients.py": ("tests/kernels/test_gradients.py",),
    "kernels/label_gradients.py": (
        "tests/kernels/test_label_gradients.py", "tests/kernels/test_gradients.py",
    ),
    "kernels/criteria.py": ("tests/kernels/test_criteria.py",),
    "kernels/residuals.py": ("tests/kernels/test_residuals.py", "tests/kernels/test_measured.py"),
}  # fmt: skip
"""Which tests stand guard over which file, the quickest first."""

ONLY: dict[str, str] = {
    "forest/trees.py": r"check|_check_arrays|_check_splits|_check_family|read_integers|widths",
    "kernels/counts.py": r"l1|l2_squared|shape|__post_init__",
    "kernels/levels.py": r"l1|l2_squared|most_asked|n_trees|take|shape|__post_init__",
    "kernels/choices.py": r"range_|reach|n_trees|scores|weights|options|__post_init__|_check_splits",
    "kernels/naming.py": r"range_|n_trees|scores|node_weights|__post_init__|check_all_asked|both_sides",
    "kernels/partitions.py": r"parts|scores|weights|__post_init__",
    "kernels/strengths.py": r"range_|l1|l2_squared|shape|__post_init__|_count_right",
    "kernels/gradients.py": r"l1|l2_squared|max_gradient|_sum_gradients|_sum_cells|_place|probability_of",
    "kernels/label_gradients.py": r"_shrink|_probabilities|_sum_vectors|_sum_label_cells|shape",
    "kernels/criteria.py": r"range_|mass|phi_table|_phi|criterion|split_scores|_gini_of_large|_are_large",
    "privacy/guarantee.py": r"then|assuming|holds",
}
"""Of files that do more than keep a promise, the functions that say how far a record can move things."""

SETS = {"privacy": TESTS, "learners": mutants_learners.TESTS}
GUARDS = TESTS | mutants_learners.TESTS


# -- mutants -----------------------------------------------------------------------------------

OPERATORS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult, ast.LShift: ast.RShift, ast.RShift: ast.LShift,
}  # fmt: skip
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}  # fmt: skip
SWAPS = {"max": "min", "min": "max", "maximum": "minimum", "minimum": "maximum"}
LEFT_OUT = {
    "_charge", "charge", "check", "check_question", "check_tree", "_check_window", "_check_labels",
    "_check_parts", "_check_size", "_check_splits", "_check_arrays", "_check_family", "_shrink",
}  # fmt: skip
NEAREST = {"float_at_least": "float({})", "float_root_at_least": "float({}) ** 0.5"}


@dataclass(frozen=True)
class Mutant:
    """One change to one file."""

    file: str
    function: str
    line: int
    change: str
    text: str
    by_hand: bool = False

    @property
    def id(self) -> str:
        return hashlib.sha256(f"{self.file}{self.text}".encode()).hexdigest()[:12]


def _without_words(text: str) -> ast.Module:
    """The code alone: a sentence that is mended makes no new mutant."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value = ast.Constant("")
    return tree


def mutants_of(file: str) -> Iterator[Mutant]:
    """Every mutant of a file, in the order of its lines."""
    tree = _without_words((SOURCE / file).read_text(encoding="utf-8"))
    sites, seen = _wanted_sites(file, tree), Counter[str]()
    for number, site in enumerate(sites):
        for variant in range(len(_changes(site.node))):
            broken = copy.deepcopy(tree)
            target = _wanted_sites(file, broken)[number]
            before = ast.unparse(target.shown)
            _changes(target.node)[variant]()
            after = "left out" if _is_left_out(target.node) else ast.unparse(target.shown)
            change = f"{before} -> {after}"
            seen[site.function + change] += 1
            if (times := seen[site.function + change]) > 1:
                change += f" (number {times})"
            yield Mutant(
                file, site.function, getattr(site.node, "lineno", 0), change,
                ast.unparse(ast.fix_missing_locations(broken)),
            )  # fmt: skip


def broken_equations() -> Iterator[Mutant]:
    """The breaks by hand, each under the name of what it breaks."""
    for name, file, before, after in mutants_learners.EQUATIONS:
        whole = (SOURCE / file).read_text(encoding="utf-8")
        if whole.count(before) != 1:
            raise ValueError(f"{name}: {file} does not have {before!r} exactly once")
        line = whole[: whole.index(before)].count("\n") + 1
        change = " ".join(f"{before} -> {after}".split())
        yield Mutant(file, name, line, change, whole.replace(before, after), by_hand=True)


def mutants_in(chosen: str) -> dict[str, Mutant]:
    """The mutants of a set by their ids: the equations, then the others."""
    by_hand = broken_equations() if chosen == "learners" else ()
    return {m.id: m for m in (*by_hand, *(m for f in SETS[chosen] for m in mutants_of(f)))}


@dataclass(frozen=True)
class Site:
    """A node that can be changed, what of its surroundings is shown, and whose it is."""

    node: ast.AST
    shown: ast.AST
    function: str


def _wanted_sites(file: str, tree: ast.AST) -> list[Site]:
    pattern = re.compile((ONLY | mutants_learners.ONLY).get(file, ".*"))
    return [s for s in _sites(tree, tree, "") if pattern.fullmatch(s.function.split(".")[-1])]


def _sites(node: ast.AST, parent: ast.AST, function: str) -> Iterator[Site]:
    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert):
        return
    children = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        function = f"{function}.{node.name}".lstrip(".")
        children = list(node.body)
    elif isinstance(node, ast.AnnAssign | ast.Assign):
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
        if isinstance(parent, ast.Module | ast.ClassDef) and isinstance(target, ast.Name):
            function = f"{function}.{target.id}".lstrip(".")
        children = [node.value] if node.value else []
    if _changes(node):
        has_text = isinstance(parent, ast.expr) and not isinstance(node, ast.stmt)
        yield Site(node, parent if has_text else node, function)
    for child in children:
        yield from _sites(child, node, function)


def _changes(node: ast.AST) -> list:
    """What can be done to a node, each as a function that does it in place."""
    if isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in OPERATORS:
        return [lambda: setattr(node, "op", OPERATORS[type(node.op)]())]
    if isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        return [lambda: node.ops.__setitem__(0, COMPARISONS[type(node.ops[0])]())]
    if isinstance(node, ast.Constant) and type(node.value) is int and abs(node.value) < 2**20:
        value = node.value
        return [
            lambda: setattr(node, "value", value + 1),
            lambda: setattr(node, "value", value - 1),
        ]
    if isinstance(node, ast.Call):
        return _call_changes(node)
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = _name(node.value)
        if name in LEFT_OUT:
            return [lambda: setattr(node, "value", ast.Constant(None))]
    return []


def _call_changes(node: ast.Call) -> list:
    name = _name(node)
    if name in SWAPS:
        field = "id" if isinstance(node.func, ast.Name) else "attr"
        return [lambda: setattr(node.func, field, SWAPS[name])]
    if name in NEAREST and len(node.args) == 1:
        made = ast.parse(NEAREST[name].format(f"({ast.unparse(node.args[0])})"), mode="eval").body

        def round_to_nearest() -> None:
            node.func, node.args = ast.Name("sum", ast.Load()), [ast.List([made], ast.Load())]

        return [round_to_nearest]
    return []


def _name(call: ast.Call) -> str:
    return getattr(call.func, "id", getattr(call.func, "attr", ""))


def _is_left_out(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


# -- runs --------------------------------------------------------------------------------------


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
