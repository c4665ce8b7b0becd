"""What a request may spend, and the meter that stops it there."""

from __future__ import annotations

import math
import threading
from dataclasses import dataclass
from fractions import Fraction

from frith.errors import BudgetExceeded, OutsideWindow
from frith.privacy.composition import rho_of
from frith.privacy.exact import Amount, exact, readable, show
from frith.privacy.window import can_pay, check_budget

_AMPLE = Fraction(1, 100)  # from this epsilon on, rho is far inside the window at every delta


@dataclass(frozen=True, slots=True)
class Budget:
    """An epsilon and a delta. Pure budgets are spent in epsilon, the others in rho.

    >>> Budget.of(0.5).unit, Budget.of(0.5, 1e-6).unit
    ('epsilon', 'rho')
    """

    epsilon: Amount
    delta: Fraction = Fraction(0)

    @classmethod
    def of(cls, epsilon: object, delta: object = 0) -> Budget:
        """Read both numbers exactly as written; raise `OutsideWindow` where frith cannot keep them."""
        budget = cls.stored(epsilon, delta)
        check_budget(budget.epsilon, budget.delta)
        if budget.delta and budget.epsilon < _AMPLE:
            _ = budget.total  # raises where no rho is left
        return budget

    @classmethod
    def stored(cls, epsilon: object, delta: object = 0) -> Budget:
        """Read a budget that was written down earlier, perhaps before there was a window."""
        e, d = exact(epsilon), exact(delta)
        if e <= 0:
            raise ValueError(f"epsilon must be positive and is {epsilon!r}")
        if not 0 <= d < 1:
            raise ValueError(f"delta must be at least 0 and under 1, and is {delta!r}")
        assert isinstance(d, Fraction)
        return cls(e, d)

    @property
    def is_exact(self) -> bool:
        """True in the limit without noise, which carries no guarantee."""
        return self.epsilon == math.inf

    @property
    def unit(self) -> str:
        return "rho" if self.delta else "epsilon"

    @property
    def total(self) -> Fraction:
        """The whole budget in its own unit; the exact limit counts as one whole."""
        if self.is_exact:
            return Fraction(1)
        assert isinstance(self.epsilon, Fraction)
        return rho_of(self.epsilon, self.delta) if self.delta else self.epsilon

    def can_pay(self, share: Fraction, sensitivity: int) -> bool:
        """Whether a share pays for a question of this sensitivity, m records of a person counted in."""
        return self.is_exact or can_pay(share * self.total, self.unit, sensitivity)

    def check_pays(self, share: Fraction, sensitivity: int, what: str) -> None:
        """Raise `OutsideWindow` where it does not: before the first question, so nothing is lost."""
        if not self.can_pay(share, sensitivity):
            raise OutsideWindow(
                f"{what} would get {readable(share)} of epsilon {readable(self.epsilon)}, too little for the "
                "noise that frith draws; raise epsilon or that share, or count fewer records of a "
                "person; nothing was charged"
            )

    def cost_in(self, unit: str) -> Fraction:
        """What the whole request costs an account kept in `unit`.

        epsilon-DP implies (epsilon^2 / 2)-zCDP, so a pure request fits an account in rho; a
        request with a delta has no price in pure epsilon.
        """
        if self.is_exact:
            raise ValueError("epsilon=inf has no price: it is for tests and references only")
        if unit == self.unit:
            return self.total
        if unit == "rho":
            return self.total**2 / 2
        raise ValueError("this account is kept in pure epsilon: ask with delta=0")

    def __str__(self) -> str:
        return f"epsilon={show(self.epsilon)}" + (
            f", delta={show(self.delta)}" if self.delta else ""
        )


class Meter:
    """Adds charges up and refuses the one that would pass the budget.

    Sums of epsilon and, for a fixed total, sums of rho are valid filters: the questions and their
    shares may be chosen adaptively from earlier releases. Looking and adding are one step, also where
    threads share a meter.
    """

    def __init__(self, budget: Budget):
        self.budget = budget
        self.spent = Fraction(0)
        self._one_at_a_time = threading.Lock()

    @property
    def remaining(self) -> Fraction:
        return self.budget.total - self.spent

    def charge(self, amount: Amount) -> None:
        """Take `amount`, in the budget's own unit, or raise `BudgetExceeded` and change nothing."""
        if not isinstance(amount, Fraction) or amount <= 0:
            raise ValueError(f"a charge is a positive Fraction, not {amount!r}")
        with self._one_at_a_time:
            if amount > self.remaining:
                raise BudgetExceeded(
                    "this request",
                    requested=amount,
                    remaining=self.remaining,
                    unit=self.budget.unit,
                )
            self.spent += amount
