"""How amounts of budget are written: exactly for programs, briefly for people.

This lies below everything else because errors print amounts too; import it from `frith.privacy.exact`.
"""

from __future__ import annotations

import math
from decimal import Context, Decimal
from fractions import Fraction

Amount = Fraction | float
"""A fraction, or `math.inf` for the exact limit. No other float is an amount."""

_LONG = 12  # characters beyond which an exact amount is harder to read than a rounded one


def show(amount: Amount) -> str:
    """The shortest exact spelling: a decimal where there is one, else a fraction."""
    if amount == math.inf:
        return "inf"
    assert isinstance(amount, Fraction)
    try:
        decimal = repr(float(amount))
    except OverflowError:
        return str(amount)
    return decimal if Fraction(decimal) == amount else str(amount)


def readable(amount: Amount) -> str:
    """The amount as people read it: exact where that is short, else to six digits.

    >>> [readable(Fraction(text)) for text in ("4", "0.1", "1/3", "123456789/987654321")]
    ['4', '0.1', '1/3', '0.125']
    """
    exactly = show(amount).removesuffix(".0")
    if len(exactly) <= _LONG:
        return exactly
    value = Fraction(amount)  # no float may be so small or so large
    parts = Decimal(value.numerator), Decimal(value.denominator)
    return f"{Context(prec=6).divide(*parts).normalize():g}"
