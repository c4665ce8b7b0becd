"""How fits and predictions use cores: one thread, all threads, an earlier source, and scikit-learn.

    python benchmarks/cores.py [--earlier SRC] [--records 5000000] [--rounds 3] [--quick]

All of it is in one run and in turns, so that what counts, ratios, does not depend on the machine's mood.
`--earlier` names the `src` folder of an earlier checkout, which is timed on one thread in processes of its
own. Compilation is apart: every task first runs on a few records. Writes docs/results/cores.md.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "results" / "cores.md"
ATTRIBUTES, FEW = 20, 20_000

Times = dict[str, list[float]]


def records_of(n: int, attributes: int = ATTRIBUTES) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, attributes))
    y = X[:, 0] + X[:, 1] * X[:, 2] + rng.standard_normal(n) > 0
    return X, y.astype(np.int64)


def declared(n: int, attributes: int = ATTRIBUTES) -> Any:
    from frith import Categorical, Domain, Numeric

    numbers = [Numeric(f"x{i}", -4, 4) for i in range(attributes)]
    return Domain(numbers, Categorical("y", (0, 1)), records=n)


def flagship(n: int, threads: int, attributes: int = ATTRIBUTES) -> Any:
    from frith import ForestClassifier

    return ForestClassifier(declared(n, attributes), epsilon=1, n_jobs=threads)


def random_forest(n: int, threads: int, attributes: int = ATTRIBUTES) -> Any:
    from frith import RandomDecisionForestClassifier

    return RandomDecisionForestClassifier(
        declared(n, attributes), epsilon=1, n_trees=10, max_depth=5, random_state=0, n_jobs=threads
    )


def histograms(codes: Any, threads: int) -> float:
    """Seconds that loops of the simplest kind take: count each code of each column, a part a call."""
    import numba

    from frith._threads import on_threads

    @numba.njit(nogil=True)
    def count(codes: Any, out: Any) -> None:
        for i in range(codes.shape[0]):
            for j in range(codes.shape[1]):
                out[j, codes[i, j]] += 1

    count(codes[:0], np.zeros((ATTRIBUTES, 256), dtype=np.int64))
    parts = iter(np.array_split(codes, 3 * 16))

    def work() -> None:
        out = np.zeros((ATTRIBUTES, 256), dtype=np.int64)
        for part in parts:
            count(part, out)

    return seconds(lambda: on_threads(threads, work))


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def fit_times(make: Any, X: Any, y: Any, threads: int) -> float:
    model = make(len(X), threads, X.shape[1])
    return seconds(lambda: model.fit(X, y, notices=False))


def measure(n: int, rounds: int, cores: int, earlier: str | None) -> Times:
    from sklearn.ensemble import HistGradientBoostingClassifier

    times: Times = {}

    def add(name: str, found: float) -> None:
        times.setdefault(name, []).append(found)
        print(f"{name}: {found:.3f} s", file=sys.stderr, flush=True)

    X, y = records_of(n)
    for make in (flagship, random_forest):
        make(FEW, cores).fit(X[:FEW], y[:FEW], notices=False).predict_proba(X[:FEW])
    codes = np.random.default_rng(0).integers(0, 256, (4 * n, ATTRIBUTES), dtype=np.uint8)
    for number in range(rounds):
        for threads in (1, cores):
            add(f"bare histograms {threads}", histograms(codes, threads))
            add(f"flagship {threads}", fit_times(flagship, X, y, threads))
            model = flagship(n, threads).fit(X[:FEW], y[:FEW], notices=False)
            add(f"predict_proba {threads}", seconds(lambda model=model: model.predict_proba(X)))
            add(f"random forest {threads}", fit_times(random_forest, X, y, threads))
        if earlier is not None:
            add("earlier 1", _elsewhere(earlier, n))
        if number == 0:
            boosted = HistGradientBoostingClassifier(max_iter=100, early_stopping=False)
            add("boosting", seconds(functools.partial(boosted.fit, X, y)))
    return times


def _elsewhere(source: str, n: int) -> float:
    """One fit on one thread by another source, in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", str(n)], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([source, os.environ.get("PYTHONPATH", "")])},
    )  # fmt: skip
    return float(json.loads(done.stdout.splitlines()[-1]))


def one(n: int) -> None:
    X, y = records_of(n)
    flagship(FEW, 1).fit(X[:FEW], y[:FEW], notices=False)
    print(json.dumps(fit_times(flagship, X, y, 1)))


def page(times: Times, n: int, rounds: int, cores: int) -> str:
    best = {name: min(found) for name, found in times.items()}
    middle = {name: statistics.median(found) for name, found in times.items()}
    rows = [
        ("flagship", best["flagship 1"] / best[f"flagship {cores}"], "at least 9 of 16"),
        ("random forest", best["random forest 1"] / best[f"random forest {cores}"], "at least 10 of 16"),
        ("predict_proba", best["predict_proba 1"] / best[f"predict_proba {cores}"], "at least 10 of 16"),
        ("bare histograms, what the machine gives",
         best["bare histograms 1"] / best[f"bare histograms {cores}"], ""),
        ("flagship beside histogram boosting", best["boosting"] / best[f"flagship {cores}"], "at least 8"),
    ]  # fmt: skip
    if "earlier 1" in best:
        rows.append(
            ("flagship on one thread, beside the earlier source",
             best["earlier 1"] / best["flagship 1"], "at least 1.5")
        )  # fmt: skip
    rate = n / best["predict_proba 1"] / 1e6
    return "\n".join(
        [
            "# Cores",
            "",
            f"Written by `benchmarks/cores.py`: {n:,} records of {ATTRIBUTES} numbers, from an array; "
            f"{rounds} rounds in turns, of which the fastest counts, on {cores} cores. A fit includes "
            "encoding, noise and choices; histogram boosting is scikit-learn's, 100 trees, all threads.",
            "",
            "| what | times as fast | wanted |",
            "| --- | ---: | --- |",
            *(f"| {name} | {ratio:.1f} | {wanted} |" for name, ratio, wanted in rows),
            "",
            f"`predict_proba` of the flagship: {rate:.2f} million records a second on one thread "
            "(wanted: 2).",
            "",
            "| task, and threads | fastest, s | median, s |",
            "| --- | ---: | ---: |",
            *(f"| {name} | {best[name]:.3f} | {middle[name]:.3f} |" for name in times),
            "",
        ]
    )


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--earlier", help="the src folder of an earlier checkout")
    arguments.add_argument("--records", type=int, default=5_000_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--quick", action="store_true", help="a hundredth of the records")
    arguments.add_argument("--out", type=Path, default=REPORT)
    arguments.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = arguments.parse_args()
    if options.one:
        one(options.one)
        return 0
    n = options.records // 100 if options.quick else options.records
    cores = len(os.sched_getaffinity(0))
    text = page(measure(n, options.rounds, cores, options.earlier), n, options.rounds, cores)
    print(text)
    if not options.quick:
        options.out.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
