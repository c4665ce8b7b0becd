"""The window of amounts: how little and how much a budget and a question may be, everywhere in frith.

Outside it a request is refused before anything is charged. Inside it noise is far from the ends of
the integers and floats that it is drawn in, so that no width of a number decides an answer.
"""

from __future__ import annotations

import math
from fractions import Fraction

from frith.errors import OutsideWindow
from frith.privacy.exact import Amount, readable

LEAST_EPSILON = Fraction(1, 10**9)
"""The least epsilon of a whole budget."""
MOST_EPSILON = Fraction(10**9)
"""The most, unless it is `inf`: the exact limit, which promises nothing."""
LEAST_DELTA = Fraction(1, 10**300)
"""The least delta that is not 0: conversions to rho take its logarithm as a float."""
LEAST_AMOUNT = {"epsilon": Fraction(1, 10**12), "rho": Fraction(1, 10**24)}
"""The least that one question may spend, by the unit it is spent in."""
MAX_SCALE = 2.0**50
"""The largest scale of noise on one number."""

_NOTHING_CHARGED = "nothing was charged for it"


def check_budget(epsilon: Amount, delta: Fraction) -> None:
    """Raise `OutsideWindow` unless a whole budget is one that frith can keep."""
    if epsilon != math.inf and not LEAST_EPSILON <= epsilon <= MOST_EPSILON:
        raise OutsideWindow(
            f"epsilon is {readable(epsilon)}, and frith takes epsilon from {readable(LEAST_EPSILON)} "
            f"to {readable(MOST_EPSILON)}; ask for an epsilon in between"
        )
    if delta and delta < LEAST_DELTA:
        raise OutsideWindow(
            f"delta is under {readable(LEAST_DELTA)}, the least that frith takes; ask for at least "
            "that, or for delta 0"
        )


def check_rho(rho: Fraction, epsilon: Fraction, delta: Fraction) -> None:
    """Raise `OutsideWindow` where an epsilon and a delta leave too little rho to spend."""
    least = LEAST_AMOUNT["rho"]
    if rho < least:
        raise OutsideWindow(
            f"epsilon {readable(epsilon)} with delta {readable(delta)} leaves rho {readable(rho)}, and "
            f"the least is {readable(least)}; ask for a larger epsilon or delta"
        )


def check_question(amount: Fraction, unit: str, scale: float, what: str) -> None:
    """Raise `OutsideWindow` unless one question's amount and noise scale are in the window.

    Parameters
    ----------
    amount : Fraction
        What the question spends, in `unit`.
    unit : {"epsilon", "rho"}
        The unit of the budget.
    scale : float
        The scale of the question's noise.
    what : str
        The question's purpose, for the error.
    """
    least = LEAST_AMOUNT[unit]
    if not amount >= least:
        raise OutsideWindow(
            f"{what}: {unit} {readable(amount)} for this question, and the least is {readable(least)}; "
            f"raise epsilon or ask fewer questions; {_NOTHING_CHARGED}"
        )
    if not 0 < scale <= MAX_SCALE:
        raise OutsideWindow(
            f"{what}: noise of scale {scale:.6g}, and scales are above 0 and at most 2^50; raise "
            f"epsilon, ask fewer questions, or count fewer records of a person; {_NOTHING_CHARGED}"
        )


def can_pay(amount: Fraction, unit: str, sensitivity: int) -> bool:
    """Whether a question of this sensitivity (L1, L2 or a range) is in the window for an amount.

    A learner asks before its first question, so that a later one is not refused after the others
    were paid for.
    """
    if amount < LEAST_AMOUNT[unit]:
        return False
    scale = sensitivity / amount if unit == "epsilon" else sensitivity / math.sqrt(2 * amount)
    return scale <= MAX_SCALE / 2


def is_outside(amount: Fraction, unit: str) -> bool:
    """Whether an amount that was charged for a whole request lies outside the window."""
    if unit == "epsilon":
        return not LEAST_EPSILON <= amount <= MOST_EPSILON
    return amount < LEAST_AMOUNT["rho"]
