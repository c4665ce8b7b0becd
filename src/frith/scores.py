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
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.layout import Layout

BITS = 20
SCALE = 2**BITS
_EXACT_BELOW = 2**31  # counts under this keep the 64-bit arithmetic of the Gini mass exact


class Criterion(Protocol):
    """A mass of label counts, to be summed over the children of a candidate split."""

    @property
    def range_(self) -> int:
        """The most one record moves the mass; all masses of one criterion move the same way."""
        ...

    def mass(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        """The mass of each row of label counts (the last axis)."""
        ...


@dataclass(frozen=True)
class GiniMass:
    """minus (n - sum_c x_c^2 / n): how many records a random label of the child would miss.

    Range    2. One more record of a label with x of n raises the miss by
             ((n - x)^2 + sum of the other squares) / (n (n + 1)), which lies in [0, 2). Rounded
             down to a multiple of 1/SCALE the change lies in [0, 2 SCALE].
    """

    range_: ClassVar[int] = 2 * SCALE

    def mass(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        n = counts.sum(axis=-1)
        if n.size and n.max() >= _EXACT_BELOW:
            return _gini_of_large(counts)
        squares = (counts * counts).sum(axis=-1)
        whole, rest = np.divmod(squares, np.maximum(n, 1))
        # floor(SCALE (n - S/n)) = SCALE n - ceil(SCALE S / n), without leaving 64 bits
        part = -((-(rest << BITS)) // np.maximum(n, 1))
        return np.asarray(-((n << BITS) - (whole << BITS) - part))


def _gini_of_large(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same integers from Python's unbounded ones."""
    big = counts.astype(object)
    n = big.sum(axis=-1)
    miss = SCALE * (n * n - (big * big).sum(axis=-1)) // np.where(n == 0, 1, n)
    return -miss.astype(np.int64)


@dataclass(frozen=True)
class EntropyMass:
    """minus (phi(n) - sum_c phi(x_c)) with phi(t) = t log2 t up to `cap`, its tangent beyond.

    Range    log2 cap + 1/ln 2. Increments of phi rise from 0 to the slope of the tangent and stay
             there, so phi(n+1) - phi(n) - (phi(x+1) - phi(x)) lies between 0 and that slope for
             x <= n, on every table. phi is summed up from increments rounded down to integers
             that are made non-decreasing and capped, so the bound holds exactly.
    """

    cap: int

    @functools.cached_property
    def range_(self) -> int:
        return int(SCALE * (math.log2(self.cap) + 1 / math.log(2)))

    @functools.cached_property
    def phi(self) -> NDArray[np.int64]:
        """phi(0) .. phi(cap) in units of 1/SCALE."""
        t = np.arange(self.cap + 1, dtype=np.float64)
        values = t * np.log2(np.maximum(t, 1))
        steps = np.floor(SCALE * np.diff(values)).astype(np.int64)
        steps = np.minimum(np.maximum.accumulate(steps), self.range_)
        return np.concatenate([[0], np.cumsum(steps)])

    def mass(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(self._phi(counts).sum(axis=-1) - self._phi(counts.sum(axis=-1)))

    def _phi(self, t: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.phi[np.minimum(t, self.cap)] + np.maximum(t - self.cap, 0) * self.range_


@dataclass(frozen=True)
class MaxMass:
    """The largest label count: how many records the best label of the child gets right.

    Range    1. One more record raises the largest count by one or not at all.
    """

    range_: ClassVar[int] = 1

    def mass(self, counts: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(counts.max(axis=-1))


MAX_CAP = 2**20


def criterion(name: str, n_records: int) -> Criterion:
    """`gini`, `entropy` (for tables of about n records) or `max`."""
    if name == "gini":
        return GiniMass()
    if name == "entropy":
        return EntropyMass(max(2, min(n_records, MAX_CAP)))
    if name == "max":
        return MaxMass()
    raise ValueError(f"criterion must be 'gini', 'entropy' or 'max', and is {name!r}")


def split_scores(tables: NDArray[np.int64], layout: Layout, by: Criterion) -> NDArray[np.int64]:
    """The score of every candidate at every node, from exact node x bin x label tables."""
    scores = np.empty((len(tables), layout.n_candidates), dtype=np.int64)
    for attribute, columns in enumerate(layout.columns):
        table = tables[:, layout.bins(attribute)]
        if layout.is_numeric(attribute):
            left = np.cumsum(table, axis=1)[:, :-1]
            right = table.sum(axis=1, keepdims=True) - left
            scores[:, columns] = by.mass(left) + by.mass(right)
        else:
            scores[:, columns] = by.mass(table).sum(axis=1, keepdims=True)
    return scores
