"""How good a split is, in integers, with the one number a private choice needs: its range.

A score of a candidate is a sum over its children of a mass of the child's label counts. One more
record changes one child of every candidate, and every mass here moves one way when a record is
added, so a list of candidates is monotone and its range is the most one mass can move.

Scores are fixed-point integers with `SCALE` units to one: floats would err in the range itself.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import frozen
from frith.errors import FormatError
from frith.kernels.layout import Layout

BITS = 20
SCALE = 2**BITS
_EXACT_BELOW = 2**31  # counts under this keep 64-bit arithmetic exact; others use Python's integers
MAX_CAP = 2**20


@dataclass(frozen=True)
class GiniMass:
    """minus (n - sum_c x_c^2 / n): how many records a random label of the child would miss.

    Range    2. One more record of a label with x of n raises the miss by
             ((n - x)^2 + sum of the other squares) / (n (n + 1)), which lies in [0, 2). Rounded
             down to a multiple of 1/SCALE the change lies in [0, 2 SCALE].
    """

    range_: ClassVar[int] = 2 * SCALE

    def mass(self, counts: NDArray[np.int64]) -> NDArray[Any]:
        if _are_large(counts):
            return _gini_of_large(counts)
        n = counts.sum(axis=-1)
        squares = (counts * counts).sum(axis=-1)
        whole, rest = np.divmod(squares, np.maximum(n, 1))
        # floor(SCALE (n - S/n)) = SCALE n - ceil(SCALE S / n), without leaving 64 bits
        part = -((-(rest << BITS)) // np.maximum(n, 1))
        return np.asarray(-((n << BITS) - (whole << BITS) - part))


def _are_large(counts: NDArray[np.int64]) -> bool:
    return bool(counts.size) and int(counts.sum(axis=-1).max()) >= _EXACT_BELOW


def _gini_of_large(counts: NDArray[np.int64]) -> NDArray[Any]:
    """The same integers from Python's unbounded ones."""
    big = counts.astype(object)
    n = big.sum(axis=-1)
    return np.asarray(-(SCALE * (n * n - (big * big).sum(axis=-1)) // np.where(n == 0, 1, n)))


@dataclass(frozen=True)
class EntropyMass:
    """minus (phi(n) - sum_c phi(x_c)) with phi(t) = t log2 t up to `cap`, its tangent beyond.

    Range    log2 cap + 1/ln 2. Increments of phi rise from 0 to the slope of the tangent and stay
             there, so phi(n+1) - phi(n) - (phi(x+1) - phi(x)) lies between 0 and that slope for
             x <= n, on every table. phi is summed up from increments rounded down to integers
             that are made non-decreasing and capped, so the bound holds exactly.
    """

    cap: int

    def __post_init__(self) -> None:
        if type(self.cap) is not int or not 2 <= self.cap <= MAX_CAP:
            raise FormatError(f"the entropy mass has a cap from 2 to {MAX_CAP:,}")

    @property
    def range_(self) -> int:
        return int(SCALE * (math.log2(self.cap) + 1 / math.log(2)))

    def mass(self, counts: NDArray[np.int64]) -> NDArray[Any]:
        exact = counts.astype(object) if _are_large(counts) else counts
        return np.asarray(self._phi(exact).sum(axis=-1) - self._phi(exact.sum(axis=-1)))

    def _phi(self, t: NDArray[Any]) -> NDArray[Any]:
        table = phi_table(self.cap)[np.minimum(t, self.cap).astype(np.int64)]
        return table + np.maximum(t - self.cap, 0) * self.range_


@functools.lru_cache(maxsize=4)
def phi_table(cap: int) -> NDArray[np.int64]:
    """phi(0) .. phi(cap) of the entropy mass, in units of 1/SCALE."""
    t = np.arange(cap + 1, dtype=np.float64)
    values = t * np.log2(np.maximum(t, 1))
    steps = np.floor(SCALE * np.diff(values)).astype(np.int64)
    steps = np.minimum(np.maximum.accumulate(steps), EntropyMass(cap).range_)
    return frozen(np.concatenate([[0], np.cumsum(steps)]), np.int64)


@dataclass(frozen=True)
class MaxMass:
    """The largest label count: how many records the best label of the child gets right.

    Range    1. One more record raises the largest count by one or not at all.
    """

    range_: ClassVar[int] = 1

    def mass(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(counts.max(axis=-1))


Criterion = GiniMass | EntropyMass | MaxMass
"""A mass of label counts, summed over the children of a split: the closed set of them."""


def criterion(name: str, n_records: int) -> Criterion:
    """`gini`, `entropy` (for tables of about n records) or `max`."""
    if name == "gini":
        return GiniMass()
    if name == "entropy":
        return EntropyMass(max(2, min(n_records, MAX_CAP)))
    if name == "max":
        return MaxMass()
    raise ValueError(f"criterion must be 'gini', 'entropy' or 'max', and is {name!r}")


def split_scores(tables: NDArray[np.int64], layout: Layout, by: Criterion) -> NDArray[Any]:
    """The score of every candidate at every node, from exact node x bin x label tables."""
    scores = []
    for attribute in range(len(layout.columns)):
        table = tables[:, layout.bins(attribute)]
        if layout.is_numeric(attribute):
            left = np.cumsum(table, axis=1)[:, :-1]
            right = table.sum(axis=1, keepdims=True) - left
            scores.append(by.mass(left) + by.mass(right))
        else:
            scores.append(by.mass(table).sum(axis=1, keepdims=True))
    return np.concatenate(scores, axis=1)
