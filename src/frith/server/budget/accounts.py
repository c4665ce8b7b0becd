"""The accounts of a table: its own, one for each analyst, and what a request would cost them.

A request is reserved on two accounts: the table's, because analysts may collude, and the analyst's
own. A batch whose people are in no other batch has its own accounts, with the same budgets. All of
them protect the neighbors of the table's domain: records, or persons with at most m records each.
"""

from __future__ import annotations

import math
from fractions import Fraction

from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode
from frith.client.responses import Account, Quote
from frith.errors import over_budget
from frith.ledger import Book, Place, State
from frith.privacy.budget import Budget
from frith.privacy.composition import epsilon_of
from frith.privacy.exact import show
from frith.privacy.neighbors import unit_of
from frith.server.budget.checks import check_accounts
from frith.server.budget.member_view import View
from frith.server.context import Context
from frith.server.problems import Problem, conflict


def account_of(context: Context, table: View, batch: str | None = None) -> Place:
    """The table's account in this period; `batch` is one with its own accounts."""
    renews = table.policy.renewal_days is not None
    period = table.policy.period(context.watch.time) if renews else None
    return Place(table.name, batch, period)


def open_accounts(
    context: Context,
    session: Session,
    table: View,
    member: str | None = None,
    batch: str | None = None,
) -> tuple[str, str]:
    """The names of the table's account and the member's own; opens those that do not exist.

    An existing account for other neighbors is a conflict and stays unchanged; an account that differs
    from the chain sells nothing.
    """
    book, account = context.book(session), account_of(context, table, batch)
    own = account.of(member or "")
    check_accounts(context, session, account, own)
    _open(book, account, table.policy.budget, table)
    if member is not None:
        _open(book, own, table.policy.analyst_budget(table.cap), table)
    return account.name, own.name


def set_budgets(
    context: Context,
    session: Session,
    table: View,
    caps: dict[str, str | None],
    batches: list[str],
) -> None:
    """Set the budgets of open accounts to the policy and the caps of grants."""
    book = context.book(session)
    for batch in (None, *batches):
        account = account_of(context, table, batch)
        _set(book, account, table.policy.budget)
        for member, cap in caps.items():
            _set(book, account.of(member), table.policy.analyst_budget(cap))


def states(
    context: Context, session: Session, table: View, member: str, batch: str | None = None
) -> tuple[State, State]:
    """The table's account and the member's own, as they are or as they would be opened."""
    account = account_of(context, table, batch)
    own, cap = account.of(member), table.policy.analyst_budget(table.cap)
    found = context.book(session).find(account.name, own.name)
    return (
        found.get(account.name) or _unopened(account, table.policy.budget, table),
        found.get(own.name) or _unopened(own, cap, table),
    )


def analyst_states(context: Context, session: Session, table: View) -> dict[str, State]:
    """The analysts' own accounts on a table in this period, by member."""
    return context.book(session).analysts(account_of(context, table))


def quote(
    context: Context,
    session: Session,
    table: View,
    member: str,
    request: Budget,
    batch: str | None = None,
) -> Quote:
    """The price of a request, and whether it would be granted now."""
    return price(context, table, states(context, session, table, member, batch), request)


def price(context: Context, table: View, accounts: tuple[State, State], request: Budget) -> Quote:
    """The price of a request on the table's account and the member's own, as they are now."""
    context.watch.require(table.name)
    whole, own = accounts
    for state in (whole, own):
        _check_neighbors(state, table)
    cost = request.cost_in(whole.unit)
    left, delta = min(own.remaining, whole.remaining), table.policy.budget.delta
    refusal = None
    if cost > left:
        whose = "you have" if own.remaining <= whole.remaining else "the table has"
        largest = largest_epsilon(left, whole.unit, request.delta)
        refusal = (
            over_budget(whose, cost, left, whole.unit, f"epsilon {largest}")
            if largest is not None
            else f"{whose} no budget left on this table; the curator can raise it"
        )
    shown = own.remaining if refusal is None else left  # the amount that the refusal names
    after = shown - cost if refusal is None else shown
    return Quote(
        unit=whole.unit,
        cost=cost,
        left=shown,
        left_after=after,
        left_after_epsilon=in_epsilon(after, whole.unit, delta),
        granted=refusal is None,
        refusal=refusal,
    )


def account_document(state: State) -> Account:
    """An account as the API shows it."""
    return Account(
        name=state.name,
        unit=state.unit,
        epsilon=Fraction(state.budget.epsilon),
        delta=state.budget.delta,
        neighbors=state.neighbors,
        total=state.total,
        spent=state.spent,
        held=state.held,
        left=state.remaining,
        left_epsilon=in_epsilon(state.remaining, state.unit, state.budget.delta),
    )


def require(quote: Quote) -> None:
    """Refuse a request that its quote does not grant."""
    if quote.refusal is not None:
        left, cost = show(quote.left), show(quote.cost)
        raise Problem(ProblemCode.OVER_BUDGET, quote.refusal, left=left, cost=cost, unit=quote.unit)


def largest_epsilon(left: Fraction, unit: str, delta: Fraction) -> str | None:
    """The largest epsilon that is left for a request with this delta, in four digits; None if nothing is."""
    if unit == "epsilon" or not left:
        guess = float(left)
    else:
        guess = epsilon_of(float(left), float(delta)) if delta else math.sqrt(2 * left)
    if guess <= 0:
        return None
    step = Fraction(10) ** (math.floor(math.log10(guess)) - 3)
    largest = math.floor(Fraction(guess) / step) * step
    try:
        while Budget.of(largest, delta).cost_in(unit) > left:
            largest -= step
    except ValueError:  # the rest is too small for any budget
        return None
    return f"{float(largest):.4g}"


def in_epsilon(amount: Fraction, unit: str, delta: Fraction) -> float:
    """The epsilon that an amount buys, for people to read."""
    if unit == "epsilon" or not amount or not delta:
        return float(amount)
    return epsilon_of(float(amount), float(delta))


def _unopened(place: Place, budget: Budget, table: View) -> State:
    return State(place.name, budget, budget.unit, budget.total, table.neighbors)


def _open(book: Book, place: Place, budget: Budget, table: View) -> None:
    if book.has(place.name):
        book.adopt(place)
    else:
        book.open(place, budget, table.neighbors)
    settle_neighbors(book, place.name, table)


def settle_neighbors(book: Book, name: str, table: View) -> None:
    """Make sure that an account is for the table's neighbors.

    The domain of a registered table never changes. So an account from before accounts named their
    neighbors was only charged for the table's neighbors, and this records them.
    """
    state = book.state(name)
    if state.neighbors is None:
        book.declare(name, table.neighbors)
    else:
        _check_neighbors(state, table)


def _check_neighbors(state: State, table: View) -> None:
    if state.neighbors not in (None, table.neighbors):
        assert state.neighbors is not None
        raise conflict(
            f"the account {state.name!r} is for {unit_of(state.neighbors)} and the table's domain for "
            f"{unit_of(table.neighbors)}, and their amounts do not add; the curator can register the "
            "table under another name, which has an account of its own; nothing was charged",
        )


def _set(book: Book, place: Place, budget: Budget) -> None:
    found = book.find(place.name).get(place.name)
    if found is not None and (found.budget, found.total) != (budget, budget.total):
        book.set_budget(place.name, budget.epsilon)
