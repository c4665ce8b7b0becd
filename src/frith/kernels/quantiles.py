"""One quantile of a number, chosen privately from the cells of its public grid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt
from frith.domain import Domain, Numeric
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.kernels.base import ColumnKernel
from frith.kernels.choices import Candidates

WHOLE = 1_000
"""Levels are whole thousandths, so that scores are integers."""


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
        if not isinstance(self._grid, Numeric):
            raise FormatError("a quantile is of a number, a date or values in an order")
        if type(self.step) is not int or not 1 <= self.step <= self._grid.cells:
            raise FormatError("a quantile takes one cell of the grid or several in a row as one")

    @property
    def _grid(self) -> Any:
        return self.domain.attributes[self.kernel.attribute]

    @property
    def range_(self) -> int:
        return range_of(self.level)

    def __len__(self) -> int:
        return -(-int(self._grid.cells) // self.step)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[Any]:
        cells = int(self._grid.cells)
        counts = np.add.reduceat(sums[:cells], range(0, cells, self.step))
        return quantile_scores(counts, self.level)

    def chosen(self, place: int) -> range:
        """The cells of a candidate."""
        cells = range(int(self._grid.cells))
        return cells[place * self.step : (place + 1) * self.step]


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
