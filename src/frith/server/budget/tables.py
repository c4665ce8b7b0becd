"""Registered tables, their sources and batches, and who may ask about which attributes."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import and_, bindparam, select
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode, Role
from frith.client.requests import BatchRequest, TableRequest
from frith.client.responses import Grant as GrantDocument
from frith.domain import Domain
from frith.engines.sql import ONE_RECORD
from frith.errors import DomainError, FormatError, FrithError
from frith.server.auth.acting import tell
from frith.server.auth.members import get_member, table_seen
from frith.server.auth.roles import add_curator, curated_by, curates
from frith.server.auth.upgrade import check_finished
from frith.server.budget.accounts import open_accounts, set_budgets
from frith.server.budget.member_view import View
from frith.server.budget.overlaps import Overlaps
from frith.server.budget.policies import Policy, read_policy
from frith.server.budget.source_checks import in_time
from frith.server.budget.terms import WITHDRAWN, batch_terms, bind, grant_terms, policy_terms
from frith.server.context import Context, check_name
from frith.server.problems import Problem, conflict, invalid, no_table
from frith.server.schema import Batch, Grant, Member, RegisteredTable
from frith.server.sources import Source, open_source, read_source

_granted = and_(Grant.table == RegisteredTable.name, Grant.member == bindparam("member"))
_SEEN = (
    select(RegisteredTable, Grant)
    .outerjoin(Grant, _granted)
    .where(RegisteredTable.name == bindparam("table"))
)


def register(
    context: Context,
    session: Session,
    name: str,
    source: Source,
    domain: Domain,
    policy: Policy,
    *,
    title: str = "",
    signed: bool = False,
    types: Mapping[str, str] | None = None,
    curator: str | None = None,
) -> RegisteredTable:
    """Register a source with its reviewed domain, and open its account. Reads no record.

    `curator` is the table's first; without one, an operator names one later.

    With `signed` the curator states that each row of a query or a view depends on one protected
    record alone; a plain table or file needs no statement. `types` is what `check_source` returned
    before this transaction: a source that does not answer would block every writer.
    """
    check_name("table", name)
    if session.get(RegisteredTable, name) is not None:
        raise conflict(f"there is already a table {name!r}; raise its version instead")
    if types is None:
        types = check_source(context, source, domain, signed)
    policy = starting_now(context, policy)
    table = RegisteredTable(
        name=name,
        title=title,
        source=source.to_text(),
        domain=json.dumps(domain.to_json()),
        signed=signed,
        version=1,
        policy=json.dumps(policy.to_json()),
        created=context.now(),
        types=json.dumps(dict(types)),
    )
    view = View(table, domain, policy)
    check_policy(session, view)
    session.add(table)
    session.flush()
    open_account(context, session, view)
    bind(context, session, policy_terms(table))
    fingerprint = {"domain": hashlib.sha256(table.domain.encode()).hexdigest()}
    tell(session, after={"policy": policy.to_json(), "source": table.source} | fingerprint)
    if curator is not None:
        add_curator(context, session, name, curator)
    return table


def open_account(context: Context, session: Session, view: View) -> str:
    """Open a new table's account, or take over one of an earlier try that has the same budget.

    Raising its budget needs two people, and a table that is not registered has no policy to raise.
    """
    account, _ = open_accounts(context, session, view)
    left = context.book(session).state(account).budget
    if left != view.policy.budget:
        raise conflict(
            f"the account {account!r} of an earlier try has {left}; register with that budget, or "
            "under another name"
        )
    return account


def starting_now(context: Context, policy: Policy) -> Policy:
    """A new table's policy: its first period begins at midnight."""
    return replace(policy, renewal_start=_midnight(context) if policy.renewal_days else None)


Act = Callable[[str, str], AbstractContextManager[Session]]
"""Opens the transaction of a change: an action, and what it is about."""


def register_request(context: Context, request: TableRequest, curator: str, act: Act) -> None:
    """Register the table that a curator asks for; opens its source before the transaction."""
    domain, policy = read_domain(request.domain), read_policy(request.policy)
    if domain.paid is not None:
        raise invalid(
            "the domain was paid for elsewhere, and the table's account here does not hold that price; "
            "declare the bounds and values that are public, or buy a domain here",
        )
    source = Source.of(request)
    types = check_in_time(context, source, domain, request.signed, curator)
    overlaps = Overlaps(context, source, request.signed)
    with overlaps.claimed(request.name), act("register", request.name) as session:
        overlaps.check(session, curator)
        register(
            context, session, request.name, source, domain, policy,
            title=request.title, signed=request.signed, types=types, curator=curator,
        )  # fmt: skip


def check_in_time(
    context: Context, source: Source, domain: Domain, signed: bool, by: str | None
) -> Mapping[str, str]:
    """`check_source` with a deadline: one wait to connect, and one to look; `by` is who wants it."""
    seconds = 2 * context.settings.source_connect_seconds
    return in_time(lambda: check_source(context, source, domain, signed), seconds, by)


