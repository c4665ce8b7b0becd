"""Curators and analysts, and the tokens they sign in with.

A token is `frith_ID_SECRET`. Only the SHA-256 of the secret is kept: it has 256 random bits, so a
slow hash would protect nothing more. Hashes are compared in constant time, even for an unknown ID.

A token knows its parent, the token that made it. It does not outlive its parent, and it ends with it,
whoever it is for: otherwise a thief, or somebody who leaves, would make another one first.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field

from sqlalchemy import bindparam, delete, func, select
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode, Role
from frith.server.context import Context, check_name
from frith.server.problems import (
    Problem,
    conflict,
    curators_only,
    invalid,
    not_found,
    unauthorized,
)
from frith.server.schema import BrowserSession, Member, Token

PREFIX = "frith_"
_OPERATORS_DAYS = 3650  # the longest that a token of the command line is valid
_MOST = 1_000  # tokens of a member that have not expired: a thief makes as many as are allowed
_AT_ONCE = 500  # tokens in one statement; databases have limits
_HELD = (
    select(Token, Member)
    .join(Member, Token.member == Member.name)
    .where(Token.id == bindparam("token"))
)


@dataclass(frozen=True)
class Credential:
    """What a caller came with: the id of a token, or None and a name for the issuer's session."""

    member: Member
    token: str | None
    session: str | None = None


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


def _locked(session: Session, name: str) -> Member:
    """The member, until the end of this transaction: nobody disables them meanwhile."""
    get_member(session, name)
    return session.get_one(Member, name, with_for_update=True, populate_existing=True)


def list_members(session: Session) -> list[Member]:
    return list(session.scalars(select(Member).order_by(Member.name)))


def find_subject(session: Session, subject: str) -> Member | None:
    """The member with this OIDC subject, disabled or not."""
    return session.scalars(select(Member).where(Member.subject == subject)).first()


def set_disabled(
    context: Context, session: Session, name: str, disabled: bool, by: Member | None = None
) -> Member:
    """Disable a member and end all their tokens and what was made with them, or enable them again."""
    member = _locked(session, name)
    if by is not None and by.name == name:
        raise conflict("nobody can disable themselves; ask another curator")
    if disabled and member.disabled is None:
        member.disabled = context.now()
        _end(context, session, [token.id for token in list_tokens(session, name)])
    elif not disabled:
        member.disabled = None
    return member


def issue_token(
    context: Context,
    session: Session,
    member: str,
    note: str = "",
    days: int | None = None,
    by: Credential | None = None,
) -> Issued:
    """A new token for a member, made with the credential `by` or by the operator.

    Members make tokens for themselves. A curator makes one for somebody who has none.
    """
    if by is not None and by.member.name != member and not by.member.is_curator:
        raise curators_only()
    if _locked(session, member).disabled is not None:
        raise conflict(f"{member} is disabled; enable them first")
    usual = context.settings.token_days
    days = usual if days is None else days
    longest = _OPERATORS_DAYS if by is None else usual
    if not 1 <= days <= longest:
        raise invalid(f"a token is valid for 1 to {longest} days")
    expires = context.now(days=days)
    if by is not None:
        expires = min(expires, _end_of(context, session, by))
        _check_name_of(context, session, by, member)
        _check_number_of(context, session, member)
    secret = context.new_secret(32)
    token = Token(
        id=context.new_secret(6),
        member=member,
        note=note,
        hash=hashed(secret),
        created=context.now(),
        expires=expires,
        revoked=None,
        parent=None if by is None else by.token or by.session,
        minter=None if by is None else by.member.name,
    )
    session.add(token)
    session.flush()
    return Issued(token, f"{PREFIX}{token.id}_{secret}")


def _end_of(context: Context, session: Session, by: Credential) -> str:
    """The latest end of what this credential makes.

    The token is locked, so that whoever revokes it either finds what it made or stops it here.
    """
    if by.token is None:
        days = context.settings.tokens_from_oidc
        if not days:
            raise Problem(
                ProblemCode.FORBIDDEN,
                "sessions of an OIDC issuer cannot make tokens here; use the issuer's own",
            )
        return context.now(days=days)
    parent = session.get(Token, by.token, with_for_update=True, populate_existing=True)
    if parent is None or not is_valid(context, parent):
        raise unauthorized()
    return parent.expires


def _check_name_of(context: Context, session: Session, by: Credential, member: str) -> None:
    """Refuse a token in the name of somebody who can make their own."""
    if by.member.name != member and any(
        is_valid(context, token) for token in list_tokens(session, member)
    ):
        raise conflict(
            f"{member} has a valid token and makes further ones with it; if it is lost, revoke it first"
        )


def _check_number_of(context: Context, session: Session, member: str) -> None:
    """Refuse a token to somebody who has many; revoked ones count, or they could be made for ever."""
    query = select(func.count()).where(Token.member == member, Token.expires > context.now())
    if (session.scalar(query) or 0) >= _MOST:
        raise Problem(
            ProblemCode.TOO_MANY,
            f"{member} has {_MOST:,} tokens that have not expired; wait until some have, or ask the "
            "operator",
        )


def revoke_token(context: Context, session: Session, token: str, of: Member) -> Token:
    """End a token and what was made with it; analysts can revoke their own."""
    found = session.get(Token, token)
    if found is None or not (of.is_curator or found.member == of.name):
        raise not_found("token")
    _end(context, session, [token])
    return found


def _end(context: Context, session: Session, tokens: Iterable[str]) -> None:
    """End tokens, all that descend from them, and the browser sessions of all of these."""
    left = sorted(tokens)
    while left:
        ids, left = left[:_AT_ONCE], left[_AT_ONCE:]
        found = select(Token).where(Token.id.in_(ids)).order_by(Token.id).with_for_update()
        for token in session.scalars(found):
            token.revoked = token.revoked or context.now()
        session.execute(delete(BrowserSession).where(BrowserSession.token.in_(ids)))
        left += session.scalars(select(Token.id).where(Token.parent.in_(ids)))


def list_tokens(session: Session, member: str | None = None) -> list[Token]:
    query = select(Token).order_by(Token.created, Token.id)
    return list(session.scalars(query if member is None else query.where(Token.member == member)))


def check_token(context: Context, session: Session, text: str) -> tuple[Token, Member]:
    """The valid token with this text, and its member; `unauthorized` whatever is wrong."""
    token, secret = split_token(text)
    found = session.execute(_HELD, {"token": token}).first() if token else None
    known = found.Token.hash if found is not None else hashed("")
    matches = hmac.compare_digest(known, hashed(secret if token else "-"))
    if found is None or not matches or not is_valid(context, found.Token):
        raise unauthorized()
    if found.Member.disabled is not None:
        raise unauthorized()
    return found.Token, found.Member


def split_token(text: str) -> tuple[str, str]:
    """The id and the secret in the text of a token; empty where it is none of ours."""
    parts = text.removeprefix(PREFIX).split("_")
    usable = text.startswith(PREFIX) and len(parts) == 2 and text.isascii()
    return (parts[0], parts[1]) if usable else ("", "")


def is_valid(context: Context, token: Token) -> bool:
    return token.revoked is None and token.expires > context.now()


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
