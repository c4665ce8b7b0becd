"""Members and their tokens."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.client.kinds import Role
from frith.client.requests import MemberRequest
from frith.server.auth import members, roles
from frith.server.auth.acting import tell
from frith.server.budget import tables
from frith.server.problems import Problem
from frith.server.web.account import issue
from frith.server.web.forms import EMPTY, Form, PostedForm, read_document
from frith.server.web.page_request import Page, PageRequest

router = APIRouter(prefix="/curate/members")
_FIELDS = ("name", "role", "subject", "owner", "days")


@router.get("")
def list_members(page: Page) -> HTMLResponse:
    return _members_page(page)


@router.post("")
def add(form: PostedForm, page: Page) -> Response:
    try:
        asked = read_document(MemberRequest, form.given(*_FIELDS))
        with page.act("add member", asked.name) as session:
            members.add_member(
                page.context, session, asked.name, asked.role, asked.subject,
                owner=asked.owner, days=asked.days,
            )  # fmt: skip
    except Problem as problem:
        return _members_page(page, problem.status, problem=problem, form=form, at="member")
    return page.go("curate", "members", done="member", at=f"member-{asked.name}")


@router.post("/{member}/tokens")
def create_token(form: PostedForm, member: str, page: Page) -> Response:
    try:
        issued = issue(page, member, form)
    except Problem as problem:
        return _members_page(page, problem.status, problem=problem, form=form, at=member)
    return _members_page(page, issued=issued)


@router.post("/{member}/curates")
def add_curator(form: PostedForm, member: str, page: Page) -> Response:
    table = form.text("table")
    with page.act("add curator", f"{table}/{member}") as session:
        roles.add_curator(page.context, session, table, member)
    return page.go("curate", "members", done="curator", at=f"member-{member}")


@router.post("/{member}/curates/{table}/end")
def remove_curator(form: PostedForm, member: str, table: str, page: Page) -> Response:
    with page.act("remove curator", f"{table}/{member}") as session:
        roles.remove_curator(session, table, member)
    return page.go("curate", "members", done="no-curator", at=f"member-{member}")


@router.post("/{member}/disable")
def disable(form: PostedForm, member: str, page: Page) -> Response:
    return _set_disabled(page, member, True)


@router.post("/{member}/enable")
def enable(form: PostedForm, member: str, page: Page) -> Response:
    return _set_disabled(page, member, False)


def _set_disabled(page: PageRequest, member: str, disabled: bool) -> Response:
    with page.act("change member", member) as session:
        before = members.facts_of(members.get_member(session, member))
        found = members.set_disabled(page.context, session, member, disabled, page.member)
        tell(session, before=before, after=members.facts_of(found))
    done = "disabled" if disabled else "enabled"
    return page.go("curate", "members", done=done, at=f"member-{member}")


@router.post("/tokens/{token}/revoke")
def revoke(form: PostedForm, token: str, page: Page) -> Response:
    with page.act("revoke token", token) as session:
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
        curated = {m.name: roles.curated_by(session, m) for m in people}
        names = tables.list_names(session)
    return page.show(
        "curate/members.html",
        status,
        people=[(m, [t for t in tokens if t.member == m.name][::-1]) for m in people],
        valid={t.id for t in tokens if members.is_valid(page.context, t)},
        roles=list(Role),
        curated=curated,
        tables=names,
        days=page.context.settings.token_days,
        problem=problem,
        issued=issued,
        form=form,
        at=at,
    )
