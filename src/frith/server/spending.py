"""Accounts of a table: its own, one for each analyst, and what a request would cost them.

A request is held against two accounts, the table's (analysts may collude) and the analyst's own.
A batch whose people are in no other batch has accounts of its own, with the same budgets. All of
them are for the neighbors of the table's domain: records, or persons with at most m records each.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

from sqlalchemy.orm import Session

from frith.errors import over_budget
from frith.ledger import Book, Receipt, State
from frith.privacy.budget import Budget
from frith.privacy.composition import epsilon_of
from frith.privacy.exact import show
from frith.privacy.neighbors import unit_of
from frith.server.context import Context
from frith.server.policies import Policy
from frith.server.problems import Problem


class Spendable(Protocol):
    """A table as someone sees it."""

    @property
    def name(self) -> str: ...
    @property
    def policy(self) -> Policy: ...
    @property
    def cap(self) -> str | None: ...
    @property
    def neighbors(self) -> str: ...


@dataclass(frozen=True)
class Quote:
    """What a request would cost, and what would be left; from public facts alone."""

    unit: str
    cost: Fraction
    left: Fraction
    delta: Fraction
    refusal: str | None = None

    @property
    def left_after(self) -> Fraction:
        return self.left - self.cost if self.refusal is None else self.left

    def to_json(self) -> dict[str, Any]:
        return {
            "unit": self.unit,
            "cost": show(self.cost),
            "left": show(self.left),
            "left_after": show(self.left_after),
            "left_after_epsilon": in_epsilon(self.left_after, self.unit, self.delta),
            "granted": self.refusal is None,
            "refusal": self.refusal,
        }


def account_of(context: Context, table: Spendable, batch: str | None = None) -> str:
    """The table's account; `batch` is one with accounts of its own."""
    name = table.name if batch is None else f"{table.name}+{batch}"
    period = table.policy.period(context.clock())
    return name if period is None else f"{name}@{period}"


def own_account(account: str, member: str) -> str:
    return f"{account}/{member}"


def open_accounts(
    context: Context,
    session: Session,
    table: Spendable,
    member: str | None = None,
    batch: str | None = None,
) -> tuple[str, str]:
    """The names of the table's account and the member's own, opened where they are not there yet.

    An account that is there for other neighbors is a conflict, and is left alone.
    """
    book, account = context.book(session), account_of(context, table, batch)
    _open(book, account, table.policy.budget, table)
    own = own_account(account, member or "")
    if member is not None:
        _open(book, own, table.policy.analyst_budget(table.cap), table)
    return account, own


def set_budgets(
    context: Context,
    session: Session,
    table: Spendable,
    caps: dict[str, str | None],
    batches: list[str],
) -> None:
    """Bring open accounts in line with the policy and with the caps of grants."""
    book = context.book(session)
    for batch in (None, *batches):
        account = account_of(context, table, batch)
        _set(book, account, table.policy.budget)
        for member, cap in caps.items():
            _set(book, own_account(account, member), table.policy.analyst_budget(cap))


def states(
    context: Context, session: Session, table: Spendable, member: str, batch: str | None = None
) -> tuple[State, State]:
    """The table's account and the member's own, as they stand or as they would be opened."""
    account = account_of(context, table, batch)
    own, cap = own_account(account, member), table.policy.analyst_budget(table.cap)
    found = context.book(session).find(account, own)
    return (
        found.get(account) or _unopened(account, table.policy.budget, table),
        found.get(own) or _unopened(own, cap, table),
    )


def analyst_states(context: Context, session: Session, table: Spendable) -> list[State]:
    """The analysts' own accounts on a table, as they stand in this period."""
    book, account = context.book(session), account_of(context, table)
    names = [name for name in book.accounts() if name.startswith(account + "/")]
    return list(book.find(*names).values())


