"""Black box: fit many times on two neighbors and look for an event that tells them apart.

It sees what an analyst sees: real noise and real forests, and not how they are made. So it can catch
a flaw that nobody thought of, in the sampler as well as in the learner. The number of fits limits
what it can show: a bound below the claim says little.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from frith.audit.events import Bound, lower_bound
from frith.audit.outcomes import Outcome, Status
from frith.audit.pairs import Pair, hard_pairs
from frith.audit.sizes import Size
from frith.audit.subjects import Subject
from frith.domain import Domain
from frith.engines.base import Engine
from frith.forest import Forest
from frith.forest.trees import find_leaf
from frith.privacy.budget import Budget

RUNG = "black box"
CONFIDENCE = 0.95
"""The confidence of the reported bound."""
FALSE_FAILURE = 1e-6
"""The largest chance that a sound learner fails; the bound that decides is computed for it."""
_TREES = 4  # whose counts are compared one by one


def audit_black_box(
    subject: Subject, budget: Budget, size: Size, pairs: Sequence[Pair] | None = None
) -> Outcome:
    """The largest bound over hard pairs, which share the chance of error equally."""
    if pairs is None:
        hard = [hard_pairs(person, subject.target) for person in (True, False)]
        pairs = [pair for many in hard for pair in many][: size.pairs]
    found = [_audit_pair(subject, budget, size.fits, pair, len(pairs)) for pair in pairs]
    best = max(range(len(pairs)), key=lambda i: (found[i][1].epsilon, found[i][0].epsilon))
    shown, sure = found[best]
    failed = sure.epsilon > budget.epsilon
    text = (
        f"{size.fits:,} fits on each of two neighbors, {len(pairs)} times: at least "
        f"{shown.epsilon:.3f}, by the event '{shown.event}' on the pair '{pairs[best].name}'"
    )
    status = Status.of(failed)
    return Outcome(RUNG, subject.name, status, text, shown.epsilon, CONFIDENCE)


def _audit_pair(
    subject: Subject, budget: Budget, fits: int, pair: Pair, tries: int
) -> tuple[Bound, Bound]:
    """The bound at the reported confidence and the surer one that decides."""
    read = Reader(pd.concat([pair.table, pair.neighbor]).drop_duplicates()[-4:])
    engines = [subject.open(t, pair.domain) for t in (pair.table, pair.neighbor)]
    sides = [_outcomes(subject, budget, engine, engines, fits, read) for engine in engines]
    delta = float(budget.delta)
    errors = ((1 - CONFIDENCE) / tries, FALSE_FAILURE / tries)
    first, second = (lower_bound(sides[0], sides[1], delta, 1 - e, read.names) for e in errors)
    return first, second


def _outcomes(
    subject: Subject, budget: Budget, engine: Engine, both: list[Engine], fits: int, read: Reader
) -> NDArray[np.float64]:
    rows = []
    for _ in range(fits):
        learner, forest = subject.fit(engine, budget)
        rows.append(read.features(learner, forest) + _rebuilt(learner, forest, both, budget))
    width = max(len(row) for row in rows)
    return np.array([row + [-1.0] * (width - len(row)) for row in rows])


def _rebuilt(learner: Any, forest: Forest, engines: list[Engine], budget: Budget) -> list[float]:
    """Whether rebuilding the model from what it holds gives the same model on either table."""
    if not hasattr(learner, "rebuild"):
        return []
    again = [learner.rebuild(engine, budget) for engine in engines]
    return [float(np.array_equal(forest.values, other.values)) for other in again]


@dataclass
class Reader:
    """Turns a forest into numbers: predictions for some records, its shape, and fitted attributes."""

    probes: pd.DataFrame
    names: list[str] = field(default_factory=list)
    _known: tuple[Domain, NDArray[Any]] | None = None

    def features(self, learner: Any, forest: Forest) -> list[float]:
        codes, trees = self._codes(forest), forest.trees
        numbers: dict[str, float] = {"nodes": trees.n_nodes, "labels": forest.domain.n_outputs}
        numbers["structure"] = float(zlib.crc32(trees.attribute.tobytes() + trees.cut.tobytes()))
        roots = forest.values[trees.roots].sum(axis=0)
        numbers |= {f"root label {k}": float(v) for k, v in enumerate(roots)}
        for i in range(len(codes)):
            numbers |= _of_probe(forest, codes, i)
        numbers |= _noted(learner)
        if not self.names:
            offered = ("rebuilt with", "rebuilt without") if hasattr(learner, "rebuild") else ()
            self.names = [*numbers, *offered]
        return list(numbers.values())

    def _codes(self, forest: Forest) -> NDArray[Any]:
        if self._known is None or self._known[0] is not forest.domain:
            self._known = (forest.domain, forest.encode(self.probes, threads=1))
        return self._known[1]


def _of_probe(forest: Forest, codes: NDArray[Any], i: int) -> dict[str, float]:
    """The counts in a record's leaf of each tree, and how many of them are zero."""
    trees = forest.trees
    leaves = [int(find_leaf(codes, i, r, trees.nodes, trees.sets)) for r in trees.roots]
    counts = forest.values[trees.leaves[leaves]][:_TREES]
    total = counts.sum(axis=0)
    told = {f"record {i}, label {k}": float(v) for k, v in enumerate(total)}
    if len(counts) > 1:
        told |= {f"record {i}, count {j}": float(v) for j, v in enumerate(counts.ravel())}
    return told | {f"record {i}, zeros": float((counts == 0).sum())}


def _noted(learner: Any) -> dict[str, float]:
    """Fitted attributes: numbers as they are, anything else by a checksum of its text."""
    noted = {k: v for k, v in vars(learner).items() if k.endswith("_") and not k.startswith("_")}
    numbers: dict[str, float] = {}
    for name, value in noted.items():
        if isinstance(value, int | float | list | np.ndarray):
            flat = np.asarray(value, dtype=np.float64).ravel()
            numbers |= {f"{name} {i}": v for i, v in enumerate(flat.tolist())}
        else:
            numbers[name] = float(zlib.crc32(repr(value).encode()))
    return numbers
