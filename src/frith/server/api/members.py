"""Members and their tokens."""

from __future__ import annotations

from fastapi import APIRouter

from frith.client import documents as d
from frith.server.auth import members
from frith.server.auth.caller import Called, Caller
from frith.server.problems import curators_only

router = APIRouter(tags=["members"])


@router.get("/me")
def get_me(caller: Called) -> d.Member:
    """Who you are here."""
    return d.Member.read(caller.member)


@router.get("/members")
def list_members(caller: Called) -> list[d.Member]:
    """All members. For curators."""
    caller.must_be_curator()
    with caller.read() as session:
        return [d.Member.read(m) for m in members.list_members(session)]


@router.post("/members", status_code=201)
def add_member(asked: d.MemberRequest, caller: Called) -> d.Member:
    """Add a curator or an analyst. For curators."""
    caller.must_be_curator()
    with caller.write() as session:
        added = members.add_member(caller.context, session, asked.name, asked.role, asked.subject)
        return d.Member.read(added)


@router.put("/members/{member}")
def set_disabled(member: str, asked: d.MemberChangeRequest, caller: Called) -> d.Member:
    """Disable a member, or enable them again. For curators.

    All their tokens end at once, and so does everything that was made with them.
    """
    caller.must_be_curator()
    with caller.write() as session:
        changed = members.set_disabled(
            caller.context, session, member, asked.disabled, caller.member
        )
        return d.Member.read(changed)


@router.get("/members/{member}/tokens")
def list_tokens(member: str, caller: Called) -> list[d.Token]:
    """A member's tokens, without their secrets: your own, or anybody's for curators."""
    _must_be(member, caller)
    with caller.read() as session:
        members.get_member(session, member)
        return [d.Token.read(t) for t in members.list_tokens(session, member)]


@router.post("/members/{member}/tokens", status_code=201)
def issue_token(member: str, asked: d.TokenRequest, caller: Called) -> d.IssuedToken:
    """Make a token, which is shown once: for yourself, or as a curator for somebody who has none.

    It ends with the token that it was made with, at the latest.
    """
    with caller.write() as session:
        issued = members.issue_token(
            caller.context, session, member, asked.note, asked.days, caller.credential
        )
        return d.IssuedToken(**d.Token.read(issued.token).to_json(), token=issued.text)


@router.delete("/tokens/{token}", status_code=204)
def revoke_token(token: str, caller: Called) -> None:
    """Revoke a token and all that was made with it: your own, or anybody's as a curator."""
    with caller.write() as session:
        members.revoke_token(caller.context, session, token, caller.member)


def _must_be(member: str, caller: Caller) -> None:
    if member != caller.member.name and not caller.member.is_curator:
        raise curators_only()
