"""The member's own tokens."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.client.requests import TokenRequest
from frith.server.auth import members
from frith.server.problems import Problem
from frith.server.web.forms import EMPTY, Form, PostedForm, read_document
from frith.server.web.page_request import Page, PageRequest

router = APIRouter()


@router.get("/account")
def account(page: Page) -> HTMLResponse:
    return _account_page(page)


@router.post("/account/tokens")
def create(form: PostedForm, page: Page) -> Response:
    try:
        issued = issue(page, page.member.name, form)
    except Problem as problem:
        return _account_page(page, problem.status, problem=problem, form=form)
    return _account_page(page, issued=issued)


@router.post("/account/tokens/{token}/revoke")
def revoke(form: PostedForm, token: str, page: Page) -> Response:
    with page.act("revoke token", token) as session:
        members.revoke_token(page.context, session, token, page.member)
    return page.go("account", done="revoked")


def issue(page: PageRequest, member: str, form: Form) -> members.Issued:
    """A new token with the form's note and days."""
    scopes = form.all("scopes") or None
    asked = read_document(TokenRequest, form.given("note", "days") | {"scopes": scopes})
    with page.act("create token", member) as session:
        return members.issue_token(
            page.context, session, member, asked.note, asked.days, page.credential, asked.scopes
        )


def _account_page(
    page: PageRequest,
    status: int = 200,
    problem: Problem | None = None,
    issued: members.Issued | None = None,
    form: Form = EMPTY,
) -> HTMLResponse:
    with page.read() as session:
        tokens = members.list_tokens(session, page.member.name)
    valid = {t.id for t in tokens if members.is_valid(page.context, t)}
    days = page.context.settings.token_days
    return page.show(
        "account.html", status, tokens=tokens[::-1], valid=valid, problem=problem, issued=issued,
        form=form, days=days,
    )  # fmt: skip