def check_source(
    context: Context, source: Source, domain: Domain, signed: bool
) -> Mapping[str, str]:
    """The types of the columns, after their names and types were checked.

    Refuses a source that needs the curator's signature and has none. The curator sees an engine's message
    without what only the operator may know.
    """
    if domain.learned:
        raise invalid(
            "the domain is a draft learned from the records; review it and remove `learned = true`",
        )
    try:
        engine = open_source(context.settings, source.to_text(), domain)
    except FrithError as error:
        raise invalid(str(error)) from None
    rows = [a for a in engine.assumptions if ONE_RECORD in a]
    getattr(engine, "close", lambda: None)()
    if rows and not signed:
        raise invalid(f"sign that {rows[0]}: this source is not a plain table")
    return engine.types


def read_domain(text: str) -> Domain:
    """Read the domain that a curator wrote, in TOML or JSON."""
    try:
        if text.lstrip().startswith("{"):
            return Domain.from_json(json.loads(text))
        return Domain.from_toml(text)
    except (DomainError, FormatError) as error:
        raise invalid(str(error)) from None
    except (ValueError, RecursionError):
        raise invalid("the domain is neither TOML nor JSON") from None


def update_policy(
    context: Context, session: Session, name: str, policy: Policy, *, by_two: bool = False
) -> None:
    """Replace the policy; delta and renewal are fixed when a table is registered.

    A larger budget needs two people: one proposes it, and another approves.
    """
    table = get_table(session, name)
    old = policy_of(table)
    if (policy.budget.delta, policy.renewal_days) != (old.budget.delta, old.renewal_days):
        raise conflict("delta and renewal are fixed when a table is registered")
    if old.is_raised_by(policy) and not by_two:
        raise conflict(
            f"raising the budget from epsilon {old.epsilon} to {policy.epsilon} needs two people; "
            "propose it, and another curator of the table or an operator approves",
        )
    policy = replace(policy, renewal_start=old.renewal_start)
    view = View(table, domain_of(table), policy)
    check_policy(session, view)
    table.policy = json.dumps(policy.to_json())
    tell(session, before=old.to_json(), after=policy.to_json())
    bind(context, session, policy_terms(table))
    caps = {g.member: g.epsilon for g in list_grants(session, name)}
    set_budgets(context, session, view, caps, list_disjoint(session, name))


def check_policy(session: Session, view: View) -> None:
    """Refuse a policy that the table or this database cannot have."""
    view.check_learners()
    if view.policy.approval_epsilon is not None:
        check_finished(session, "approval_epsilon")


def raise_version(context: Context, name: str, act: Act, by: str | None = None) -> int:
    """State that the records have changed: a repeated request is now a new one. Budgets stay.

    Records the types of the columns again.
    """
    with context.database.read() as session:
        found = get_table(session, name)
    source = read_source(context.settings, found.source)
    types = check_in_time(context, source, domain_of(found), found.signed, by)
    with act("raise version", name) as session:
        table = get_table(session, name)
        tell(session, before={"version": table.version}, after={"version": table.version + 1})
        table.version, table.types = table.version + 1, json.dumps(dict(types))
        return table.version


def add_batch(
    context: Context,
    session: Session,
    table: str,
    name: str,
    source: Source,
    *,
    disjoint: bool,
    types: Mapping[str, str] | None = None,
) -> Batch:
    """Add further records. `disjoint` declares that none of their people is in the table or another batch.

    `types` means the same as for `register`.
    """
    found = get_table(session, table)
    check_name("batch", name)
    if session.get(Batch, (table, name)) is not None:
        raise conflict(f"the table already has a batch {name!r}")
    if types is None:
        types = check_source(context, source, domain_of(found), found.signed)
    batch = Batch(
        table=table, name=name, source=source.to_text(), disjoint=disjoint,
        created=context.now(), types=json.dumps(dict(types)),
    )  # fmt: skip
    session.add(batch)
    session.flush()
    bind(context, session, batch_terms(batch))
    tell(session, after={"source": batch.source, "disjoint": disjoint})
    return batch


def add_batch_request(
    context: Context, table: str, request: BatchRequest, curator: str, act: Act
) -> None:
    """Add the batch that a curator asks for; opens its source before the transaction."""
    with context.database.read() as session:
        found = get_table(session, table)
    source = Source.of(request)
    types = check_in_time(context, source, domain_of(found), found.signed, curator)
    overlaps = Overlaps(context, source, found.signed)
    target = f"{table}/{request.name}"
    with overlaps.claimed(target), act("add batch", target) as session:
        overlaps.check(session, curator, but=None if request.disjoint else table)
        add_batch(
            context, session, table, request.name, source,
            disjoint=request.disjoint, types=types,
        )  # fmt: skip


def list_batches(session: Session, table: str) -> list[Batch]:
    query = select(Batch).where(Batch.table == table).order_by(Batch.name)
    return list(session.scalars(query))


