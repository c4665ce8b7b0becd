"""Amounts as callers write them, read exactly and within limits."""

from __future__ import annotations

import contextlib
import functools
import re
from fractions import Fraction

from frith.client.documents import AMOUNT
from frith.errors import OutsideWindow
from frith.privacy.budget import Budget
from frith.privacy.exact import exact
from frith.server.problems import invalid

_AMOUNT = re.compile(AMOUNT.replace("$", r"\Z"), re.IGNORECASE)


def read_budget(epsilon: str | float, delta: str | float = 0) -> Budget:
    """The budget with both amounts read exactly as written, within the range that frith can keep."""
    e, d = _amount("epsilon", epsilon), _amount("delta", delta)
    if e <= 0 or not 0 <= d < 1:
        raise invalid("epsilon must be above 0, and delta at least 0 and under 1")
    try:
        return Budget.of(e, d)
    except OutsideWindow as error:
        raise invalid(str(error)) from None


def _amount(name: str, value: str | float) -> Fraction:
    amount = None if isinstance(value, bool) else _read(str(value).strip())
    if amount is None:
        raise invalid(f"{name} is a finite amount such as 0.5, 1e-6 or 1/3")
    return amount


@functools.lru_cache(maxsize=256)
def _read(text: str) -> Fraction | None:
    """The amount with this text; None if there is none."""
    with contextlib.suppress(ValueError):
        amount = exact(text) if _AMOUNT.match(text) else None
        assert amount is None or isinstance(amount, Fraction)
        return amount
    return None
