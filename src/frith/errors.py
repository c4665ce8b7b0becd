"""Every error that frith raises deliberately, and its one warning.

Messages say what was asked, what is true and what to do next. They are built from public facts
only: names, domains, budgets, file paths; never from the value of a record.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from frith._amounts import readable


class FrithError(Exception):
    """The root of frith's errors."""


class DomainError(FrithError, ValueError):
    """A domain contradicts itself; the message names the attribute."""


class DataError(FrithError, ValueError):
    """A table does not have the declared shape: a column is missing or of a type frith cannot read."""


class SourceError(FrithError, OSError):
    """A file could not be read, or changed while a fit was reading it."""


class TooManyCells(FrithError, ValueError):
    """A question has more cells than the public cap allows."""


class FormatError(FrithError, ValueError):
    """A document or a question does not have the format that it claims."""


class OutsideWindow(FrithError, ValueError):
    """An amount or a noise scale is smaller or larger than frith can keep; nothing was charged."""


class QuestionError(FrithError, ValueError):
    """A question that the curator does not answer; nothing was charged."""


class OtherNeighbors(FrithError, ValueError):
    """A charge is about other neighbors than its account; nothing was charged."""


def over_budget(
    who_has: str, requested: Fraction, remaining: Fraction, unit: str, most: str | None = None
) -> str:
    """The one sentence about a budget that does not cover a request.

    Parameters
    ----------
    who_has : str
        Who has too little, with the verb: "the account 'table' has", "you have".
    requested, remaining : Fraction
        What was asked for, and what is left.
    unit : {"epsilon", "rho"}
        The unit of both amounts.
    most : str or None, default=None
        What to ask for instead. None names what remains.
    """
    left = readable(remaining)
    return (
        f"{who_has} {unit} {left} left and this asks for {readable(requested)}; "
        f"ask for at most {most or left}, or have the curator raise the budget"
    )


class BudgetExceeded(FrithError):
    """A charge would pass the budget; nothing was charged."""

    def __init__(
        self, what: str, *, requested: Fraction, remaining: Fraction, unit: str = "epsilon"
    ):
        self.what, self.requested, self.remaining, self.unit = what, requested, remaining, unit
        super().__init__(over_budget(f"{what} has", requested, remaining, unit))

    def __reduce__(self) -> tuple[Any, ...]:  # errors cross process borders in a parallel search
        return _rebuild_budget_exceeded, (self.what, self.requested, self.remaining, self.unit)


def _rebuild_budget_exceeded(
    what: str, requested: Fraction, remaining: Fraction, unit: str
) -> BudgetExceeded:
    return BudgetExceeded(what, requested=requested, remaining=remaining, unit=unit)


class RemoteError(FrithError):
    """A private database refused a request, failed, or could not be reached; `code` says which.

    `status` is None and `facts` is empty where no server answered.
    """

    def __init__(
        self, message: str, *, code: str, status: int | None = None, facts: Any = None
    ) -> None:
        Exception.__init__(self, message)
        self.message, self.code, self.status = message, code, status
        self.facts: dict[str, Any] = dict(facts or {})

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild_remote, (type(self), self.message, self.code, self.status, self.facts)


class RemoteBudgetExceeded(RemoteError, BudgetExceeded):
    """A private database's budget does not cover a request; nothing was charged."""

    def __init__(
        self, message: str, *, code: str, status: int | None = None, facts: Any = None
    ) -> None:
        super().__init__(message, code=code, status=status, facts=facts)
        self.what, self.unit = "the account on the server", str(self.facts.get("unit", "epsilon"))
        self.requested = Fraction(self.facts.get("cost", 0))
        self.remaining = Fraction(self.facts.get("left", 0))


def _rebuild_remote(
    kind: type[RemoteError], message: str, code: str, status: int | None, facts: Any
) -> RemoteError:
    return kind(message, code=code, status=status, facts=facts)


class PrivacyLeakWarning(UserWarning):
    """Something exact about the records leaves the curator outside the stated guarantee."""
