"""Register a table: draft its domain from a file, review it, check it, set a policy, save."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.client.requests import PolicyRequest, TableRequest
from frith.domain.drafted import Draft
from frith.engines.check import check
from frith.engines.draft import draft_domain
from frith.errors import FrithError
from frith.learners import BY_NAME
from frith.server.auth.roles import curated_by
from frith.server.budget import tables
from frith.server.budget.apart import read_apart
from frith.server.budget.overlaps import Overlaps
from frith.server.connections import Folder
from frith.server.problems import Problem, invalid
from frith.server.sources import Source
from frith.server.web.curate.columns import Columns
from frith.server.web.forms import EMPTY, Form, PostedForm, read_document
from frith.server.web.page_request import Page, PageRequest

R = TypeVar("R")
router = APIRouter(prefix="/curate")
_AMOUNTS = (
    "epsilon", "delta", "analyst_epsilon", "request_epsilon", "least_epsilon", "approval_epsilon",
)  # fmt: skip
_TARGET = 200  # characters of a file's name in the log


@router.get("/register")
def new_table(page: Page) -> HTMLResponse:
    return _form(page, EMPTY)


@router.post("/register")
def register(form: PostedForm, page: Page) -> Response:
    """The form's buttons: draft a domain to review, column by column, check it, or register the table."""
    try:
        if form.has("draft"):
            draft = _draft(page, form)
            return _form(page, form, domain=str(draft), columns=Columns.of(draft))
        if form.has("columns"):
            columns = Columns.sent(form)
            if columns is not None:
                public = columns.public()
                return _form(page, form, domain=public, columns=columns, shown=public)
        if form.has("check"):
            return _form(page, form, report=_check(page, form))
        if (columns := Columns.sent(form)) is not None:
            columns.check_shown(form.text("columns-shown"))
        asked = read_document(TableRequest, _request(form))
        tables.register_request(page.context, asked, page.member.name, page.act)
    except Problem as problem:
        return _form(page, form, problem)
    return page.go("curate", "tables", asked.name, done="registered", at="grants")


def policy_request(form: Form) -> PolicyRequest:
    """The form's policy; checking no learner is not the same as checking all."""
    data: dict[str, Any] = form.given(*_AMOUNTS, "renewal_days")
    return read_document(PolicyRequest, data | {"learners": form.all("learners")})


def source_fields(form: Form) -> dict[str, str]:
    """The connection, and what is picked in it."""
    return {"connection": form.text("connection")} | form.given("table", "query")


def _request(form: Form) -> dict[str, Any]:
    words = {name: form.text(name) for name in ("name", "domain", "title")}
    return (
        words | source_fields(form) | {"signed": form.has("signed"), "policy": policy_request(form)}
    )


def _draft(page: PageRequest, form: Form) -> Draft:
    """A domain drafted from the records: exact facts, shown to the curator alone and not stored."""
    label, person = form.text("label"), form.text("person") or None
    if not form.text("table") or not label:
        raise invalid("name the table and the label's column to draft a domain")
    leave_out = [name.strip() for name in form.text("leave_out").splitlines() if name.strip()]
    return _read(page, form, "draft domain", draft_domain, label, person, leave_out)


def _check(page: PageRequest, form: Form) -> str:
    """What the records hold outside the domain: exact, shown to the curator alone and not stored."""
    domain = tables.read_domain(form.text("domain"))
    return str(_read(page, form, "check domain", check, domain))


def _read(page: PageRequest, form: Form, action: str, read: Callable[..., R], *given: Any) -> R:
    """What `read` returns for the files that the form names; errors quote no record.

    Before the files are opened, records who reads which of them, and nothing of what they hold. Only a
    table's curators see records that the table already has.
    """
    name, table = form.text("connection"), form.text("table")
    connection = page.context.settings.connections.get(name)
    if not isinstance(connection, Folder):
        raise invalid(
            "only files can be drafted from and checked here; for a database, write the domain, and "
            "check it at your desk with `frith check`"
        )
    with page.act(action, f"{name}/{table}"[:_TARGET]):
        pass
    overlaps = Overlaps(page.context, Source(name, table))
    with page.read() as session:
        if not set(overlaps.tables(session)) <= set(curated_by(session, page.member)):
            raise invalid("these records are a table's already, and only its curators look at them")
    try:
        place = connection.place(table, None)
        return read_apart(page.context.settings, read, place, *given, by=page.member.name)
    except Problem:
        raise
    except FrithError as error:
        raise invalid(connection.hide(str(error))) from None


def _columns(form: Form) -> Columns | None:
    """The columns that the form carries, to be shown again."""
    try:
        return Columns.sent(form)
    except Problem:
        return None


def _form(
    page: PageRequest,
    form: Form,
    problem: Problem | None = None,
    domain: str | None = None,
    report: str | None = None,
    columns: Columns | None = None,
    shown: str | None = None,
) -> HTMLResponse:
    is_new = not form.fields
    return page.show(
        "curate/register.html",
        problem.status if problem else 200,
        form=form,
        problem=problem,
        domain=form.text("domain") if domain is None else domain,
        is_draft=form.has("draft") and domain is not None,
        columns=_columns(form) if columns is None else columns,
        shown=form.text("columns-shown") if shown is None else shown,
        report=report,
        connections=page.context.settings.connections,
        learners=list(BY_NAME),
        chosen=list(BY_NAME) if is_new else form.all("learners"),
    )
