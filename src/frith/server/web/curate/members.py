"""Members and their tokens."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.client import documents as d
from frith.server.auth import members
from frith.server.problems import Problem
from frith.server.web.account import issue
from frith.server.web.forms import NOTHING, Posted, Sent, read_document
from frith.server.web.page_request import Curating, Visit

router = APIRouter(prefix="/curate/members")


@router.get("")
def list_members(visit: Curating) -> HTMLResponse:
    return _members_page(visit)


@router.post("")
def add(sent: Posted, visit: Curating) -> Response:
    try:
        asked = read_document(d.MemberRequest, sent.given("name", "role", "subject"))
        with visit.write() as session:
            members.add_member(visit.context, session, asked.name, asked.role, asked.subject)
    except Problem as problem:
        return _members_page(visit, problem.status, problem=problem, sent=sent, at="member")
    return visit.go("curate", "members", done="member", at=f"member-{asked.name}")


@router.post("/{member}/tokens")
def create_token(sent: Posted, member: str, visit: Curating) -> Response:
    try:
        issued = issue(visit, member, sent)
    except Problem as problem:
        return _members_page(visit, problem.status, problem=problem, sent=sent, at=member)
    return _members_page(visit, issued=issued)


@router.post("/{member}/disable")
def disable(sent: Posted, member: str, visit: Curating) -> Response:
    return _set_disabled(visit, member, True)


@router.post("/{member}/enable")
def enable(sent: Posted, member: str, visit: Curating) -> Response:
    return _set_disabled(visit, member, False)


def _set_disabled(visit: Visit, member: str, disabled: bool) -> Response:
    with visit.write() as session:
        members.set_disabled(visit.context, session, member, disabled, visit.member)
    done = "disabled" if disabled else "enabled"
    return visit.go("curate", "members", done=done, at=f"member-{member}")


@router.post("/tokens/{token}/revoke")
def revoke(sent: Posted, token: str, visit: Curating) -> Response:
    with visit.write() as session:
        found = members.revoke_token(visit.context, session, token, visit.member)
    return visit.go("curate", "members", done="revoked", at=f"member-{found.member}")


def _members_page(
    visit: Visit,
    status: int = 200,
    problem: Problem | None = None,
    issued: members.Issued | None = None,
    sent: Sent = NOTHING,
    at: str = "",
) -> HTMLResponse:
    with visit.read() as session:
        people = members.list_members(session)
        tokens = members.list_tokens(session)
    return visit.show(
        "curate/members.html",
        status,
        people=[(m, [t for t in tokens if t.member == m.name][::-1]) for m in people],
        valid={t.id for t in tokens if members.is_valid(visit.context, t)},
        days=visit.context.settings.token_days,
        problem=problem,
        issued=issued,
        sent=sent,
        at=at,
    )
