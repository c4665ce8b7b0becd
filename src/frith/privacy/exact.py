"""Exact amounts: epsilons as fractions, noise scales as floats rounded the safe way."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

from frith._amounts import Amount, readable, show

__all__ = ["Amount", "exact", "float_at_least", "float_root_at_least", "readable", "show"]

_LARGEST = Fraction(sys.float_info.max)
_LONGEST_EXPONENT = 3  # digits: a longer one would take all memory, or all time
type_error = "give a number such as 0.5, a string such as '1/3', or a Fraction"


def exact(value: object) -> Amount:
    """Read an amount the way a person wrote it: `exact(0.1)` is 1/10, not 0.1's binary neighbor.

    >>> sum([exact(0.1)] * 10) == 1
    True
    """
    if isinstance(value, bool):
        raise ValueError(f"{value!r} is not an amount; {type_error}")
    if isinstance(value, Fraction):
        return value
    text = str(value).strip().lower()
    if text in ("inf", "infinity", "+inf"):
        return math.inf
    try:
        if len(text.partition("e")[2].lstrip("+-0")) > _LONGEST_EXPONENT:
            raise ValueError("a giant number")
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise ValueError(f"{value!r} is not an amount; {type_error}") from None


def float_at_least(bound: Fraction) -> float:
    """The smallest float that is no less than `bound`, compared as fractions.

    Raises `ValueError` unless `bound` is positive: no scale of noise is 0.
    """
    _check_positive(bound)
    value = float(bound)
    while Fraction(value) < bound:
        value = math.nextafter(value, math.inf)
    while Fraction(math.nextafter(value, 0.0)) >= bound:
        value = math.nextafter(value, 0.0)
    return value


def float_root_at_least(square: Fraction) -> float:
    """The smallest float whose square, as a fraction, is no less than `square`.

    Raises `ValueError` unless `square` is positive.
    """
    _check_positive(square)
    value = math.sqrt(float(square))
    while Fraction(value) ** 2 < square:
        value = math.nextafter(value, math.inf)
    while value > 0 and Fraction(math.nextafter(value, 0.0)) ** 2 >= square:
        value = math.nextafter(value, 0.0)
    return value


def _check_positive(bound: Fraction) -> None:
    if bound <= 0:
        raise ValueError(
            f"a scale is above 0, and this asks for {bound}; ask for at least one count"
        )
    if bound > _LARGEST:  # `float` would raise what is no ValueError
        raise ValueError("a scale is beyond every float; ask for less noise")
