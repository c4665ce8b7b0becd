"""How far a forest's predictions of a number are from the targets, in sums that no record moves far."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest import Forest
from frith.kernels.base import ColumnKernel
from frith.kernels.gradients import UNIT


@dataclass(frozen=True, eq=False)
class ErrorSums:
    """Sums of UNIT - e, e, e^2, d, d^2 and, with a radius, of whether e is within it; in UNITs.

    e is the distance of a target, the middle of its cell, from what the forest predicts for its record, over
    `width`; d the target's distance from the middle of the bounds, in half ranges. `width` and `radius` are
    public numbers in the target's own unit.

    All are rounded down to whole numbers, and then clipped: e, e^2 and d^2 to 0 .. UNIT, d to +-UNIT. A
    record moves the first two by UNIT together, and each of the others by at most UNIT: L1 is 4 UNIT, and
    5 UNIT with a radius. Of the first two, (UNIT - e)^2 + e^2 <= UNIT^2, so squared L2 is as many UNIT^2.
    The forest is made of releases and predicts a record from that record alone.
    """

    forest: Forest
    width: float
    radius: float | None = None
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()

    def __post_init__(self) -> None:
        _ = self.domain.target  # raises where labels are classes
        if type(self.width) is not float or not 0 < self.width < math.inf:
            raise FormatError("a width of errors is a number above 0")
        if self.radius is not None and not (type(self.radius) is float and self.radius >= 0):
            raise FormatError("a radius is a number of at least 0")

    @property
    def domain(self) -> Domain:
        return self.forest.domain

    @property
    def attributes(self) -> tuple[int, ...]:
        return self.forest.trees.asked

    @property
    def shape(self) -> tuple[int]:
        return (5 if self.radius is None else 6,)

    @property
    def l1(self) -> int:
        return (self.shape[0] - 1) * UNIT

    @property
    def l2_squared(self) -> int:
        return (self.shape[0] - 1) * UNIT**2

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        target = self.domain.target
        whole = target.high - target.low
        place = (batch.labels.astype(np.float64) + 0.5) / target.cells
        distance = np.abs(
            target.low + whole * place - self.forest.numbers_of_codes(batch.codes, threads=1)
        )
        with np.errstate(over="ignore"):  # a warning would tell of a record
            far = distance / self.width
        e, d = _units(far, 0), _units(2 * place - 1, -UNIT)
        sums = [UNIT - e, e, e * e // UNIT, d, d * d // UNIT]
        if self.radius is not None:
            sums.append(np.where(distance <= self.radius, UNIT, 0))
        out += np.array([column.sum() for column in sums], dtype=np.int64)


def _units(numbers: NDArray[np.float64], least: int) -> NDArray[np.int64]:
    """Whole units within the bounds; what is no number, as of a forest that predicts none, is UNIT."""
    within = np.clip(np.floor(UNIT * numbers), least, UNIT)
    found: NDArray[np.int64] = np.where(np.isnan(within), UNIT, within).astype(np.int64)
    return found
