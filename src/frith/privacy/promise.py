"""What a guarantee means for the person it protects, in a sentence."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Protocol

from frith.privacy.exact import Amount, readable
from frith.privacy.neighbors import RECORD


def amounts(epsilon: Amount, delta: Amount) -> str:
    """An epsilon, and a delta where there is one."""
    return f"epsilon {readable(epsilon)}" + (f", delta {readable(delta)}" if delta else "")


class Claim(Protocol):
    """What a guarantee says, as far as it is put in words here."""

    @property
    def epsilon(self) -> Amount: ...
    @property
    def delta(self) -> Fraction: ...
    @property
    def neighbors(self) -> str: ...
    @property
    def assumptions(self) -> tuple[str, ...]: ...
    @property
    def holds(self) -> bool: ...


def promise(guarantee: Claim) -> str:
    """What the guarantee means for one protected unit."""
    if not guarantee.holds:
        return "No guarantee: this forest holds exact counts of the records it was trained on."
    slack = f" (plus {readable(guarantee.delta)})" if guarantee.delta else ""
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
