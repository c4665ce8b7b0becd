"""Tables as an analyst sees them: the tables, the budget left, and the form to train."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse, Response
from sqlalchemy.orm import Session

from frith.client.kinds import JobKind
from frith.privacy.budget import Budget
from frith.privacy.exact import exact
from frith.server.auth import roles
from frith.server.budget import accounts, tables
from frith.server.budget.amounts import read_budget
from frith.server.budget.member_view import View
from frith.server.jobs import history, queue
from frith.server.jobs.requests import JobRequest, ask_to_train
from frith.server.problems import Problem
from frith.server.schema import Job
from frith.server.web import texts
from frith.server.web.confirming import confirm, is_confirmed
from frith.server.web.forms import EMPTY, Form, PostedForm, read_reason
from frith.server.web.learners import offers, read_parameters
from frith.server.web.page_request import Page, PageRequest
from frith.server.web.prices import price

router = APIRouter()
_HISTORY = 25  # jobs listed on a table's page


@router.get("/")
def home(page: Page) -> HTMLResponse:
    with page.read() as session:
        views = tables.list_views(session, page.member)
        cards = [{"view": v, "account": own_account(page, session, v)} for v in views]
    return page.show("home.html", cards=cards)


@router.get("/tables/{table}")
def show_table(table: str, page: Page) -> HTMLResponse:
    return _table_page(page, table, EMPTY)


@router.post("/tables/{table}/forests")
def train(form: PostedForm, table: str, page: Page) -> Response:
    """The form's three buttons: train, dry run, or show the price."""
    kind = JobKind.DRY_RUN if form.text("kind") == JobKind.DRY_RUN else JobKind.TRAIN
    if form.text("kind") == "quote":  # sent by browsers without scripts
        return _table_page(page, table, form)
    question = _confirm(page, table, form) if kind is JobKind.TRAIN else None
    if question is not None:
        return question
    try:
        job = _ask(page, table, kind, form)
    except Problem as problem:
        return _table_page(page, table, form, problem)
    return page.go("jobs", job.id)


@router.get("/tables/{table}/quote")
def quote(
    table: str, page: Page, epsilon: str = "", delta: str = "", learner: str = ""
) -> JSONResponse:
    """What the form would cost."""
    with page.read() as session:
        view = tables.see(session, table, page.member)
        return JSONResponse(_price(page, session, view, epsilon, delta, learner))


def _price(
    page: PageRequest, session: Session, view: View, epsilon: str, delta: str, learner: str = ""
) -> dict[str, Any]:
    def check(budget: Budget) -> None:
        view.policy.check(learner or None, budget)

    return price(page, session, view, epsilon, delta, check)


def own_account(
    page: PageRequest, session: Session, view: View, batch: str | None = None
) -> texts.Account:
    """The member's own account; `batch` is one with its own accounts."""
    _, own = accounts.states(page.context, session, view, page.member.name, batch)
    return texts.Account(own)


def slider(view: View) -> dict[str, Any]:
    """The ends of the epsilon slider: what one request may ask for, whatever is left."""
    policy = view.policy
    largest = float(exact(policy.request_epsilon or policy.analyst_budget(view.cap).epsilon))
    return {"largest": f"{largest:g}", "step": f"{largest / 200:g}", "least": policy.least_epsilon}


def _confirm(page: PageRequest, table: str, form: Form) -> HTMLResponse | None:
    """The page that asks whether to spend; None after the answer, or if the request will be refused."""
    with page.read() as session:
        try:
            view = tables.see(session, table, page.member)
            _read_request(view, JobKind.TRAIN, form)
            read_reason(form)
        except Problem:
            return None
        learner = form.text("learner") or view.learner
        found = _price(page, session, view, form.text("epsilon"), form.text("delta"), learner)
        if is_confirmed(form, found):
            return None
        account = own_account(page, session, view)
    return confirm(page, form, found, account, f"Train {learner} on {table}.", f"/tables/{table}")


def _read_request(view: View, kind: str, form: Form) -> JobRequest:
    budget = read_budget(form.text("epsilon"), form.text("delta") or "0")
    learner = form.text("learner") or view.learner
    parameters = read_parameters(learner, view.learners.get(learner), form)
    asked = ask_to_train(kind, learner, budget, parameters, view.domain)
    view.policy.check(learner, budget)
    return asked


def _ask(page: PageRequest, table: str, kind: str, form: Form) -> Job:
    reason = read_reason(form)
    with page.act("ask", table) as session:
        view = tables.see(session, table, page.member)
        asked = _read_request(view, kind, form)
        return queue.accept(page.context, session, view, page.member, asked, reason=reason)


def _table_page(
    page: PageRequest, table: str, form: Form, problem: Problem | None = None
) -> HTMLResponse:
    epsilon = form.text("epsilon") or "0.5"
    with page.read() as session:
        view = tables.see(session, table, page.member)
        found = history.list_jobs(session, page.member, Job.table == table, limit=_HISTORY)
        values = {
            "view": view,
            "is_curator": roles.curates(session, page.member, table),
            "account": own_account(page, session, view),
            "jobs": history.describe_all(page.context, session, found),
            "batches": [
                (b.name, own_account(page, session, view, b.name) if b.disjoint else None)
                for b in tables.list_batches(session, table)
            ],
            "price": _price(page, session, view, epsilon, form.text("delta")),
        }
    return page.show(
        "table.html",
        problem.status if problem else 200,
        problem=problem,
        form=form,
        epsilon=epsilon,
        offers=offers(view.learners, form),
        slider=slider(view),
        **values,
    )
