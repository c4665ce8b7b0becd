"""Tables without public bounds: their domain is bought from their own budget when they are registered.

The price is charged to the table's account, in a transaction of its own, before a record is read. Then
noise is drawn, and the table is registered with the domain. A failure between the two costs the price:
the account stays open, and a second try is a second draw and a second charge.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import structlog
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode
from frith.client.requests import PaidTableRequest
from frith.domain import Person
from frith.engines import Engine
from frith.errors import DomainError, FrithError
from frith.learners.private_domain import DraftPlan, draft_charged
from frith.ledger.database import StoreError
from frith.privacy.exact import show
from frith.server.auth.acting import tell
from frith.server.budget import tables
from frith.server.budget.amounts import read_budget
from frith.server.budget.member_view import View
from frith.server.budget.overlaps import Overlaps
from frith.server.budget.policies import Policy, read_policy
from frith.server.context import Context, check_name
from frith.server.problems import Problem, conflict, invalid
from frith.server.schema import RegisteredTable
from frith.server.sources import Source, open_source

log = structlog.get_logger("frith.budget")
_CHARGED = "the domain's price was charged before it was drawn, and stays charged"


def register_paid(
    context: Context, request: PaidTableRequest, curator: str, act: tables.Act
) -> None:
    """Buy a table's domain and register the table with it, after checking everything declared.

    The charge is anchored before a record is read: no copy of the database that lacks it passes. What
    other tables read is looked at again before this one is registered: a replica may have registered
    the same records meanwhile.
    """
    plan, policy, source = _plan(request), read_policy(request.policy), Source.of(request)
    types = tables.check_in_time(context, source, plan.source, request.signed, curator)
    overlaps = Overlaps(context, source, request.signed)
    context.watch.compare()
    with overlaps.claimed(request.name), _opened(context, source, plan, types) as engine:
        with act("buy domain", request.name) as session:
            overlaps.check(session, curator)
            _charge(context, session, request.name, plan, policy)
        with _charged():
            context.watch.anchor()
            domain = draft_charged(plan, engine)
            overlaps = Overlaps(context, source, request.signed)
            with act("register", request.name) as session:
                overlaps.check(session, curator)
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
    tables.check_policy(session, view)
    account = tables.open_account(context, session, view)
    book, unit = context.book(session), policy.budget.unit
    cost = plan.budget.cost_in(unit)
    book.charge(account, cost, "draft a domain", view.neighbors)
    tell(session, after={"cost": show(cost), "unit": unit})


@contextmanager
def _opened(
    context: Context, source: Source, plan: DraftPlan, types: Mapping[str, str]
) -> Iterator[Engine]:
    """The table, opened before the charge: a source that is gone costs nothing."""
    try:
        engine = open_source(context.settings, source.to_text(), plan.source, types)
    except FrithError as error:
        raise invalid(str(error)) from None
    try:
        yield engine
    finally:
        getattr(engine, "close", lambda: None)()


@contextmanager
def _charged() -> Iterator[None]:
    """Whatever fails after the charge is told with it, and quotes no record.

    No answer says when to try again, because a second try is charged again.
    """
    try:
        yield
    except Problem as problem:
        problem.message, problem.wait = f"{problem.message}; {_CHARGED}", None
        raise
    except StoreError:
        unreachable = f"the server cannot reach its database or its witness; {_CHARGED}"
        raise Problem(ProblemCode.UNAVAILABLE, unreachable) from None
    except FrithError as error:
        raise invalid(f"{error}; {_CHARGED}") from None
    except Exception as error:  # noqa: BLE001 - its message may quote a record
        log.error("paid domain not drawn", error=type(error).__name__)
        raise invalid(f"the source cannot be read; {_CHARGED}") from None
