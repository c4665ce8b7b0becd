"""Curators and analysts, and the tokens they sign in with.

A token is `frith_ID_SECRET`. Only the SHA-256 of the secret is kept: it has 256 random bits, so a
slow hash would protect nothing more. Hashes are compared in constant time, even for an unknown ID.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass, field

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode, Role
from frith.server.context import Context, check_name
from frith.server.problems import Problem, conflict, invalid, not_found, unauthorized
from frith.server.schema import BrowserSession, Member, Token

_PREFIX = "frith"
_HELD = (
    select(Token, Member)
    .join(Member, Token.member == Member.name)
    .where(Token.id == bindparam("token"))
)


@dataclass(frozen=True)
class Issued:
    """A new token; its text is shown once and not stored."""

    token: Token
    text: str = field(repr=False)


def add_member(
    context: Context, session: Session, name: str, role: str, subject: str | None = None
) -> Member:
    check_name("member", name)
    if role not in set(Role):
        raise invalid("a member's role is curator or analyst")
    if session.get(Member, name) is not None:
        raise conflict(f"there is already a member {name!r}")
    if subject is not None and find_subject(session, subject) is not None:
        raise conflict("another member has this OIDC subject")
    member = Member(name=name, role=role, subject=subject, created=context.now())
    session.add(member)
    session.flush()
    return member


def get_member(session: Session, name: str) -> Member:
    member = session.get(Member, name)
    if member is None:
        raise Problem(ProblemCode.NOT_FOUND, "there is no such member")
    return member


def list_members(session: Session) -> list[Member]:
    return list(session.scalars(select(Member).order_by(Member.name)))


def find_subject(session: Session, subject: str) -> Member | None:
    """The member with this OIDC subject, disabled or not."""
    return session.scalars(select(Member).where(Member.subject == subject)).first()


def set_disabled(
    context: Context, session: Session, name: str, disabled: bool, by: Member | None = None
) -> Member:
    """Disable a member and revoke all their tokens at once, or enable them again."""
    member = get_member(session, name)
    if by is not None and by.name == name:
        raise conflict("nobody can disable themselves; ask another curator")
    if disabled and member.disabled is None:
        member.disabled = context.now()
        for token in list_tokens(session, name):
            _end(context, session, token)
    elif not disabled:
        member.disabled = None
    return member


def issue_token(
    context: Context,
    session: Session,
    member: str,
    note: str = "",
    days: int | None = None,
    by: Member | None = None,
) -> Issued:
    """A new token for a member; analysts cannot make theirs last longer than `token_days`."""
    if get_member(session, member).disabled is not None:
        raise conflict(f"{member} is disabled; enable them first")
    usual = context.settings.token_days
    days = usual if days is None else days
    longest = usual if by is not None and not by.is_curator else 3650
    if not 1 <= days <= longest:
        raise invalid(f"a token is valid for 1 to {longest} days")
    secret = context.new_secret(32)
    token = Token(
        id=context.new_secret(6),
        member=member,
        note=note,
        hash=hashed(secret),
        created=context.now(),
        expires=context.now(days=days),
        revoked=None,
    )
    session.add(token)
    session.flush()
    return Issued(token, f"{_PREFIX}_{token.id}_{secret}")


def revoke_token(context: Context, session: Session, token: str, of: Member) -> Token:
    """Revoke a token and end its browser sessions; analysts can revoke their own."""
    found = session.get(Token, token)
    if found is None or not (of.is_curator or found.member == of.name):
        raise not_found("token")
    _end(context, session, found)
    return found


def _end(context: Context, session: Session, token: Token) -> None:
    token.revoked = token.revoked or context.now()
    for browser in session.scalars(select(BrowserSession).where(BrowserSession.token == token.id)):
        session.delete(browser)


def list_tokens(session: Session, member: str | None = None) -> list[Token]:
    query = select(Token).order_by(Token.created, Token.id)
    return list(session.scalars(query if member is None else query.where(Token.member == member)))


def check_token(context: Context, session: Session, text: str) -> tuple[Token, Member]:
    """The valid token with this text, and its member; `unauthorized` whatever is wrong."""
    parts = text.split("_")
    usable = len(parts) == 3 and parts[0] == _PREFIX and text.isascii()
    found = session.execute(_HELD, {"token": parts[1]}).first() if usable else None
    known = found.Token.hash if found is not None else hashed("")
    matches = hmac.compare_digest(known, hashed(parts[2] if usable else "-"))
    if found is None or not matches or not is_valid(context, found.Token):
        raise unauthorized()
    return found.Token, found.Member


def is_valid(context: Context, token: Token) -> bool:
    return token.revoked is None and token.expires > context.now()


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
