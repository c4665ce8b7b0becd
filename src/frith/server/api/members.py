"""Members and their tokens."""

from __future__ import annotations

from fastapi import APIRouter

from frith.client import responses
from frith.client.kinds import Role
from frith.client.requests import MemberChangeRequest, MemberRequest, TokenRequest
from frith.server.auth import members
from frith.server.auth.access import only
from frith.server.auth.acting import tell
from frith.server.auth.caller import Called, Caller

router = APIRouter(tags=["members"])


@router.get("/me")
def get_me(caller: Called) -> responses.Member:
    """Who you are here."""
    return responses.Member.read(caller.member)


@router.get("/members")
def list_members(caller: Called) -> list[responses.Member]:
    """All members. For operators, curators and auditors."""
    with caller.read() as session:
        return [responses.Member.read(m) for m in members.list_members(session)]


@router.post("/members", status_code=201)
def add_member(asked: MemberRequest, caller: Called) -> responses.Member:
    """Add a member, or a service account with an owner. For operators."""
    with caller.act("add member", asked.name) as session:
        added = members.add_member(
            caller.context, session, asked.name, asked.role, asked.subject,
            owner=asked.owner, days=asked.days,
        )  # fmt: skip
        return responses.Member.read(added)


@router.put("/members/{member}")
def change_member(member: str, asked: MemberChangeRequest, caller: Called) -> responses.Member:
    """Disable a member or enable them again, give them another role or owner. For operators.

    The tokens of a disabled member end at once, and so does everything made with them.
    """
    with caller.act("change member", member) as session:
        changed = members.get_member(session, member)
        before = members.facts_of(changed)
        if asked.role is not None:
            members.change_role(session, member, asked.role, caller.member)
        if asked.owner is not None:
            members.change_owner(session, member, asked.owner)
        if asked.disabled is not None:
            members.set_disabled(caller.context, session, member, asked.disabled, caller.member)
        tell(session, before=before, after=members.facts_of(changed))
        return responses.Member.read(changed)


@router.get("/members/{member}/tokens")
def list_tokens(member: str, caller: Called) -> list[responses.Token]:
    """A member's tokens, without their secrets: your own, or anybody's for operators and auditors."""
    _must_be(member, caller)
    with caller.read() as session:
        members.get_member(session, member)
        return [responses.Token.read(t) for t in members.list_tokens(session, member)]


@router.post("/members/{member}/tokens", status_code=201)
def issue_token(member: str, asked: TokenRequest, caller: Called) -> responses.IssuedToken:
    """Make a token, which is shown once: for yourself or a service account of yours.

    An operator makes one for somebody who has none. It ends at the latest with the token that made it,
    and has no scope which that token lacks.
    """
    with caller.act("create token", member) as session:
        issued = members.issue_token(
            caller.context, session, member, asked.note, asked.days, caller.credential, asked.scopes
        )
        return responses.IssuedToken(
            **responses.Token.read(issued.token).to_json(), token=issued.text
        )


@router.delete("/tokens/{token}", status_code=204)
def revoke_token(token: str, caller: Called) -> None:
    """Revoke a token and all that was made with it: your own, or anybody's as an operator."""
    with caller.act("revoke token", token) as session:
        members.revoke_token(caller.context, session, token, caller.member)


def _must_be(member: str, caller: Caller) -> None:
    if member == caller.member.name or caller.member.sees_everything:
        return
    raise only(Role.OPERATOR, Role.AUDITOR)
