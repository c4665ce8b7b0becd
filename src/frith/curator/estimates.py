"""Private numbers with their intervals, and what scores share: reading, and tables in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith.errors import FormatError
from frith.forest.intervals import ratio_interval


@dataclass(frozen=True)
class Estimate:
    """A private number, and an interval that holds the exact one in 95 of 100 such scores."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.3f} [{self.low:.3f} to {self.high:.3f}]"


def estimate(value: float, low: float, high: float, least: float = 0, most: float = 1) -> Estimate:
    """An estimate within the values that are possible, its value within its interval."""
    low, high = (min(most, max(least, float(end))) for end in (low, high))
    return Estimate(min(high, max(low, float(value))), low, high)


def ratio(
    counts: NDArray[np.int64], part: Floats, total: Floats, variance: float, factor: float
) -> Estimate:
    """A share: sums of noisy counts with weights, one over the other."""
    noisy = counts.astype(float)
    below = float(total @ noisy)
    value = float(part @ noisy) / below if below > 0 else 0.5
    return estimate(value, *ratio_interval(noisy, part, total, variance, factor))


def whole_numbers(data: Any, shape: tuple[int, ...]) -> NDArray[np.int64]:
    counts = np.array(data)
    if counts.shape != shape or counts.dtype != np.int64:
        raise FormatError("the score's counts are not one whole number for each cell")
    return counts


def read_variance(data: Any) -> float:
    variance = float(data)
    if not 0 <= variance < math.inf:
        raise FormatError("the score's variance is not a finite number of at least 0")
    return variance


def aligned(rows: list[list[str]]) -> list[str]:
    """Lines of a table, the first column to the left and the others to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])] for row in rows)
    return ["  ".join(line).rstrip() for line in lines]
