"""Tables: seeing them, asking for prices and forests, and the curator's work on them."""

from __future__ import annotations

import json
from typing import Annotated, Any

from fastapi import APIRouter, Header

from frith.learners import BY_NAME
from frith.ledger import State
from frith.privacy.budget import Budget
from frith.privacy.exact import show
from frith.server import documents as d
from frith.server.auth.caller import Called, Caller
from frith.server.budget import accounts, tables
from frith.server.budget.amounts import read_budget
from frith.server.budget.policies import read_policy
from frith.server.jobs import history, queue
from frith.server.jobs.requests import DRY_RUN, TRAIN, Asked, ask_to_train, parameters_of, summary
from frith.server.schema import Grant

router = APIRouter(tags=["tables"])
Key = Annotated[
    str | None,
    Header(
        alias="Idempotency-Key",
        max_length=128,
        pattern=r"^[!-~]+$",
        description="A retry with the same key and body returns the same job.",
    ),
]


@router.get("/learners")
def list_learners(caller: Called) -> list[d.LearnerSaid]:
    """The learners, and the parameters that a request may set."""
    return [
        d.LearnerSaid(name=name, summary=summary(name), parameters=parameters_of(name))
        for name in BY_NAME
    ]


@router.get("/tables")
def list_tables(caller: Called) -> list[d.TableSaid]:
    """The tables that you may ask about."""
    with caller.read() as session:
        views = tables.list_views(session, caller.member)
        return [_table(session, view, caller) for view in views]


@router.post("/tables", status_code=201)
def register_table(asked: d.TableAsked, caller: Called) -> d.TableSaid:
    """Register a table with its reviewed domain and its policy. For curators."""
    caller.must_be_curator()
    domain, policy = tables.read_domain(asked.domain), read_policy(asked.policy)
    tables.check_source(asked.source, domain, asked.signed)
    with caller.write() as session:
        tables.register(
            caller.context, session, asked.name, asked.source, domain, policy,
            title=asked.title, signed=asked.signed, checked=True,
        )  # fmt: skip
        return _table(session, tables.see(session, asked.name, caller.member), caller)


@router.get("/tables/{table}")
def get_table(table: str, caller: Called) -> d.TableSaid:
    """One table: its domain, as far as your grant goes, and its policy."""
    with caller.read() as session:
        return _table(session, tables.see(session, table, caller.member), caller)


@router.put("/tables/{table}/policy")
def set_policy(table: str, asked: d.PolicyAsked, caller: Called) -> d.TableSaid:
    """Another policy from now on. For curators."""
    caller.must_be_curator()
    policy = read_policy(asked)
    with caller.write() as session:
        tables.update_policy(caller.context, session, table, policy)
        return _table(session, tables.see(session, table, caller.member), caller)


@router.post("/tables/{table}/version")
def raise_version(table: str, caller: Called) -> d.TableSaid:
    """Say that the records have changed: repeats of earlier requests are new ones. For curators."""
    caller.must_be_curator()
    with caller.write() as session:
        tables.raise_version(session, table)
        return _table(session, tables.see(session, table, caller.member), caller)


@router.post("/tables/{table}/batches", status_code=201)
def add_batch(table: str, asked: d.BatchAsked, caller: Called) -> d.TableSaid:
    """Register further records, for updates of random decision forests. For curators."""
    caller.must_be_curator()
    with caller.read() as session:
        found = tables.get_table(session, table)
    tables.check_source(asked.source, tables.domain_of(found), found.signed)
    with caller.write() as session:
        tables.add_batch(
            caller.context, session, table, asked.name, asked.source,
            disjoint=asked.disjoint, checked=True,
        )  # fmt: skip
        return _table(session, tables.see(session, table, caller.member), caller)


@router.get("/tables/{table}/grants")
def list_grants(table: str, caller: Called) -> list[d.GrantSaid]:
    """Who may ask about a table. For curators."""
    caller.must_be_curator()
    with caller.read() as session:
        tables.get_table(session, table)
        return [_grant(g) for g in tables.list_grants(session, table)]


@router.put("/tables/{table}/grants/{member}")
def grant(table: str, member: str, asked: d.GrantAsked, caller: Called) -> d.GrantSaid:
    """Let an analyst ask about a table, or about some of its attributes. For curators."""
    caller.must_be_curator()
    epsilon = None if asked.epsilon is None else show(read_budget(asked.epsilon).epsilon)
    with caller.write() as session:
        given = tables.grant(
            caller.context, session, table, member, columns=asked.columns, epsilon=epsilon
        )
        return _grant(given)


