"""Checks of parameters, each error naming the parameter."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import Any

from frith.privacy.exact import exact

MECHANISMS = ("permute-and-flip", "exponential")
"""What can choose a split privately."""


def whole(name: str, value: Any, least: int = 1) -> int:
    """A whole number of at least `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral) or value < least:
        raise ValueError(f"{name} must be a whole number of at least {least} and is {value!r}")
    return int(value)


def share(name: str, value: Any, *, or_none: bool = False) -> Fraction:
    """A part of a budget, read exactly as written; 0 only if it may be none."""
    part = exact(value)
    if not isinstance(part, Fraction) or not 0 < part < 1:
        if or_none and part == 0:
            return Fraction(0)
        raise ValueError(f"{name} must be between 0 and 1, and is {value!r}")
    return part


def is_exponential(mechanism: str | None, delta: Fraction) -> bool:
    """Whether choices are asked of the exponential mechanism by name; a delta leaves no other."""
    if mechanism is None:
        return False
    if one_of("mechanism", mechanism, MECHANISMS) == "permute-and-flip" and delta:
        raise ValueError(
            'mechanism="permute-and-flip" is for delta=0; with a delta choices are by Gumbel noise, '
            'which is the exponential mechanism: leave mechanism out, or pass "exponential"'
        )
    return mechanism == "exponential"


def one_of(name: str, value: Any, options: tuple[str, ...]) -> str:
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))} and is {value!r}")
    return str(value)
