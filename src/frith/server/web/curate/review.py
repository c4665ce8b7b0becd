"""One table under review: its policy, its batches, its grants, and who spent what when."""

from __future__ import annotations

import json
from datetime import datetime
from fractions import Fraction
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response
from sqlalchemy.orm import Session

from frith.client import documents as d
from frith.learners import BY_NAME
from frith.ledger import Receipt
from frith.ledger.entries import CHARGE
from frith.privacy.exact import show
from frith.server.auth import members
from frith.server.budget import accounts, tables
from frith.server.budget.amounts import read_budget
from frith.server.budget.policies import read_policy
from frith.server.context import Context
from frith.server.problems import Problem
from frith.server.web import charts, texts
from frith.server.web.curate.register import policy_asked
from frith.server.web.forms import NOTHING, Posted, Sent, read_document
from frith.server.web.page_request import Curating, Visit

router = APIRouter(prefix="/curate/tables/{table}")
_SHOWN = 100  # entries listed, the newest


@router.get("")
def review(table: str, visit: Curating) -> HTMLResponse:
    return _review_page(visit, table)


@router.post("/policy")
def set_policy(sent: Posted, table: str, visit: Curating) -> Response:
    try:
        policy = read_policy(policy_asked(sent))
        with visit.write() as session:
            tables.update_policy(visit.context, session, table, policy)
    except Problem as problem:
        return _review_page(visit, table, sent, problem, "policy")
    return visit.go("curate", "tables", table, done="policy", at="policy")


@router.post("/version")
def raise_version(sent: Posted, table: str, visit: Curating) -> Response:
    with visit.write() as session:
        tables.raise_version(session, table)
    return visit.go("curate", "tables", table, done="version")


@router.post("/batches")
def add_batch(sent: Posted, table: str, visit: Curating) -> Response:
    data = {"name": sent.text("name"), "source": sent.text("source")}
    try:
        asked = read_document(d.BatchRequest, data | {"disjoint": sent.has("disjoint")})
        tables.add_batch_request(visit.context, table, asked)
    except Problem as problem:
        return _review_page(visit, table, sent, problem, "batches")
    return visit.go("curate", "tables", table, done="batch", at="batches")


@router.post("/grants")
def grant(sent: Posted, table: str, visit: Curating) -> Response:
    cap = sent.text("epsilon")
    try:
        epsilon = show(read_budget(cap).epsilon) if cap else None
        with visit.write() as session:
            names = tables.domain_of(tables.get_table(session, table)).names
            columns = [name for name in names if name in set(sent.all("columns"))]
            wanted = None if len(columns) == len(names) else columns
            member = sent.text("member")
            tables.grant(visit.context, session, table, member, wanted, epsilon)
    except Problem as problem:
        return _review_page(visit, table, sent, problem, "grants")
    return visit.go("curate", "tables", table, done="granted", at="grants")


@router.post("/grants/{member}/withdraw")
def withdraw(sent: Posted, table: str, member: str, visit: Curating) -> Response:
    with visit.write() as session:
        tables.withdraw(session, table, member)
    return visit.go("curate", "tables", table, done="withdrawn", at="grants")


def _review_page(
    visit: Visit,
    table: str,
    sent: Sent = NOTHING,
    problem: Problem | None = None,
    at: str = "",
) -> HTMLResponse:
    """The page; `at` names the form that `sent` and `problem` belong to."""
    with visit.read() as session:
        view = tables.see(session, table, visit.member)
        values = _facts(visit.context, session, view, visit.member.name)
        people = [m.name for m in members.list_members(session) if not m.is_curator]
    return visit.show(
        "curate/review.html",
        problem.status if problem else 200,
        view=view,
        source=tables.masked(view.table.source),
        policy=_policy_fields(view, sent) if at == "policy" else view.policy.to_json(),
        learners=list(BY_NAME),
        analysts=people,
        sent=sent,
        problem=problem,
        at=at,
        **values,
    )


def _facts(context: Context, session: Session, view: tables.View, me: str) -> dict[str, Any]:
    entries = accounts.entries_about(context, session, view.name)
    whole, _ = accounts.states(context, session, view, me)
    states = accounts.analyst_states(context, session, view)
    lines = spend_lines(entries)
    until = context.clock().timestamp()
    return {
        "account": texts.Account(whole),
        "accounts": {accounts.member_of(s.name): texts.Account(s) for s in states},
        "grants": [_grant(g) for g in tables.list_grants(session, view.name)],
        "batches": [(b, tables.masked(b.source)) for b in tables.list_batches(session, view.name)],
        "entries": entries[::-1][:_SHOWN],
        "n_entries": len(entries),
        "lines": lines,
        "chart": charts.steps(lines, until, max((line.last for line in lines), default=0)),
    }


def spend_lines(entries: list[Receipt]) -> list[charts.Line]:
    """What each analyst was charged in all, over all periods and batches, step by step."""
    points: dict[str, list[tuple[float, float]]] = {}
    totals: dict[str, Fraction] = {}
    for entry in entries:
        member = accounts.member_of(entry.account)
        if member is None or entry.kind != CHARGE:
            continue
        totals[member] = totals.get(member, Fraction(0)) + entry.amount
        at = datetime.fromisoformat(entry.at).timestamp()
        points.setdefault(member, []).append((at, float(totals[member])))
    named = enumerate(sorted(points.items()))
    return [charts.Line(name, found, charts.color_of(i)) for i, (name, found) in named]


def _grant(given: Any) -> dict[str, Any]:
    columns = None if given.columns is None else json.loads(given.columns)
    return {"member": given.member, "columns": columns, "epsilon": given.epsilon}


def _policy_fields(view: tables.View, sent: Sent) -> dict[str, Any]:
    """What was typed, over what is saved."""
    saved = view.policy.to_json()
    return {name: sent.text(name) for name in saved} | {"learners": sent.all("learners")}
