"""One table for curators: its policy, batches, grants, and who spent how much when."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from sqlalchemy.orm import Session

from frith.client.kinds import Role
from frith.client.requests import BatchRequest
from frith.learners import BY_NAME
from frith.privacy.exact import show
from frith.server.auth import members, roles
from frith.server.budget import accounts, past_spending, proposals, tables
from frith.server.budget.amounts import read_budget
from frith.server.budget.member_view import View
from frith.server.budget.policies import read_policy
from frith.server.context import Context
from frith.server.problems import Problem
from frith.server.sources import shown
from frith.server.web import charts, texts
from frith.server.web.curate.register import policy_request, source_fields
from frith.server.web.forms import EMPTY, Form, PostedForm, read_document, read_reason
from frith.server.web.page_request import Page, PageRequest

router = APIRouter(prefix="/curate/tables/{table}")
_SHOWN = 100  # entries listed, the newest


@router.get("")
def review(table: str, page: Page) -> HTMLResponse:
    return _review_page(page, table)


@router.post("/policy")
def set_policy(form: PostedForm, table: str, page: Page) -> Response:
    """Save the policy, or propose it if it raises the budget."""
    try:
        asked = policy_request(form)
        policy = read_policy(asked)
        with page.read() as session:
            is_raise = tables.policy_of(tables.get_table(session, table)).is_raised_by(policy)
        if is_raise:
            reason = read_reason(form)
            with page.act("propose raise", table) as session:
                proposals.propose_raise(page.context, session, table, page.member, asked, reason)
            return page.go("curate", "proposals", done="proposed")
        with page.act("set policy", table) as session:
            tables.update_policy(page.context, session, table, policy)
    except Problem as problem:
        return _review_page(page, table, form, problem, "policy")
    return page.go("curate", "tables", table, done="policy", at="policy")


@router.post("/version")
def raise_version(form: PostedForm, table: str, page: Page) -> Response:
    tables.raise_version(page.context, table, page.act, page.member.name)
    return page.go("curate", "tables", table, done="version")


@router.post("/batches")
def add_batch(form: PostedForm, table: str, page: Page) -> Response:
    data = {"name": form.text("name")} | source_fields(form)
    try:
        asked = read_document(BatchRequest, data | {"disjoint": form.has("disjoint")})
        tables.add_batch_request(page.context, table, asked, page.member.name, page.act)
    except Problem as problem:
        return _review_page(page, table, form, problem, "batches")
    return page.go("curate", "tables", table, done="batch", at="batches")


@router.post("/grants")
def grant(form: PostedForm, table: str, page: Page) -> Response:
    cap = form.text("epsilon")
    try:
        epsilon = show(read_budget(cap).epsilon) if cap else None
        with page.act("grant", f"{table}/{form.text('member')}") as session:
            names = tables.domain_of(tables.get_table(session, table)).names
            columns = [name for name in names if name in set(form.all("columns"))]
            wanted = None if len(columns) == len(names) else columns
            member = form.text("member")
            tables.grant(page.context, session, table, member, wanted, epsilon)
    except Problem as problem:
        return _review_page(page, table, form, problem, "grants")
    return page.go("curate", "tables", table, done="granted", at="grants")


@router.post("/grants/{member}/withdraw")
def withdraw(form: PostedForm, table: str, member: str, page: Page) -> Response:
    with page.act("withdraw", f"{table}/{member}") as session:
        tables.withdraw(page.context, session, table, member)
    return page.go("curate", "tables", table, done="withdrawn", at="grants")


def _review_page(
    page: PageRequest,
    table: str,
    form: Form = EMPTY,
    problem: Problem | None = None,
    at: str = "",
) -> HTMLResponse:
    """The page; `at` names the form that was submitted."""
    with page.read() as session:
        view = tables.see(session, table, page.member)
        values = _facts(page.context, session, view, page.member.name)
        names = roles.curators_of(session, table)
        people = [
            m.name
            for m in members.list_members(session)
            if m.role in (Role.ANALYST, Role.CURATOR) and m.name not in names
        ]
    return page.show(
        "curate/review.html",
        problem.status if problem else 200,
        view=view,
        source=shown(view.table.source),
        connections=page.context.settings.connections,
        policy=_policy_fields(view, form) if at == "policy" else _saved(view),
        learners=list(BY_NAME),
        analysts=people,
        curators=names,
        form=form,
        problem=problem,
        at=at,
        **values,
    )


def _facts(context: Context, session: Session, view: View, me: str) -> dict[str, Any]:
    entries = past_spending.recent(session, view.name, _SHOWN)
    whole, _ = accounts.states(context, session, view, me)
    states = accounts.analyst_states(context, session, view)
    lines = spend_lines(past_spending.spending(session, view.name))
    until = context.clock().timestamp()
    return {
        "account": texts.Account(whole),
        "accounts": {member: texts.Account(state) for member, state in states.items()},
        "grants": [tables.grant_document(g) for g in tables.list_grants(session, view.name)],
        "batches": [(b, shown(b.source)) for b in tables.list_batches(session, view.name)],
        "entries": entries,
        "lines": lines,
        "chart": charts.steps(lines, until, max((line.last for line in lines), default=0)),
    }


def spend_lines(spent: list[past_spending.Spent]) -> list[charts.Line]:
    """What each analyst was charged in total, over all periods and batches, step by step."""
    points: dict[str, list[tuple[float, float]]] = {}
    for step in spent:
        points.setdefault(step.member, []).append((step.at, float(step.amount)))
    named = enumerate(sorted(points.items()))
    return [charts.Line(name, found, charts.color_of(i)) for i, (name, found) in named]


def _policy_fields(view: View, form: Form) -> dict[str, Any]:
    """The policy as typed into the form."""
    return {name: form.text(name) for name in _saved(view)} | {"learners": form.all("learners")}


def _saved(view: View) -> dict[str, Any]:
    return {"approval_epsilon": None} | view.policy.to_json()
