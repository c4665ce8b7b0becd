"""Tables as an analyst sees them: what there is, what is left, and the form to train."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse, Response
from sqlalchemy.orm import Session

from frith.client.kinds import JobKind
from frith.privacy.budget import Budget
from frith.privacy.exact import exact
from frith.server.budget import accounts, tables
from frith.server.budget.amounts import read_budget
from frith.server.budget.tables import View
from frith.server.jobs import history, queue
from frith.server.jobs.requests import ask_to_train
from frith.server.problems import Problem
from frith.server.schema import Job
from frith.server.web import texts
from frith.server.web.forms import NOTHING, Posted, Sent
from frith.server.web.learners import offers, read_parameters
from frith.server.web.page_request import Visit, Visited
from frith.server.web.prices import price

router = APIRouter()
_HISTORY = 25  # jobs listed on a table's page


@router.get("/")
def home(visit: Visited) -> HTMLResponse:
    with visit.read() as session:
        views = tables.list_views(session, visit.member)
        cards = [{"view": v, "account": own_account(visit, session, v)} for v in views]
    return visit.show("home.html", cards=cards)


@router.get("/tables/{table}")
def show_table(table: str, visit: Visited) -> HTMLResponse:
    return _table_page(visit, table, NOTHING)


@router.post("/tables/{table}/forests")
def train(sent: Posted, table: str, visit: Visited) -> Response:
    """The buttons of the form: a forest, a dry run of one, or the price again."""
    kind = JobKind.DRY_RUN if sent.text("kind") == JobKind.DRY_RUN else JobKind.TRAIN
    if sent.text("kind") == "quote":  # of a browser without scripts
        return _table_page(visit, table, sent)
    try:
        job = _ask(visit, table, kind, sent)
    except Problem as problem:
        return _table_page(visit, table, sent, problem)
    return visit.go("jobs", job.id)


@router.get("/tables/{table}/quote")
def quote(
    table: str, visit: Visited, epsilon: str = "", delta: str = "", learner: str = ""
) -> JSONResponse:
    """What the form would cost."""
    with visit.read() as session:
        view = tables.see(session, table, visit.member)
        return JSONResponse(_price(visit, session, view, epsilon, delta, learner))


def _price(
    visit: Visit, session: Session, view: View, epsilon: str, delta: str, learner: str = ""
) -> dict[str, Any]:
    def check(budget: Budget) -> None:
        view.policy.check(learner or None, budget)

    return price(visit, session, view, epsilon, delta, check)


def own_account(
    visit: Visit, session: Session, view: View, batch: str | None = None
) -> texts.Account:
    """The visitor's own; `batch` is one with accounts of its own."""
    _, own = accounts.states(visit.context, session, view, visit.member.name, batch)
    return texts.Account(own)


def slider(view: View) -> dict[str, Any]:
    """The ends of the epsilon slider: what one request may ask at all, whatever is left."""
    policy = view.policy
    most = float(exact(policy.request_epsilon or policy.analyst_budget(view.cap).epsilon))
    return {"most": f"{most:g}", "step": f"{most / 200:g}", "least": policy.least_epsilon}


def _ask(visit: Visit, table: str, kind: str, sent: Sent) -> Job:
    budget = read_budget(sent.text("epsilon"), sent.text("delta") or "0")
    with visit.write() as session:
        view = tables.see(session, table, visit.member)
        learner = sent.text("learner") or view.learner
        parameters = read_parameters(learner, sent)
        asked = ask_to_train(kind, learner, budget, parameters, view.domain)
        view.policy.check(learner, budget)
        return queue.accept(visit.context, session, view, visit.member, asked)


def _table_page(
    visit: Visit, table: str, sent: Sent, problem: Problem | None = None
) -> HTMLResponse:
    epsilon = sent.text("epsilon") or "0.5"
    with visit.read() as session:
        view = tables.see(session, table, visit.member)
        found = history.list_jobs(session, visit.member, Job.table == table, limit=_HISTORY)
        values = {
            "view": view,
            "account": own_account(visit, session, view),
            "jobs": [history.describe(visit.context, session, job) for job in found],
            "batches": [
                (b.name, own_account(visit, session, view, b.name) if b.disjoint else None)
                for b in tables.list_batches(session, table)
            ],
            "price": _price(visit, session, view, epsilon, sent.text("delta")),
        }
    return visit.show(
        "table.html",
        problem.status if problem else 200,
        problem=problem,
        sent=sent,
        epsilon=epsilon,
        offers=offers(view.policy.learners, sent),
        slider=slider(view),
        **values,
    )
