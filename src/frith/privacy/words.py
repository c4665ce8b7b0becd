"""Amounts and guarantees in words: for reading, where JSON has the exact spelling."""

from __future__ import annotations

import math

from frith.privacy.exact import Amount, show
from frith.privacy.guarantee import RECORD, Guarantee

_LONG = 12  # characters from which an exact amount is harder to read than a rounded one


def amount(value: Amount) -> str:
    """Exact where that is short, else to six digits.

    >>> from fractions import Fraction
    >>> amount(Fraction(1, 10)), amount(Fraction(1, 3)), amount(Fraction(123456789, 987654321))
    ('0.1', '1/3', '0.125')
    """
    exact = show(value)
    return exact if len(exact) <= _LONG else f"{float(value):.6g}"


def promise(guarantee: Guarantee) -> str:
    """What the guarantee means for one protected unit."""
    if not guarantee.holds:
        return "No guarantee: this forest holds exact counts of the records it was trained on."
    slack = f" (plus {amount(guarantee.delta)})" if guarantee.delta else ""
    unit = "one record" if guarantee.neighbors == RECORD else "one person's records"
    assuming = ", under the assumptions above" if guarantee.assumptions else ""
    return (
        f"Any outcome of training is at most {factor(float(guarantee.epsilon))} times as likely"
        f"{slack} with {unit} in the table as without, and the other way round{assuming}."
    )


def factor(epsilon: float) -> str:
    """How many times as likely an outcome may become, as a power and as a number."""
    about = f" (about {math.exp(epsilon):.3g})" if epsilon <= 20 else ""
    return f"e^{epsilon:g}{about}"
