"""Members and their tokens."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.client import documents as d
from frith.server.auth import members
from frith.server.problems import Problem
from frith.server.web.account import issue
from frith.server.web.forms import EMPTY, Form, PostedForm, read_document
from frith.server.web.page_request import CuratorPage, PageRequest

router = APIRouter(prefix="/curate/members")


@router.get("")
def list_members(page: CuratorPage) -> HTMLResponse:
    return _members_page(page)


@router.post("")
def add(form: PostedForm, page: CuratorPage) -> Response:
    try:
        asked = read_document(d.MemberRequest, form.given("name", "role", "subject"))
        with page.write() as session:
            members.add_member(page.context, session, asked.name, asked.role, asked.subject)
    except Problem as problem:
        return _members_page(page, problem.status, problem=problem, form=form, at="member")
    return page.go("curate", "members", done="member", at=f"member-{asked.name}")


@router.post("/{member}/tokens")
def create_token(form: PostedForm, member: str, page: CuratorPage) -> Response:
    try:
        issued = issue(page, member, form)
    except Problem as problem:
        return _members_page(page, problem.status, problem=problem, form=form, at=member)
    return _members_page(page, issued=issued)


@router.post("/{member}/disable")
def disable(form: PostedForm, member: str, page: CuratorPage) -> Response:
    return _set_disabled(page, member, True)


@router.post("/{member}/enable")
def enable(form: PostedForm, member: str, page: CuratorPage) -> Response:
    return _set_disabled(page, member, False)


def _set_disabled(page: PageRequest, member: str, disabled: bool) -> Response:
    with page.write() as session:
        members.set_disabled(page.context, session, member, disabled, page.member)
    done = "disabled" if disabled else "enabled"
    return page.go("curate", "members", done=done, at=f"member-{member}")


@router.post("/tokens/{token}/revoke")
def revoke(form: PostedForm, token: str, page: CuratorPage) -> Response:
    with page.write() as session:
        found = members.revoke_token(page.context, session, token, page.member)
    return page.go("curate", "members", done="revoked", at=f"member-{found.member}")


def _members_page(
    page: PageRequest,
    status: int = 200,
    problem: Problem | None = None,
    issued: members.Issued | None = None,
    form: Form = EMPTY,
    at: str = "",
) -> HTMLResponse:
    with page.read() as session:
        people = members.list_members(session)
        tokens = members.list_tokens(session)
    return page.show(
        "curate/members.html",
        status,
        people=[(m, [t for t in tokens if t.member == m.name][::-1]) for m in people],
        valid={t.id for t in tokens if members.is_valid(page.context, t)},
        days=page.context.settings.token_days,
        problem=problem,
        issued=issued,
        form=form,
        at=at,
    )
