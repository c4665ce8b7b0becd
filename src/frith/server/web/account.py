"""One's own tokens."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.client import documents as d
from frith.server.auth import members
from frith.server.problems import Problem
from frith.server.web.forms import NOTHING, Posted, Sent, read_document
from frith.server.web.page_request import Visit, Visited

router = APIRouter()


@router.get("/account")
def account(visit: Visited) -> HTMLResponse:
    return _account_page(visit)


@router.post("/account/tokens")
def create(sent: Posted, visit: Visited) -> Response:
    try:
        issued = issue(visit, visit.member.name, sent)
    except Problem as problem:
        return _account_page(visit, problem.status, problem=problem, sent=sent)
    return _account_page(visit, issued=issued)


@router.post("/account/tokens/{token}/revoke")
def revoke(sent: Posted, token: str, visit: Visited) -> Response:
    with visit.write() as session:
        members.revoke_token(visit.context, session, token, visit.member)
    return visit.go("account", done="revoked")


def issue(visit: Visit, member: str, sent: Sent) -> members.Issued:
    """A new token by the form's note and days."""
    asked = read_document(d.TokenRequest, sent.given("note", "days"))
    with visit.write() as session:
        return members.issue_token(
            visit.context, session, member, asked.note, asked.days, visit.member
        )


def _account_page(
    visit: Visit,
    status: int = 200,
    problem: Problem | None = None,
    issued: members.Issued | None = None,
    sent: Sent = NOTHING,
) -> HTMLResponse:
    with visit.read() as session:
        tokens = members.list_tokens(session, visit.member.name)
    valid = {t.id for t in tokens if members.is_valid(visit.context, t)}
    days = visit.context.settings.token_days
    return visit.show(
        "account.html", status, tokens=tokens[::-1], valid=valid, problem=problem, issued=issued,
        sent=sent, days=days,
    )  # fmt: skip
