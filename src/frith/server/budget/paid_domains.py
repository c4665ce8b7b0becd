"""Tables without public bounds: their domain is bought from their own budget when they are registered.

The price is charged to the table's account, in a transaction of its own, before a record is read. Then
noise is drawn, and the table is registered with the domain. A failure between the two costs the price:
the account stays open, and a second try is a second draw and a second charge.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy.orm import Session

from frith.client.requests import PaidTableRequest
from frith.domain import Domain, Person
from frith.errors import DomainError, FrithError
from frith.learners.private_domain import DraftPlan, draft_charged
from frith.privacy.exact import show
from frith.server.auth.acting import tell
from frith.server.budget import tables
from frith.server.budget.accounts import open_accounts
from frith.server.budget.amounts import read_budget
from frith.server.budget.member_view import View
from frith.server.budget.overlaps import Overlaps
from frith.server.budget.policies import Policy, read_policy
from frith.server.context import Context, check_name
from frith.server.problems import conflict, invalid
from frith.server.schema import RegisteredTable
from frith.server.sources import Source, open_source

_CHARGED = "the domain's price was charged before it was drawn, and stays charged"


def register_paid(
    context: Context, request: PaidTableRequest, curator: str, act: tables.Act
) -> None:
    """Buy a table's domain and register the table with it, after checking everything declared.

    The charge is anchored before a record is read: no copy of the database that lacks it passes.
    """
    plan, policy, source = _plan(request), read_policy(request.policy), Source.of(request)
    types = tables.check_in_time(context, source, plan.source, request.signed)
    overlaps = Overlaps(context, source, request.signed)
    with act("buy domain", request.name) as session:
        overlaps.check(session, curator)
        _charge(context, session, request.name, plan, policy)
    context.watch.anchor()
    domain = _draw(context, source, plan, types)
    with act("register", request.name) as session:
        tables.register(
            context, session, request.name, source, domain, policy,
            title=request.title, signed=request.signed, types=types, curator=curator,
        )  # fmt: skip


def _plan(request: PaidTableRequest) -> DraftPlan:
    who, columns = request.person, dict[str, Any](request.columns)
    budget = read_budget(request.epsilon)
    try:
        person = None if who is None else Person(who, request.records_per_person)
        return DraftPlan(request.label, columns, budget, request.records, person, None)
    except DomainError as error:
        raise invalid(str(error)) from None


def _charge(context: Context, session: Session, name: str, plan: DraftPlan, policy: Policy) -> None:
    """Open the table's account and charge the domain to it, or raise and do neither."""
    check_name("table", name)
    if session.get(RegisteredTable, name) is not None:
        raise conflict(f"there is already a table {name!r}, and its domain stays as it is")
    policy = tables.starting_now(context, policy)
    view = View(RegisteredTable(name=name), plan.source, policy)
    view.check_learners()
    account, _ = open_accounts(context, session, view)
    book = context.book(session)
    state, cost = book.state(account), plan.budget.cost_in(policy.budget.unit)
    if state.budget != policy.budget:
        raise conflict(
            f"the account {account!r} of an earlier try has {state.budget}; register with that budget, or "
            "under another name"
        )
    book.charge(account, cost, "draft a domain", view.neighbors)
    tell(session, after={"cost": show(cost), "unit": state.unit})


def _draw(context: Context, source: Source, plan: DraftPlan, types: Mapping[str, str]) -> Domain:
    """The domain, after its price was charged; errors quote no record."""
    try:
        engine = open_source(context.settings, source.to_text(), plan.source, types)
        try:
            return draft_charged(plan, engine)
        finally:
            getattr(engine, "close", lambda: None)()
    except FrithError as error:
        raise invalid(f"{error}; {_CHARGED}") from None
    except (OSError, ValueError):  # its message may quote a record
        raise invalid(f"the source cannot be read; {_CHARGED}") from None
