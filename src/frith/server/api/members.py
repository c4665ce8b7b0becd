"""Members and their tokens."""

from __future__ import annotations

from fastapi import APIRouter

from frith.server import documents as d
from frith.server.auth import members
from frith.server.auth.caller import Called, Caller
from frith.server.problems import curators_only
from frith.server.schema import Member, Token

router = APIRouter(tags=["members"])


@router.get("/me")
def get_me(caller: Called) -> d.MemberSaid:
    """Who you are here."""
    return _member(caller.member)


@router.get("/members")
def list_members(caller: Called) -> list[d.MemberSaid]:
    """Everybody. For curators."""
    caller.must_be_curator()
    with caller.read() as session:
        return [_member(m) for m in members.list_members(session)]


@router.post("/members", status_code=201)
def add_member(asked: d.MemberAsked, caller: Called) -> d.MemberSaid:
    """Add a curator or an analyst. For curators."""
    caller.must_be_curator()
    with caller.write() as session:
        added = members.add_member(caller.context, session, asked.name, asked.role, asked.subject)
        return _member(added)


@router.put("/members/{member}")
def set_disabled(member: str, asked: d.DisabledAsked, caller: Called) -> d.MemberSaid:
    """Shut a member out at once, ending all their tokens, or let them in again. For curators."""
    caller.must_be_curator()
    with caller.write() as session:
        return _member(
            members.set_disabled(caller.context, session, member, asked.disabled, caller.member)
        )


@router.get("/members/{member}/tokens")
def list_tokens(member: str, caller: Called) -> list[d.TokenSaid]:
    """A member's tokens, without their secrets. Your own, or for curators."""
    _must_be(member, caller)
    with caller.read() as session:
        members.get_member(session, member)
        return [_token(t) for t in members.list_tokens(session, member)]


@router.post("/members/{member}/tokens", status_code=201)
def issue_token(member: str, asked: d.TokenAsked, caller: Called) -> d.TokenIssued:
    """A new token, shown once. Your own, or for curators."""
    _must_be(member, caller)
    with caller.write() as session:
        issued = members.issue_token(
            caller.context, session, member, asked.note, asked.days, caller.member
        )
        return d.TokenIssued(**_token(issued.token).model_dump(), token=issued.text)


@router.delete("/tokens/{token}", status_code=204)
def revoke_token(token: str, caller: Called) -> None:
    """End a token at once. Your own, or for curators."""
    with caller.write() as session:
        members.revoke_token(caller.context, session, token, caller.member)


def _must_be(member: str, caller: Caller) -> None:
    if member != caller.member.name and not caller.member.is_curator:
        raise curators_only()


def _member(member: Member) -> d.MemberSaid:
    return d.MemberSaid(**{name: getattr(member, name) for name in d.MemberSaid.model_fields})


def _token(token: Token) -> d.TokenSaid:
    fields = {name: getattr(token, name) for name in d.TokenSaid.model_fields}
    return d.TokenSaid(**fields)
