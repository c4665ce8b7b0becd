"""An account as its last entry left it, and what may be charged to it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from frith.errors import BudgetExceeded, OtherNeighbors
from frith.privacy.budget import Budget
from frith.privacy.neighbors import records_per_person, unit_of


@dataclass(frozen=True, slots=True)
class State:
    """An account: its budget, and what of it is spent and held."""

    name: str
    budget: Budget
    unit: str
    total: Fraction
    neighbors: str | None
    """None for an account that was opened before accounts had neighbors, until they are declared."""
    spent: Fraction = Fraction(0)
    held: Fraction = Fraction(0)

    @property
    def remaining(self) -> Fraction:
        """What can still be asked for; a budget that was lowered may leave nothing."""
        return max(Fraction(0), self.total - self.spent - self.held)

    def check(self, amount: Fraction) -> None:
        """Raise `BudgetExceeded` if less than `amount` is left."""
        if amount > self.remaining:
            what = f"the account {self.name!r}"
            raise BudgetExceeded(what, requested=amount, remaining=self.remaining, unit=self.unit)

    def check_neighbors(self, neighbors: str) -> None:
        """Raise `OtherNeighbors` unless amounts for these neighbors add up in this account."""
        if self.neighbors is None:
            raise OtherNeighbors(
                f"the account {self.name!r} was opened before accounts had neighbors; if all that "
                f"was charged to it was for {unit_of(neighbors)}, say so with `frith ledger declare "
                f"LEDGER --account {self.name}{_option(neighbors)}`; nothing was charged"
            )
        if neighbors != self.neighbors:
            raise OtherNeighbors(
                f"the account {self.name!r} is for {unit_of(self.neighbors)} and this is for "
                f"{unit_of(neighbors)}, and their amounts do not add; make another ledger for these "
                f"with `frith ledger create LEDGER --epsilon E{_option(neighbors)}`, or "
                f"Ledger.create(path, epsilon=E{_argument(neighbors)}); nothing was charged"
            )


def _option(neighbors: str) -> str:
    """How a command says which neighbors a ledger is for."""
    records = records_per_person(neighbors)
    return "" if records is None else f" --records-per-person {records}"


def _argument(neighbors: str) -> str:
    """How a call of `Ledger.create` says it."""
    records = records_per_person(neighbors)
    return "" if records is None else f", records_per_person={records}"
