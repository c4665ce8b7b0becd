"""Bounds as a person would write them, from numbers and dates that may hold outliers and codes."""

from __future__ import annotations

import calendar
import math
import sys
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, Decimal

import numpy as np
from numpy.typing import NDArray

LARGE = 100
"""A draft looks for rare values, outliers and log scales in tables of at least this many records."""

OFTEN = 0.01
"""The share of records with one number from which on it may be a code for "no answer"."""


def without_outliers(numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """The numbers without the few that lie far from all others."""
    if len(numbers) < LARGE:
        return numbers
    low, high = np.quantile(numbers, (0.01, 0.99))
    reach = 100 * (high - low)
    if not 0 < reach < math.inf:
        return numbers
    return numbers[(numbers >= low - reach) & (numbers <= high + reach)]


def is_skewed(numbers: NDArray[np.float64]) -> bool:
    """Whether an even grid would put half of the numbers into its first few cells."""
    if len(numbers) < LARGE or numbers.min() < 0 or not np.median(numbers) > 0:
        return False
    return bool(numbers.max() / np.median(numbers) > 50)


def widened(numbers: NDArray[np.float64]) -> tuple[float, float]:
    """The least and the largest number, moved apart if no grid fits between them."""
    largest = sys.float_info.max / 4  # so that the difference of the bounds is finite too
    low, high = (float(x) for x in np.clip([numbers.min(), numbers.max()], -largest, largest))
    size = max(abs(low), abs(high))
    if high - low <= 1e-12 * max(size, 1e-290):  # too close to tell the cells of a grid apart
        high = low + max(1.0, 1e-6 * size)
    return low, high


def rounded_days(low: date, high: date) -> tuple[date, date]:
    """Whole years for dates over two years or more, whole months for fewer.

    >>> rounded_days(date(2019, 3, 4), date(2023, 5, 6))
    (datetime.date(2019, 1, 1), datetime.date(2023, 12, 31))
    >>> rounded_days(date(2023, 3, 4), date(2023, 5, 6))
    (datetime.date(2023, 3, 1), datetime.date(2023, 5, 31))
    """
    if (high - low).days >= 730:
        return low.replace(month=1, day=1), high.replace(month=12, day=31)
    days = calendar.monthrange(high.year, high.month)[1]
    return low.replace(day=1), high.replace(day=days)


def rounded(low: float, high: float) -> tuple[float, float]:
    """Bounds that a person would write, a little wider: multiples of 1, 2 or 5 times a power of ten.

    >>> rounded(0.4292974411355971, 17.83)
    (0.0, 18.0)
    >>> rounded(17, 88)
    (10.0, 90.0)
    """
    tenth = Decimal((high - low) / 10)
    power = Decimal(1).scaleb(tenth.adjusted())
    step = next(n * power for n in (1, 2, 5, 10) if n * power >= tenth)
    under = (Decimal(low) / step).to_integral_value(ROUND_FLOOR) * step
    over = (Decimal(high) / step).to_integral_value(ROUND_CEILING) * step
    return min(low, float(under)), max(high, float(over))


def has_code(numbers: NDArray[np.float64]) -> bool:
    """Whether many records share a number far from all others, such as 99 beside 0 to 10.

    >>> has_code(np.array([0.0, 4, 10, 7, 99] * 20))
    True
    >>> has_code(np.arange(100.0))
    False
    """
    found, times = np.unique(numbers, return_counts=True)
    if len(numbers) < LARGE or len(found) < 3:
        return False
    often = times >= OFTEN * len(numbers)
    with np.errstate(over="ignore"):
        gaps, others = found[[-1, 1]] - found[[-2, 0]], found[[-2, -1]] - found[[0, 1]]
    return bool(np.any((gaps > others) & often[[-1, 0]]))
