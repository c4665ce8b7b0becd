"""Amounts as callers write them, read exactly and within limits."""

from __future__ import annotations

import re
from fractions import Fraction

from frith.errors import OutsideWindow
from frith.privacy.budget import Budget
from frith.privacy.exact import exact
from frith.server.problems import Problem

AMOUNT = r"^([0-9]{1,9}(\.[0-9]{1,18})?(e-?[0-9]{1,2})?|[0-9]{1,9}/[0-9]{1,3})$"
"""How amounts are written: 0.5, 1e-6, 1/3. Short, so that no exponent makes a giant of it.

Denominators have three digits at most: with any others, sums in the ledger would get longer with
every request, until they could not be written down.
"""
_AMOUNT = re.compile(AMOUNT.replace("$", r"\Z"), re.IGNORECASE)


def read_budget(epsilon: str | float, delta: str | float = 0) -> Budget:
    """Both amounts exactly as written, inside the window of amounts that frith keeps."""
    e, d = _amount("epsilon", epsilon), _amount("delta", delta)
    if e <= 0 or not 0 <= d < 1:
        raise Problem("invalid", "epsilon must be above 0, and delta at least 0 and under 1")
    try:
        return Budget.of(e, d)
    except OutsideWindow as error:
        raise Problem("invalid", str(error)) from None


def _amount(name: str, value: str | float) -> Fraction:
    text = str(value).strip()
    if isinstance(value, bool) or not _AMOUNT.match(text):
        raise Problem("invalid", f"{name} is a finite amount such as 0.5, 1e-6 or 1/3")
    try:
        amount = exact(text)
    except ValueError:
        raise Problem("invalid", f"{name} is a finite amount such as 0.5, 1e-6 or 1/3") from None
    assert isinstance(amount, Fraction)
    return amount