def list_disjoint(session: Session, table: str) -> list[str]:
    """The batches that have their own accounts."""
    return [b.name for b in list_batches(session, table) if b.disjoint]


def grant(
    context: Context,
    session: Session,
    table: str,
    member: str,
    columns: list[str] | None = None,
    epsilon: str | None = None,
) -> Grant:
    """Let an analyst ask about a table, or change an earlier grant."""
    found = get_table(session, table)
    analyst = get_member(session, member)
    if curates(session, analyst, table):
        raise invalid("a table's curators need no grant")
    if analyst.role not in (Role.ANALYST, Role.CURATOR):
        raise invalid(f"{member} is {analyst.role} here, and asks nothing; grant it to an analyst")
    domain, policy = domain_of(found), policy_of(found)
    if columns is not None:
        try:
            domain.view(columns)
        except DomainError as error:
            raise invalid(str(error)) from None
    if epsilon is not None and policy.analyst_budget(epsilon).epsilon > policy.budget.epsilon:
        raise invalid("an analyst's cap is at most the table's epsilon")
    given = session.get(Grant, (table, member))
    if given is None:
        given = Grant(table=table, member=member)
    else:
        tell(session, before=_facts(given))
    given.columns = None if columns is None else json.dumps(columns)
    given.epsilon, given.created = epsilon, context.now()
    session.add(given)
    session.flush()
    bind(context, session, grant_terms(given))
    tell(session, target=f"{table}/{member}", after=_facts(given))
    view = View(found, domain, policy)
    set_budgets(context, session, view, {member: epsilon}, list_disjoint(session, table))
    return given


def _facts(given: Grant) -> dict[str, str | None]:
    return {"columns": given.columns, "epsilon": given.epsilon}


def grant_document(given: Grant) -> GrantDocument:
    """A grant as the API and the pages show it."""
    columns = None if given.columns is None else json.loads(given.columns)
    epsilon = None if given.epsilon is None else Fraction(given.epsilon)
    return GrantDocument(table=given.table, member=given.member, columns=columns, epsilon=epsilon)


def withdraw(context: Context, session: Session, table: str, member: str) -> None:
    """End a grant; what was spent under it stays spent."""
    given = session.get(Grant, (table, member))
    if given is None:
        raise Problem(ProblemCode.NOT_FOUND, "there is no such grant")
    bind(context, session, grant_terms(given)._replace(meaning=WITHDRAWN))
    tell(session, before=_facts(given))
    session.delete(given)


def list_grants(session: Session, table: str) -> list[Grant]:
    query = select(Grant).where(Grant.table == table).order_by(Grant.member)
    return list(session.scalars(query))


def get_table(session: Session, name: str) -> RegisteredTable:
    table = session.get(RegisteredTable, name)
    if table is None:
        raise no_table()
    return table


def list_names(session: Session) -> list[str]:
    """The names of all tables."""
    return list(session.scalars(select(RegisteredTable.name).order_by(RegisteredTable.name)))


def see(session: Session, name: str, member: Member) -> View:
    """The table as this member may see it; `not_found` if they may not."""
    found = table_seen(session, name, member.name)
    if found is None:
        row = session.execute(_SEEN, {"table": name, "member": member.name}).first()
        found = None if row is None else (row.RegisteredTable, row.Grant)
    if found is None or member.disabled is not None:
        raise no_table()
    if found[1] is None and not sees_whole(session, member, name):
        raise no_table()
    return _view(*found)


def sees_whole(session: Session, member: Member, table: str) -> bool:
    """Whether a member may read everything about a table but its records: curators and auditors may."""
    return member.is_auditor or curates(session, member, table)


def list_views(session: Session, member: Member) -> list[View]:
    query = select(RegisteredTable).order_by(RegisteredTable.name)
    grants = {g.table: g for g in session.scalars(select(Grant).where(Grant.member == member.name))}
    mine = {*grants, *curated_by(session, member)}
    tables = [t for t in session.scalars(query) if member.is_auditor or t.name in mine]
    return [_view(t, grants.get(t.name)) for t in tables]


def domain_of(table: RegisteredTable) -> Domain:
    return _read_domain(table.domain)


def policy_of(table: RegisteredTable) -> Policy:
    return _read_policy(table.policy)


@functools.lru_cache(maxsize=256)
def _read_domain(text: str) -> Domain:
    return Domain.from_json(json.loads(text))


@functools.lru_cache(maxsize=256)
def _read_policy(text: str) -> Policy:
    return Policy.from_json(json.loads(text))


def _view(table: RegisteredTable, given: Grant | None) -> View:
    domain = domain_of(table)
    if given is not None and given.columns is not None:
        domain = domain.view(json.loads(given.columns))
    return View(table, domain, policy_of(table), given.epsilon if given else None)


def _midnight(context: Context) -> str:
    now: Any = context.clock().astimezone(UTC)
    return datetime(now.year, now.month, now.day, tzinfo=UTC).isoformat()
