"""Texts of the pages: times, amounts, budgets and prices for people to read."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from frith.client.kinds import JobState, Scope
from frith.client.responses import Quote
from frith.domain import Attribute, Domain, Numeric, Person
from frith.domain.notebook import kind_of as kind_of
from frith.ledger import State
from frith.privacy.budget import Budget
from frith.privacy.exact import exact, readable
from frith.privacy.guarantee import Guarantee
from frith.privacy.neighbors import RECORD, person_neighbors
from frith.privacy.promise import promise
from frith.server.budget.accounts import in_epsilon

_VALUES = 12  # values of an attribute that are listed
SCOPES = tuple(Scope)
STATES = {state: state.value for state in JobState} | {
    JobState.WAITING: "waiting for approval",
    JobState.QUEUED: "waiting for a worker",
}
KINDS = {
    "train": "forest",
    "dry-run": "dry run",
    "score": "private score",
    "update": "updated forest",
    "rules": "forest with counted rules",
}


def sentence(text: str) -> str:
    """A problem's message as a full sentence.

    >>> sentence("there is nothing here"), sentence("n_trees is at most 9")
    ('There is nothing here.', 'n_trees is at most 9.')
    """
    first = text.partition(" ")[0]
    return (first.capitalize() if first.islower() and first.isalpha() else first) + (
        text[len(first) :] + ("" if text.endswith((".", "?")) else ".")
    )


def when(text: str) -> str:
    """A stored time, in UTC.

    >>> when("2026-03-04T05:06:07.089+00:00")
    '4 Mar 2026, 05:06 UTC'
    """
    return moment(datetime.fromisoformat(text).timestamp())


def moment(seconds: float) -> str:
    time = datetime.fromtimestamp(seconds, UTC)
    return f"{time.day} {time:%b %Y, %H:%M} UTC"


def took(started: str | None, finished: str | None) -> str:
    """The time between two stored times; empty if one is missing.

    >>> took("2026-03-04T05:06:07.000+00:00", "2026-03-04T05:06:10.210+00:00")
    '3.2 s'
    >>> took("2026-03-04T05:06:07.000+00:00", "2026-03-04T08:10:09.000+00:00")
    '3 h 4 min'
    """
    if started is None or finished is None:
        return ""
    time = datetime.fromisoformat(finished) - datetime.fromisoformat(started)
    seconds = time.total_seconds()
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, seconds = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    return f"{minutes // 60} h {minutes % 60} min"


def amount_text(value: Any) -> str:
    """An amount, given as a number or as text, in few characters.

    >>> amount_text("4.0"), amount_text("1/3"), amount_text(0.25)
    ('4', '1/3', '0.25')
    """
    return readable(exact(value))


@dataclass(frozen=True)
class Account:
    """An account as a gauge shows it."""

    state: State

    @property
    def is_empty(self) -> bool:
        return not self.state.remaining

    @property
    def spent(self) -> float:
        return self._share(self.state.spent)

    @property
    def held(self) -> float:
        return self._share(self.state.held)

    @property
    def summary(self) -> str:
        """How much of your budget is spent, and what you can still ask for."""
        state = self.state
        if self.is_empty:
            return "Your budget here is used up. You keep your forests; ask the curator to raise the budget."
        gone = f"{self.spent:.0%} is spent" if state.spent else "Nothing is spent yet"
        if state.unit == "epsilon":
            left = amount_text(state.remaining)
            return f"{gone}: you can still ask for epsilon {left} in all."
        epsilon = in_epsilon(state.remaining, state.unit, state.budget.delta)
        return f"{gone}: what is left pays for one request of epsilon {epsilon:.3g}, or several smaller ones."

    @property
    def parts(self) -> list[tuple[str, str]]:
        """Names and amounts of the gauge's parts; for a budget in rho, percentages."""
        state = self.state
        shown = [("spent", state.spent), ("reserved", state.held), ("left", state.remaining)]
        return [(name, self._text(value)) for name, value in shown]

    @property
    def budget(self) -> str:
        budget = self.state.budget
        delta = f", delta {amount_text(budget.delta)}" if budget.delta else ""
        return f"epsilon {amount_text(budget.epsilon)}{delta}"

    def _text(self, value: Fraction) -> str:
        return amount_text(value) if self.state.unit == "epsilon" else f"{self._share(value):.0%}"

    def _share(self, value: Fraction) -> float:
        return min(1.0, float(value / self.state.total)) if self.state.total else 1.0


def quoted(price: Quote, own: State) -> str:
    """What a request would cost, or why it would be refused."""
    if price.refusal is not None:
        return f"Not possible now: {price.refusal}."
    if price.unit == "epsilon":
        cost, after = amount_text(price.cost), amount_text(price.left_after)
        return f"Costs epsilon {cost}, and leaves {after} of your {amount_text(own.total)}."
    share = float(price.cost / own.total)
    return (
        f"Costs {share:.2%} of your budget. What is left would pay for one more request of "
        f"epsilon {price.left_after_epsilon:.3g}."
    )


def meaning(budget: Budget, person: Person | None) -> str:
    """What the guarantee of a request with this budget would promise."""
    neighbors = RECORD if person is None else person_neighbors(person.records)
    return promise(Guarantee(budget.epsilon, budget.delta, neighbors))


def figure(number: float) -> str:
    """A measured number in four digits, or a dash where the noise leaves none."""
    return f"{number:.4g}" if math.isfinite(number) else "\N{EN DASH}"


def values_of(attribute: Attribute) -> str:
    """The declared values or bounds."""
    if isinstance(attribute, Numeric):
        scale = ", log scale" if attribute.scale == "log" else ""
        missing = "; may be missing" if attribute.missing else ""
        return f"{attribute.text_of(attribute.low)} to {attribute.text_of(attribute.high)}{scale}{missing}"
    shown = ", ".join(str(v) for v in attribute.values[:_VALUES])
    more = attribute.size - _VALUES
    return shown + (f" and {more:,} more" if more > 0 else "")


def protects(domain: Domain) -> str:
    """Whether the table protects records or persons."""
    if domain.person is None:
        return "Each record is protected: a forest looks almost the same with or without it."
    return (
        f"Each person is protected, by the column {domain.person.column!r}, with all of their "
        f"records; at most {domain.person.records} of them count."
    )
