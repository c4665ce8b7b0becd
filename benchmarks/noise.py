"""What noise costs: the seconds of a fit that are spent drawing, for every learner and table.

    FRITH_DATA=folder python benchmarks/noise.py

Epsilon 1, one fit each after one that compiles; some minutes, --quick takes two small tables. A learner
passes where noise takes at most a tenth of the fit or 0.2 seconds. Writes noise.md.
"""

from __future__ import annotations

import functools
import time
import warnings
from typing import Any

from common import parse_options

import frith.curator.curator
from frith import datasets
from frith.domain import Categorical
from frith.learners import BY_NAME
from frith.privacy.sources import BulkSource

MOST_SHARE, MOST_SECONDS = 0.1, 0.2
QUICK = ("tic_tac_toe", "breast_cancer_wisconsin")
DRAWING = ("perturb", "choose", "choose_signs", "choose_labels")
PAGE = """# What noise costs

Seconds of a fit at epsilon 1 that are spent drawing noise and making choices, on {tables} tables of
{least:,} to {most:,} records. A fit passes where that is at most a tenth of it, or at most {limit} s.
Written by `benchmarks/noise.py`.

| learner | passed | largest share | on | slowest drawing, s | on | of a fit of, s |
|---|---|---|---|---|---|---|
{rows}
"""


class Timed(BulkSource):
    """The usual source with a stopwatch."""

    seconds = 0.0


def timed(name: str) -> Any:
    draw = getattr(BulkSource, name)

    @functools.wraps(draw)
    def watched(self: Timed, *arguments: Any, **named: Any) -> Any:
        began = time.perf_counter()
        try:
            return draw(self, *arguments, **named)
        finally:
            Timed.seconds += time.perf_counter() - began

    return watched


def main() -> None:
    options = parse_options(__doc__.splitlines()[0], {})
    for name in DRAWING:
        setattr(Timed, name, timed(name))
    frith.curator.curator.default_source = Timed  # type: ignore[assignment]
    warnings.simplefilter("ignore")
    tables = QUICK if options.quick else datasets.names()
    found: dict[str, list[tuple[float, float, str]]] = {learner: [] for learner in BY_NAME}
    sizes = []
    for table in tables:
        X, y, domain = datasets.load(table)
        if not isinstance(domain.label, Categorical):
            continue
        sizes.append(len(X))
        for learner, make in BY_NAME.items():
            for _ in range(2 if len(sizes) == 1 else 1):
                Timed.seconds, began = 0.0, time.perf_counter()
                make(domain=domain, epsilon=1).fit(X, y, notices=False)
                whole = time.perf_counter() - began
            found[learner].append((Timed.seconds, whole, table))
        print(table, *(f"{n} {f[-1][0]:.2f}/{f[-1][1]:.2f}" for n, f in found.items()), flush=True)
    page = PAGE.format(
        tables=len(sizes), least=min(sizes), most=max(sizes), limit=MOST_SECONDS,
        rows="\n".join(row(*item) for item in found.items()),
    )  # fmt: skip
    (options.out / "noise.md").write_text(page, encoding="utf-8")
    print(options.out / "noise.md")


def row(learner: str, fits: list[tuple[float, float, str]]) -> str:
    passed = sum(drawn <= max(MOST_SECONDS, MOST_SHARE * whole) for drawn, whole, _ in fits)
    share = max(fits, key=lambda fit: fit[0] / fit[1])
    slowest = max(fits)
    return (
        f"| {learner} | {passed} of {len(fits)} | {share[0] / share[1]:.0%} | {share[2]} "
        f"| {slowest[0]:.2f} | {slowest[2]} | {slowest[1]:.2f} |"
    )


if __name__ == "__main__":
    main()