@router.delete("/tables/{table}/grants/{member}", status_code=204)
def withdraw(table: str, member: str, caller: Called) -> None:
    """End a grant. For curators."""
    caller.must_be_curator()
    with caller.write() as session:
        tables.withdraw(session, table, member)


@router.get("/tables/{table}/budget")
def get_budget(table: str, caller: Called) -> d.BudgetSaid:
    """What you have spent on a table and its batches and what you have left; curators see all."""
    with caller.read() as session:
        view = tables.see(session, table, caller.member)
        whole, own = accounts.states(caller.context, session, view, caller.member.name)
        said = d.BudgetSaid(
            table=table,
            own=_account(own),
            renewal=view.policy.renewal,
            batches=[
                _batch(session, view, caller, b) for b in tables.list_disjoint(session, table)
            ],
            whole=None,
            analysts=None,
        )
        if caller.member.is_curator:
            analysts = accounts.analyst_states(caller.context, session, view)
            said.whole = _account(whole)
            said.analysts = [_account(state) for state in analysts]
        return said


@router.post("/tables/{table}/quotes")
def quote(table: str, asked: d.ForestAsked, caller: Called) -> d.QuoteSaid:
    """What a forest would cost and what would be left. Free, and from public facts alone."""
    budget = read_budget(asked.epsilon, asked.delta)
    with caller.read() as session:
        view = tables.see(session, table, caller.member)
        _request(TRAIN, asked, budget, view)
        price = accounts.quote(caller.context, session, view, caller.member.name, budget)
        return d.QuoteSaid(**price.to_json())


@router.post("/tables/{table}/forests", status_code=202)
def train(table: str, asked: d.ForestAsked, caller: Called, key: Key = None) -> d.JobSaid:
    """Ask for a forest. It is reserved now, charged when it starts, and never given back then."""
    return _ask_for_forest(TRAIN, table, asked, caller, key)


@router.post("/tables/{table}/dry-runs", status_code=202)
def dry_run(table: str, asked: d.ForestAsked, caller: Called, key: Key = None) -> d.JobSaid:
    """Train on synthetic records drawn from the domain alone. Free; tells nothing of the table."""
    return _ask_for_forest(DRY_RUN, table, asked, caller, key)


def _ask_for_forest(
    kind: str, table: str, asked: d.ForestAsked, caller: Caller, key: str | None
) -> d.JobSaid:
    budget = read_budget(asked.epsilon, asked.delta)
    with caller.write() as session:
        view = tables.see(session, table, caller.member)
        request = _request(kind, asked, budget, view)
        job = queue.accept(caller.context, session, view, caller.member, request, key)
        return d.JobSaid(**history.describe(caller.context, session, job))


def _request(kind: str, asked: d.ForestAsked, budget: Budget, view: tables.View) -> Asked:
    learner = asked.learner or view.learner
    request = ask_to_train(kind, learner, budget, asked.parameters, view.domain)
    view.policy.check(learner, budget)
    return request


def _table(session: Any, view: tables.View, caller: Caller) -> d.TableSaid:
    batches = [
        {"name": b.name, "disjoint": b.disjoint, "created": b.created}
        for b in tables.list_batches(session, view.name)
    ]
    policy = view.policy.to_json()
    return d.TableSaid(
        name=view.name,
        title=view.table.title,
        version=view.table.version,
        policy=policy,
        renewal=view.policy.renewal,
        learner=view.learner,
        domain=view.domain.to_json(),
        batches=batches,
        source=tables.masked(view.table.source) if caller.member.is_curator else None,
    )


def _grant(given: Grant) -> d.GrantSaid:
    columns = None if given.columns is None else json.loads(given.columns)
    return d.GrantSaid(
        table=given.table, member=given.member, columns=columns, epsilon=given.epsilon
    )


def _batch(session: Any, view: tables.View, caller: Caller, batch: str) -> d.BatchBudgetSaid:
    whole, own = accounts.states(caller.context, session, view, caller.member.name, batch)
    shown = _account(whole) if caller.member.is_curator else None
    return d.BatchBudgetSaid(batch=batch, own=_account(own), whole=shown)


def _account(state: State) -> d.AccountSaid:
    return d.AccountSaid(
        name=state.name,
        unit=state.unit,
        epsilon=show(state.budget.epsilon),
        delta=show(state.budget.delta),
        neighbors=state.neighbors,
        total=show(state.total),
        spent=show(state.spent),
        held=show(state.held),
        left=show(state.remaining),
        left_epsilon=accounts.in_epsilon(state.remaining, state.unit, state.budget.delta),
    )