def entries_about(context: Context, session: Session, table: str) -> list[Receipt]:
    """Every entry of a table's accounts: its own, its analysts' and its batches', in all periods."""
    book = context.book(session)
    names = [n for n in book.accounts() if re.split("[/+@]", n, maxsplit=1)[0] == table]
    return book.entries(*names) if names else []


def member_of(account: str) -> str | None:
    """Whose account it is; None for a table's or a batch's."""
    return account.partition("/")[2] or None


def quote(
    context: Context,
    session: Session,
    table: Spendable,
    member: str,
    request: Budget,
    batch: str | None = None,
) -> Quote:
    """The price of a request, and whether it would be granted now."""
    whole, own = states(context, session, table, member, batch)
    for state in (whole, own):
        _check_neighbors(state, table)
    cost = request.cost_in(whole.unit)
    left, delta = min(own.remaining, whole.remaining), table.policy.budget.delta
    refusal = None
    if cost > left:
        whose = "you have" if own.remaining <= whole.remaining else "the table has"
        most = most_epsilon(left, whole.unit, request.delta)
        refusal = (
            over_budget(whose, cost, left, whole.unit, f"epsilon {most}")
            if most is not None
            else f"{whose} no budget left on this table; the curator can raise it"
        )
    shown = own.remaining if refusal is None else left  # what the refusal says is what is left
    return Quote(whole.unit, cost, shown, delta, refusal)


def require(quote: Quote) -> None:
    """Refuse a request that its quote does not grant."""
    if quote.refusal is not None:
        left, cost = show(quote.left), show(quote.cost)
        raise Problem("over_budget", quote.refusal, left=left, cost=cost, unit=quote.unit)


def most_epsilon(left: Fraction, unit: str, delta: Fraction) -> str | None:
    """The largest epsilon of four figures that a request with this delta may have; None for none."""
    if unit == "epsilon" or not left:
        guess = float(left)
    else:
        guess = epsilon_of(float(left), float(delta)) if delta else math.sqrt(2 * left)
    if guess <= 0:
        return None
    step = Fraction(10) ** (math.floor(math.log10(guess)) - 3)
    most = math.floor(Fraction(guess) / step) * step
    try:
        while Budget.of(most, delta).cost_in(unit) > left:
            most -= step
    except ValueError:  # what is left buys no budget
        return None
    return f"{float(most):.4g}"


def in_epsilon(amount: Fraction, unit: str, delta: Fraction) -> float:
    """An amount as the epsilon that it buys, for reading."""
    if unit == "epsilon" or not amount or not delta:
        return float(amount)
    return epsilon_of(float(amount), float(delta))


def _unopened(name: str, budget: Budget, table: Spendable) -> State:
    return State(name, budget, budget.unit, budget.total, table.neighbors)


def _open(book: Book, name: str, budget: Budget, table: Spendable) -> None:
    if not book.has(name):
        book.open(name, budget, table.neighbors)
    settle_neighbors(book, name, table)


def settle_neighbors(book: Book, name: str, table: Spendable) -> None:
    """Make sure that an account is for the table's neighbors.

    Nothing changes the domain of a registered table, so an account that is older than the neighbors
    of accounts has been charged for the table's alone; that is written down.
    """
    state = book.state(name)
    if state.neighbors is None:
        book.declare(name, table.neighbors)
    else:
        _check_neighbors(state, table)


def _check_neighbors(state: State, table: Spendable) -> None:
    if state.neighbors not in (None, table.neighbors):
        assert state.neighbors is not None
        raise Problem(
            "conflict",
            f"the account {state.name!r} is for {unit_of(state.neighbors)} and the table's domain for "
            f"{unit_of(table.neighbors)}, and their amounts do not add; the curator can register the "
            "table under another name, which has an account of its own; nothing was charged",
        )


def _set(book: Book, name: str, budget: Budget) -> None:
    found = book.find(name).get(name)
    if found is not None and found.budget != budget:
        book.set_budget(name, budget.epsilon)
