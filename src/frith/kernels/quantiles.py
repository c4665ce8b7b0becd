"""One quantile of a number, or of distances from predictions, chosen privately on a public grid."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt
from frith.domain import Domain, Numeric
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest import Forest
from frith.kernels.base import ColumnKernel
from frith.kernels.choices import Candidates

WHOLE = 1_000
"""Levels are whole thousandths, so that scores are integers."""
_PER_OCTAVE = 16
_OCTAVES = 12
_DISTANCES = _OCTAVES * _PER_OCTAVE + 1
_WIDE = 3  # the octaves in which nearer distances weigh more


@dataclass(frozen=True, eq=False)
class CodeCounts(Rebuilt):
    """How many records have each code of one attribute. A record has one: L1 = squared L2 = 1."""

    domain: Domain
    attribute: int
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()
    l1: ClassVar[int] = 1
    l2_squared: ClassVar[int] = 1

    def __post_init__(self) -> None:
        n_attributes = len(self.domain.attributes)
        if type(self.attribute) is not int or not 0 <= self.attribute < n_attributes:
            raise FormatError("codes are counted of an attribute of the domain")

    @property
    def shape(self) -> tuple[int]:
        return (self.domain.attributes[self.attribute].size,)

    @property
    def attributes(self) -> tuple[int, ...]:
        return (self.attribute,)

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        out += np.bincount(batch.codes[:, self.attribute], minlength=len(out))


@dataclass(frozen=True, eq=False)
class QuantileChoice(Candidates):
    """The cells of a number's grid, each by how far it is from holding a quantile.

    The level q is in thousandths. A place on the grid with b records below and a above it is the
    quantile where v = (1,000 - q) b - q a is 0. From a cell's lower end, where its own records are
    above, to its upper end, where they are below, v goes up. The score of a cell is minus the distance
    of 0 from the interval between those two: 0 where the quantile is in the cell, and an integer. For
    an empty cell that is -|(1,000 - q) b - q a|. A missing number is in no cell and counts nowhere.
    `step` cells in a row are taken as one, the last of them perhaps fewer.

    Range    2 max(q, 1,000 - q). One more record is below or above each end of each cell, so it moves
             v there by 1,000 - q or by -q. The distance of a point from an interval moves by no more
             than the ends do: by at most max(q, 1,000 - q), up or down.
    """

    kernel: CodeCounts
    level: int
    step: int = 1

    def __post_init__(self) -> None:
        check_level(self.level)
        if type(self.step) is not int or not 1 <= self.step <= self.cells:
            raise FormatError("a quantile takes one cell of the grid or several in a row as one")

    @property
    def cells(self) -> int:
        """How many cells the grid has."""
        grid = self.domain.attributes[self.kernel.attribute]
        if not isinstance(grid, Numeric):
            raise FormatError("a quantile is of a number, a date or values in an order")
        return grid.cells

    @property
    def range_(self) -> int:
        return range_of(self.level)

    def __len__(self) -> int:
        return -(-self.cells // self.step)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[Any]:
        starts = range(0, self.cells, self.step)
        return quantile_scores(np.add.reduceat(sums[: self.cells], starts), self.level)

    def chosen(self, place: int) -> range:
        """The cells of a candidate."""
        return range(self.cells)[place * self.step : (place + 1) * self.step]


@dataclass(frozen=True, eq=False)
class DistanceCounts:
    """How many targets are how far from what a forest predicts, on a public grid of distances.

    A target is the middle of its cell of the declared grid. The forest is made of releases and predicts
    a record from that record alone, so the record is in one cell: L1 = squared L2 = 1. No distance is
    beyond the declared range: predictions and targets lie in it.
    """

    forest: Forest
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()
    shape: ClassVar[tuple[int, ...]] = (_DISTANCES,)
    l1: ClassVar[int] = 1
    l2_squared: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _ = self.domain.target  # raises where labels are classes

    @property
    def domain(self) -> Domain:
        return self.forest.domain

    @property
    def attributes(self) -> tuple[int, ...]:
        return self.forest.trees.asked

    @property
    def ends(self) -> NDArray[np.float64]:
        """The upper end of each cell, each as many times the one below it; the last is the range."""
        target, steps = self.domain.target, np.arange(1 - _DISTANCES, 1)
        return (target.high - target.low) * 2.0 ** (steps / _PER_OCTAVE)

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        target = self.domain.target
        middles = target.low + (batch.labels + 0.5) * ((target.high - target.low) / target.cells)
        distances = np.abs(middles - self.forest.numbers_of_codes(batch.codes, threads=1))
        cells = np.searchsorted(self.ends[:-1], distances)
        out += np.bincount(cells, minlength=len(out))


@dataclass(frozen=True, eq=False)
class DistanceQuantile(QuantileChoice):
    """The cells of a grid of distances, each by how far it is from holding a quantile of them.

    From an eighth of the range on, a distance that is twice as far weighs half: beyond the largest of the
    records' there are many cells that differ little in score, and noise would choose one of them too
    often. Below an eighth all weigh the same, so that little signal does not end at no distance at all.
    """

    kernel: DistanceCounts  # type: ignore[assignment]

    @property
    def weights(self) -> NDArray[np.float64]:
        octaves = np.arange(len(self)) * self.step / _PER_OCTAVE
        wide = np.maximum(octaves - (_OCTAVES - _WIDE), 0)
        return np.asarray(-math.log(2) * wide, dtype=np.float64)

    @property
    def cells(self) -> int:
        return _DISTANCES


def quantile_scores(counts: NDArray[np.int64], level: int) -> NDArray[np.int64]:
    """The score of each cell. Fewer than 2^48 records and levels under 2^10 stay under 2^59."""
    up_to = np.cumsum(counts)
    below, above = up_to - counts, up_to[-1] - up_to
    lowest = (WHOLE - level) * below - level * (above + counts)
    highest = (WHOLE - level) * (below + counts) - level * above
    return -np.maximum(np.maximum(lowest, -highest), 0)


def range_of(level: int) -> int:
    """How far apart one record can move two scores."""
    return 2 * max(level, WHOLE - level)


def check_level(level: object) -> None:
    if type(level) is not int or not 0 < level < WHOLE:
        raise FormatError(f"a quantile's level is a whole number from 1 to {WHOLE - 1} thousandths")
