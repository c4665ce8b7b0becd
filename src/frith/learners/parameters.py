"""Checks of parameters, each error naming the parameter."""

from __future__ import annotations

from fractions import Fraction
from numbers import Integral
from typing import Any

from frith.privacy.exact import exact


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


def one_of(name: str, value: Any, options: tuple[str, ...]) -> str:
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))} and is {value!r}")
    return str(value)
