"""Register a table: draft its domain from a file, review it, check it, set a policy, save."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.client import documents as d
from frith.engines.check import check
from frith.engines.draft import draft_domain
from frith.errors import FrithError
from frith.learners import BY_NAME
from frith.server.budget import tables
from frith.server.connections import Folder
from frith.server.problems import Problem, invalid
from frith.server.web.forms import EMPTY, Form, PostedForm, read_document
from frith.server.web.page_request import CuratorPage, PageRequest

router = APIRouter(prefix="/curate")
_AMOUNTS = ("epsilon", "delta", "analyst_epsilon", "request_epsilon", "least_epsilon")


@router.get("/register")
def new_table(page: CuratorPage) -> HTMLResponse:
    return _form(page, EMPTY)


@router.post("/register")
def register(form: PostedForm, page: CuratorPage) -> Response:
    """The form's three buttons: draft a domain to review, check it, or register the table."""
    try:
        if form.has("draft"):
            return _form(page, form, domain=_draft(page, form))
        if form.has("check"):
            return _form(page, form, report=_check(page, form))
        asked = read_document(d.TableRequest, _request(form))
        tables.register_request(page.context, asked)
    except Problem as problem:
        return _form(page, form, problem)
    return page.go("curate", "tables", asked.name, done="registered", at="grants")


def policy_request(form: Form) -> d.PolicyRequest:
    """The form's policy; checking no learner is not the same as checking all."""
    data: dict[str, Any] = form.given(*_AMOUNTS, "renewal_days")
    return read_document(d.PolicyRequest, data | {"learners": form.all("learners")})


def source_fields(form: Form) -> dict[str, str]:
    """The connection, and what is picked in it."""
    return {"connection": form.text("connection")} | form.given("table", "query")


def _request(form: Form) -> dict[str, Any]:
    words = {name: form.text(name) for name in ("name", "domain", "title")}
    return (
        words | source_fields(form) | {"signed": form.has("signed"), "policy": policy_request(form)}
    )


def _draft(page: PageRequest, form: Form) -> str:
    """A domain drafted from the records: exact facts, shown to the curator alone and not stored."""
    label, person = form.text("label"), form.text("person") or None
    if not form.text("table") or not label:
        raise invalid("name the table and the label's column to draft a domain")
    leave_out = [name.strip() for name in form.text("leave_out").splitlines() if name.strip()]
    return _read(page, form, lambda files: draft_domain(files, label, person, leave_out))


def _check(page: PageRequest, form: Form) -> str:
    """What the records hold outside the domain: exact, shown to the curator alone and not stored."""
    domain = tables.read_domain(form.text("domain"))
    return _read(page, form, lambda files: check(files, domain))


def _read(page: PageRequest, form: Form, read: Callable[[Path], object]) -> str:
    """What is read off the files that the form names; errors quote no record."""
    connection = page.context.settings.connections.get(form.text("connection"))
    if not isinstance(connection, Folder):
        raise invalid(
            "only files can be drafted from and checked here; for a database, write the domain, and "
            "check it at your desk with `frith check`"
        )
    try:
        return str(read(connection.place(form.text("table"), None)))
    except FrithError as error:
        raise invalid(connection.hide(str(error))) from None
    except (OSError, ValueError):  # its message may quote a record
        raise invalid("the file cannot be read; it may be cut off") from None


def _form(
    page: PageRequest,
    form: Form,
    problem: Problem | None = None,
    domain: str | None = None,
    report: str | None = None,
) -> HTMLResponse:
    is_new = not form.fields
    return page.show(
        "curate/register.html",
        problem.status if problem else 200,
        form=form,
        problem=problem,
        domain=form.text("domain") if domain is None else domain,
        is_draft=domain is not None,
        report=report,
        connections=page.context.settings.connections,
        learners=list(BY_NAME),
        chosen=list(BY_NAME) if is_new else form.all("learners"),
    )
