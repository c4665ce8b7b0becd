"""Tables: their budgets, quotes and forests, and what curators do with them."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header

from frith.client import requests, responses
from frith.client.kinds import JobKind
from frith.client.responses import BudgetResponse, JobResponse
from frith.learners import BY_NAME
from frith.privacy.budget import Budget
from frith.privacy.exact import show
from frith.server.auth import roles
from frith.server.auth.caller import Called, Caller
from frith.server.budget import accounts, tables
from frith.server.budget.accounts import account_document
from frith.server.budget.amounts import read_budget
from frith.server.budget.member_view import View
from frith.server.budget.policies import read_policy
from frith.server.jobs import history, queue
from frith.server.jobs.requests import JobRequest, ask_to_train, parameters_of, summary
from frith.server.sources import shown

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
def list_learners(caller: Called) -> list[responses.LearnerInfo]:
    """The learners and the parameters that a request may set."""
    return [
        responses.LearnerInfo(name=name, summary=summary(kind), parameters=parameters_of(kind))
        for name, kind in BY_NAME.items()
    ]


@router.get("/connections")
def list_connections(caller: Called) -> list[responses.ConnectionInfo]:
    """Where tables can be registered from, as the operator declared it. For curators."""
    found = caller.context.settings.connections
    return [
        responses.ConnectionInfo(name=n, kind=c.kind, queries=c.queries) for n, c in found.items()
    ]


@router.get("/tables")
def list_tables(caller: Called) -> list[responses.TableInfo]:
    """The tables that you may ask about."""
    with caller.read() as session:
        views = tables.list_views(session, caller.member)
        return [_table(session, view, caller) for view in views]


@router.post("/tables", status_code=201)
def register_table(asked: requests.TableRequest, caller: Called) -> responses.TableInfo:
    """Register a table with its reviewed domain and its policy. For curators; it is theirs then."""
    tables.register_request(caller.context, asked, caller.member.name, caller.act)
    return get_table(asked.name, caller)


@router.get("/tables/{table}")
def get_table(table: str, caller: Called) -> responses.TableInfo:
    """One table: its domain, as far as your grant goes, and its policy."""
    with caller.read() as session:
        return _table(session, tables.see(session, table, caller.member), caller)


@router.put("/tables/{table}/policy")
def set_policy(table: str, asked: requests.PolicyRequest, caller: Called) -> responses.TableInfo:
    """Replace the policy. For its curators."""
    policy = read_policy(asked)
    with caller.act("set policy", table) as session:
        tables.update_policy(caller.context, session, table, policy)
    return get_table(table, caller)


@router.post("/tables/{table}/version")
def raise_version(table: str, caller: Called) -> responses.TableInfo:
    """State that the records have changed: repeated requests are new ones. For its curators."""
    tables.raise_version(caller.context, table, caller.act, caller.member.name)
    return get_table(table, caller)


@router.post("/tables/{table}/batches", status_code=201)
def add_batch(table: str, asked: requests.BatchRequest, caller: Called) -> responses.TableInfo:
    """Register further records, to update random decision forests with. For its curators."""
    tables.add_batch_request(caller.context, table, asked, caller.member.name, caller.act)
    return get_table(table, caller)


@router.get("/tables/{table}/grants")
def list_grants(table: str, caller: Called) -> list[responses.Grant]:
    """The grants of a table. For its curators."""
    with caller.read() as session:
        tables.get_table(session, table)
        return [tables.grant_document(g) for g in tables.list_grants(session, table)]


@router.put("/tables/{table}/grants/{member}")
def grant(table: str, member: str, asked: requests.GrantRequest, caller: Called) -> responses.Grant:
    """Let an analyst ask about a table, or about some of its attributes. For its curators."""
    epsilon = None if asked.epsilon is None else show(read_budget(asked.epsilon).epsilon)
    with caller.act("grant", f"{table}/{member}") as session:
        given = tables.grant(
            caller.context, session, table, member, columns=asked.columns, epsilon=epsilon
        )
        return tables.grant_document(given)


@router.delete("/tables/{table}/grants/{member}", status_code=204)
def withdraw(table: str, member: str, caller: Called) -> None:
    """Withdraw a grant. For its curators."""
    with caller.act("withdraw", f"{table}/{member}") as session:
        tables.withdraw(caller.context, session, table, member)


@router.get("/tables/{table}/curators")
def list_curators(table: str, caller: Called) -> list[str]:
    """Who curates a table. For operators, curators and auditors."""
    with caller.read() as session:
        tables.get_table(session, table)
        return roles.curators_of(session, table)


@router.put("/tables/{table}/curators/{member}", status_code=204)
def add_curator(table: str, member: str, caller: Called) -> None:
    """Let a member curate a table. For operators."""
    with caller.act("add curator", f"{table}/{member}") as session:
        roles.add_curator(caller.context, session, table, member)


@router.delete("/tables/{table}/curators/{member}", status_code=204)
def remove_curator(table: str, member: str, caller: Called) -> None:
    """Let a member curate a table no longer. For operators."""
    with caller.act("remove curator", f"{table}/{member}") as session:
        roles.remove_curator(session, table, member)


@router.get("/tables/{table}/budget")
def get_budget(table: str, caller: Called) -> BudgetResponse:
    """What you have spent and have left on a table and its batches.

    Its curators, operators and auditors see every account.
    """
    with caller.read() as session:
        view = tables.see(session, table, caller.member)
        whole, own = accounts.states(caller.context, session, view, caller.member.name)
        sees_whole = tables.sees_whole(session, caller.member, table)
        own_only = BudgetResponse(
            table=table,
            own=account_document(own),
            renewal=view.policy.renewal,
            batches=[
                _batch(session, view, caller, b, sees_whole)
                for b in tables.list_disjoint(session, table)
            ],
        )
        if not sees_whole:
            return own_only
        analysts = accounts.analyst_states(caller.context, session, view)
        everybody = [account_document(state) for state in analysts.values()]
        return own_only.model_copy(update={"whole": account_document(whole), "analysts": everybody})


@router.post("/tables/{table}/forests", status_code=202)
def train(
    table: str, asked: requests.ForestRequest, caller: Called, key: Key = None
) -> JobResponse:
    """Ask for a forest. Its cost is reserved now and charged for good when it starts."""
    return _ask_for_forest(JobKind.TRAIN, table, asked, caller, key)


@router.post("/tables/{table}/dry-runs", status_code=202)
def dry_run(
    table: str, asked: requests.ForestRequest, caller: Called, key: Key = None
) -> JobResponse:
    """Train on synthetic records drawn from the domain alone. Free; reveals nothing about the table."""
    return _ask_for_forest(JobKind.DRY_RUN, table, asked, caller, key)


def _ask_for_forest(
    kind: str, table: str, asked: requests.ForestRequest, caller: Caller, key: str | None
) -> JobResponse:
    budget = read_budget(asked.epsilon, asked.delta)
    with caller.act("ask", table) as session:
        view = tables.see(session, table, caller.member)
        request = read_request(kind, asked, budget, view)
        job = queue.accept(
            caller.context, session, view, caller.member, request, key, reason=asked.reason
        )
        return history.describe(caller.context, session, job)


def read_request(
    kind: str, asked: requests.ForestRequest, budget: Budget, view: View
) -> JobRequest:
    """The request for a forest, if the policy allows it."""
    learner = asked.learner or view.learner
    request = ask_to_train(kind, learner, budget, asked.parameters, view.domain)
    view.policy.check(learner, budget)
    return request


def _table(session: Any, view: View, caller: Caller) -> responses.TableInfo:
    is_curator = roles.curates(session, caller.member, view.name)
    return responses.TableInfo(
        name=view.name,
        title=view.table.title,
        version=view.table.version,
        policy=view.policy.to_json(),
        renewal=view.policy.renewal,
        learner=view.learner,
        domain=view.domain,
        batches=[responses.Batch.read(b) for b in tables.list_batches(session, view.name)],
        source=shown(view.table.source) if is_curator else None,
    )


def _batch(
    session: Any, view: View, caller: Caller, batch: str, sees_whole: bool
) -> responses.BatchBudget:
    whole, own = accounts.states(caller.context, session, view, caller.member.name, batch)
    shown = account_document(whole) if sees_whole else None
    return responses.BatchBudget(batch=batch, own=account_document(own), whole=shown)
