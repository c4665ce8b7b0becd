"""Tables: seeing them, asking for prices and forests, and the curator's work on them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Annotated, Any

from fastapi import APIRouter, Header

from frith.client import documents as d
from frith.client.kinds import JobKind
from frith.learners import BY_NAME
from frith.privacy.budget import Budget
from frith.privacy.exact import show
from frith.server.auth.caller import Called, Caller
from frith.server.budget import accounts, tables
from frith.server.budget.accounts import account_document
from frith.server.budget.amounts import read_budget
from frith.server.budget.policies import read_policy
from frith.server.jobs import history, queue
from frith.server.jobs.requests import JobRequest, ask_to_train, parameters_of, summary
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
def list_learners(caller: Called) -> list[d.LearnerInfo]:
    """The learners, and the parameters that a request may set."""
    return [
        d.LearnerInfo(name=name, summary=summary(name), parameters=parameters_of(name))
        for name in BY_NAME
    ]


@router.get("/tables")
def list_tables(caller: Called) -> list[d.TableInfo]:
    """The tables that you may ask about."""
    with caller.read() as session:
        views = tables.list_views(session, caller.member)
        return [_table(session, view, caller) for view in views]


@router.post("/tables", status_code=201)
def register_table(asked: d.TableRequest, caller: Called) -> d.TableInfo:
    """Register a table with its reviewed domain and its policy. For curators."""
    caller.must_be_curator()
    tables.register_request(caller.context, asked)
    return get_table(asked.name, caller)


@router.get("/tables/{table}")
def get_table(table: str, caller: Called) -> d.TableInfo:
    """One table: its domain, as far as your grant goes, and its policy."""
    with caller.read() as session:
        return _table(session, tables.see(session, table, caller.member), caller)


@router.put("/tables/{table}/policy")
def set_policy(table: str, asked: d.PolicyRequest, caller: Called) -> d.TableInfo:
    """Another policy from now on. For curators."""
    caller.must_be_curator()
    policy = read_policy(asked)
    with caller.write() as session:
        tables.update_policy(caller.context, session, table, policy)
    return get_table(table, caller)


@router.post("/tables/{table}/version")
def raise_version(table: str, caller: Called) -> d.TableInfo:
    """Say that the records have changed: repeats of earlier requests are new ones. For curators."""
    caller.must_be_curator()
    with caller.write() as session:
        tables.raise_version(session, table)
    return get_table(table, caller)


@router.post("/tables/{table}/batches", status_code=201)
def add_batch(table: str, asked: d.BatchRequest, caller: Called) -> d.TableInfo:
    """Register further records, for updates of random decision forests. For curators."""
    caller.must_be_curator()
    tables.add_batch_request(caller.context, table, asked)
    return get_table(table, caller)


@router.get("/tables/{table}/grants")
def list_grants(table: str, caller: Called) -> list[d.Grant]:
    """Who may ask about a table. For curators."""
    caller.must_be_curator()
    with caller.read() as session:
        tables.get_table(session, table)
        return [_grant(g) for g in tables.list_grants(session, table)]


@router.put("/tables/{table}/grants/{member}")
def grant(table: str, member: str, asked: d.GrantRequest, caller: Called) -> d.Grant:
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
def get_budget(table: str, caller: Called) -> d.BudgetResponse:
    """What you have spent on a table and its batches and what you have left; curators see all."""
    with caller.read() as session:
        view = tables.see(session, table, caller.member)
        whole, own = accounts.states(caller.context, session, view, caller.member.name)
        own_only = d.BudgetResponse(
            table=table,
            own=account_document(own),
            renewal=view.policy.renewal,
            batches=[
                _batch(session, view, caller, b) for b in tables.list_disjoint(session, table)
            ],
        )
        if not caller.member.is_curator:
            return own_only
        analysts = accounts.analyst_states(caller.context, session, view)
        everybody = [account_document(state) for state in analysts]
        return own_only.model_copy(update={"whole": account_document(whole), "analysts": everybody})


@router.post("/tables/{table}/quotes")
def quote(table: str, asked: d.ForestRequest, caller: Called) -> d.Quote:
    """What a forest would cost and what would be left. Free, and from public facts alone."""
    budget = read_budget(asked.epsilon, asked.delta)
    with caller.read() as session:
        view = tables.see(session, table, caller.member)
        _request(JobKind.TRAIN, asked, budget, view)
        return accounts.quote(caller.context, session, view, caller.member.name, budget)


@router.post("/tables/{table}/forests", status_code=202)
def train(table: str, asked: d.ForestRequest, caller: Called, key: Key = None) -> d.JobResponse:
    """Ask for a forest. It is reserved now, charged when it starts, and never given back then."""
    return _ask_for_forest(JobKind.TRAIN, table, asked, caller, key)


@router.post("/tables/{table}/dry-runs", status_code=202)
def dry_run(table: str, asked: d.ForestRequest, caller: Called, key: Key = None) -> d.JobResponse:
    """Train on synthetic records drawn from the domain alone. Free; tells nothing of the table."""
    return _ask_for_forest(JobKind.DRY_RUN, table, asked, caller, key)


def _ask_for_forest(
    kind: str, table: str, asked: d.ForestRequest, caller: Caller, key: str | None
) -> d.JobResponse:
    budget = read_budget(asked.epsilon, asked.delta)
    with caller.write() as session:
        view = tables.see(session, table, caller.member)
        request = _request(kind, asked, budget, view)
        job = queue.accept(caller.context, session, view, caller.member, request, key)
        return history.describe(caller.context, session, job)


def _request(kind: str, asked: d.ForestRequest, budget: Budget, view: tables.View) -> JobRequest:
    learner = asked.learner or view.learner
    request = ask_to_train(kind, learner, budget, asked.parameters, view.domain)
    view.policy.check(learner, budget)
    return request


def _table(session: Any, view: tables.View, caller: Caller) -> d.TableInfo:
    return d.TableInfo(
        name=view.name,
        title=view.table.title,
        version=view.table.version,
        policy=view.policy.to_json(),
        renewal=view.policy.renewal,
        learner=view.learner,
        domain=view.domain,
        batches=[d.Batch.read(b) for b in tables.list_batches(session, view.name)],
        source=tables.masked(view.table.source) if caller.member.is_curator else None,
    )


def _grant(given: Grant) -> d.Grant:
    columns = None if given.columns is None else json.loads(given.columns)
    epsilon = None if given.epsilon is None else Fraction(given.epsilon)
    return d.Grant(table=given.table, member=given.member, columns=columns, epsilon=epsilon)


def _batch(session: Any, view: tables.View, caller: Caller, batch: str) -> d.BatchBudget:
    whole, own = accounts.states(caller.context, session, view, caller.member.name, batch)
    shown = account_document(whole) if caller.member.is_curator else None
    return d.BatchBudget(batch=batch, own=account_document(own), whole=shown)
