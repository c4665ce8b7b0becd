"""Members, and the tokens they sign in with.

A token is `frith_ID_SECRET`. Only the SHA-256 of the secret is kept: it has 256 random bits, so a
slow hash would protect nothing more. Hashes are compared in constant time, even for an unknown ID.

A token knows its parent, the token that made it. It ends with its parent at the latest, whoever it is
for: otherwise a thief, or somebody who leaves, would make another one first. It has no scope that its
parent lacks.

A service account is a member that is not a person: it has an owner, expires on a day, and is disabled
with its owner.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, select
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode, Role, Scope
from frith.server.auth.access import SCOPES, only, scopes_of
from frith.server.auth.acting import tell
from frith.server.auth.upgrade import check_finished
from frith.server.context import Context, check_name
from frith.server.problems import Problem, conflict, invalid, not_found, unauthorized
from frith.server.schema import (
    BrowserSession,
    Grant,
    Member,
    RegisteredTable,
    TableCurator,
    Token,
)

PREFIX = "frith_"
ISSUERS = "oidc-"
"""The prefix of names of the issuer's sessions; no token's id begins with it."""
_OPERATORS_DAYS = 3650  # days that a token from the command line is valid, at most
_MOST = 1_000  # unexpired tokens of a member: a thief makes as many as are allowed
_SEEN = "seen"
_AT_ONCE = 500  # tokens in one statement; databases have limits
_HELD = (
    select(Token, Member)
    .join(Member, Token.member == Member.name)
    .where(Token.id == bindparam("token"))
)
_HELD_FOR_TABLE = (
    _HELD.add_columns(RegisteredTable, Grant)
    .outerjoin(RegisteredTable, RegisteredTable.name == bindparam("table"))
    .outerjoin(Grant, and_(Grant.table == RegisteredTable.name, Grant.member == Member.name))
)


@dataclass(frozen=True)
class Credential:
    """What a caller came with: the id of a token, or None and a name for the issuer's session."""

    member: Member
    token: str | None
    session: str | None = None
    scopes: frozenset[Scope] = frozenset(Scope)


@dataclass(frozen=True)
class Issued:
    """A new token; its text is shown once and not stored."""

    token: Token
    text: str = field(repr=False)


def add_member(
    context: Context,
    session: Session,
    name: str,
    role: str,
    subject: str | None = None,
    *,
    owner: str | None = None,
    days: int | None = None,
) -> Member:
    """A new member. With an `owner` it is a service account, which ends after `days` days."""
    check_name("member", name)
    if role not in set(Role):
        raise invalid(f"a member's role is one of {', '.join(Role)}")
    if session.get(Member, name) is not None:
        raise conflict(f"there is already a member {name!r}")
    if subject is not None and find_subject(session, subject) is not None:
        raise conflict("another member has this OIDC subject")
    if owner is not None:
        check_finished(session, "the end of a service account")
        _check_owner(session, owner, role)
    elif days is not None:
        raise invalid("only a service account ends on a day; name its owner")
    days = context.settings.token_days if owner is not None and days is None else days
    member = Member(
        name=name, role=role, subject=subject, created=context.now(), owner=owner,
        expires=None if days is None else context.now(days=days),
    )  # fmt: skip
    session.add(member)
    session.flush()
    tell(session, after=facts_of(member))
    return member


def facts_of(member: Member) -> dict[str, Any]:
    """A member as events describe them."""
    names = ("role", "subject", "owner", "expires", "disabled")
    return {name: getattr(member, name) for name in names if getattr(member, name) is not None}


def _check_owner(session: Session, owner: str, role: str) -> None:
    """Refuse an account without anybody who can answer for it."""
    person = get_member(session, owner)
    if person.owner is not None or person.disabled is not None:
        raise invalid("the owner of a service account is a person who may sign in")
    if role == Role.OPERATOR:
        raise invalid("an operator is a person; a service account has another role")


def get_member(session: Session, name: str) -> Member:
    member = session.get(Member, name)
    if member is None:
        raise Problem(ProblemCode.NOT_FOUND, "there is no such member")
    return member


def _locked(session: Session, name: str) -> Member:
    """The member, locked until this transaction ends, so that nobody disables them meanwhile."""
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
        raise conflict("nobody can disable themselves; ask another operator")
    if disabled and member.disabled is None:
        member.disabled = context.now()
        own = [token.id for token in list_tokens(session, name)]
        end_tokens(context, session, own + _made_by_issuer(session, name))
        owned = select(Member.name).where(Member.owner == name, Member.disabled.is_(None))
        for account in session.scalars(owned.order_by(Member.name)).all():
            set_disabled(context, session, account, True)
    elif not disabled:
        if member.owner is not None and get_member(session, member.owner).disabled is not None:
            raise conflict(f"its owner {member.owner} is disabled; give it another owner first")
        member.disabled = None
    return member


def change_role(session: Session, name: str, role: str, by: Member | None = None) -> Member:
    """Give a member another role. They no longer curate what they curated before."""
    member = _locked(session, name)
    if by is not None and by.name == name:
        raise conflict("nobody changes their own role; ask another operator")
    if member.owner is not None:
        _check_owner(session, member.owner, role)
    member.role = role
    if not member.may_curate:
        session.execute(delete(TableCurator).where(TableCurator.member == name))
    return member


def change_owner(session: Session, name: str, owner: str) -> Member:
    """Give a service account another owner."""
    member = _locked(session, name)
    if member.owner is None:
        raise invalid(f"{name} is a person and has no owner")
    _check_owner(session, owner, member.role)
    member.owner = owner
    return member


def issue_token(
    context: Context,
    session: Session,
    member: str,
    note: str = "",
    days: int | None = None,
    by: Credential | None = None,
    scopes: Iterable[str] | None = None,
) -> Issued:
    """A new token for a member, made with the credential `by` or at the operator's desk.

    Members make tokens for themselves and for the service accounts that they own. An operator makes
    one for somebody who has none. Without `scopes` it has all that its member and its parent have.
    """
    if by is not None and not _may_issue(session, by.member, member):
        raise only(Role.OPERATOR)
    found = _locked(session, member)
    if found.disabled is not None:
        raise conflict(f"{member} is disabled; enable them first")
    if not may_sign_in(context, found):
        raise conflict(f"the service account {member} has ended; add another one")
    usual = context.settings.token_days
    days = usual if days is None else days
    longest = _OPERATORS_DAYS if by is None else usual
    if not 1 <= days <= longest:
        raise invalid(f"a token is valid for 1 to {longest} days")
    expires = context.now(days=days)
    if by is not None:
        expires = min(expires, _end_of(context, session, by))
        if found.owner != by.member.name:
            _check_name_of(context, session, by, member)
        _check_number_of(context, session, member)
    if found.expires is not None:
        expires = min(expires, found.expires)
    chosen = _scopes(found, by, scopes)
    if chosen is not None:
        check_finished(session, "a token's scopes")
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
        scopes=chosen,
    )
    session.add(token)
    session.flush()
    made = {"token": token.id, "expires": expires, "scopes": token.scopes, "parent": token.parent}
    tell(session, after=made)
    return Issued(token, f"{PREFIX}{token.id}_{secret}")


def _may_issue(session: Session, by: Member, member: str) -> bool:
    if by.is_operator or by.name == member:
        return True
    found = session.get(Member, member)
    return found is not None and found.owner == by.name


def _scopes(member: Member, by: Credential | None, wanted: Iterable[str] | None) -> str | None:
    """The scopes of a new token, as they are stored; None for all that its member's role has."""
    role = SCOPES[Role(member.role)]
    parent = frozenset(role) if by is None else by.scopes
    usual = None if parent >= frozenset(role) else " ".join(s for s in role if s in parent)
    if wanted is None:
        return usual
    asked = list(wanted)
    beyond = [s for s in asked if s not in role or s not in parent]
    if beyond or not asked:
        raise invalid(f"a token of {member.name} has some of the scopes {usual or ' '.join(role)}")
    return " ".join(s for s in role if s in asked)


def may_sign_in(context: Context, member: Member) -> bool:
    """Whether a member is neither disabled nor a service account that has ended."""
    return member.disabled is None and (member.expires is None or member.expires > context.now())


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
    """Refuse a token for somebody who can make their own, or who signs in through the issuer."""
    if by.member.name == member:
        return
    if context.settings.oidc_issuer and get_member(session, member).subject is not None:
        raise conflict(f"{member} signs in by the issuer; nobody makes a token in their name")
    if any(is_valid(context, token) for token in list_tokens(session, member)):
        raise conflict(
            f"{member} has a valid token and makes further ones with it; if it is lost, revoke it first"
        )


def _check_number_of(context: Context, session: Session, member: str) -> None:
    """Refuse a token to somebody who has many; revoked ones count, or there would be no end to them."""
    query = select(func.count()).where(Token.member == member, Token.expires > context.now())
    if (session.scalar(query) or 0) >= _MOST:
        raise Problem(
            ProblemCode.TOO_MANY,
            f"{member} has {_MOST:,} tokens that have not expired; wait until some have, or ask the "
            "operator",
        )


def revoke_token(context: Context, session: Session, token: str, of: Member) -> Token:
    """End a token and what was made with it: one's own, or anybody's as an operator."""
    found = session.get(Token, token)
    if found is None or not _may_issue(session, of, found.member):
        raise not_found("token")
    end_tokens(context, session, [token])
    tell(session, target=found.member, before={"token": token, "expires": found.expires})
    return found


def end_tokens(context: Context, session: Session, tokens: Iterable[str]) -> None:
    """End tokens, all that descend from them, and the browser sessions of all of these."""
    left = sorted(tokens)
    while left:
        ids, left = left[:_AT_ONCE], left[_AT_ONCE:]
        found = select(Token).where(Token.id.in_(ids)).order_by(Token.id).with_for_update()
        for token in session.scalars(found):
            token.revoked = token.revoked or context.now()
        session.execute(delete(BrowserSession).where(BrowserSession.token.in_(ids)))
        left += session.scalars(select(Token.id).where(Token.parent.in_(ids)))


def _made_by_issuer(session: Session, member: str) -> list[str]:
    """What a member made with the issuer's sessions, which are not tokens that it could end with."""
    query = select(Token.id).where(Token.minter == member, Token.parent.startswith(ISSUERS))
    return list(session.scalars(query))


def list_tokens(session: Session, member: str | None = None) -> list[Token]:
    query = select(Token).order_by(Token.created, Token.id)
    return list(session.scalars(query if member is None else query.where(Token.member == member)))


def check_token(
    context: Context, session: Session, text: str, table: str | None = None
) -> tuple[Token, Member]:
    """The valid token with this text, and its member; `unauthorized` whatever is wrong.

    A `table` that will be looked at in this transaction is read in the same query (`table_seen`).
    """
    token, secret = split_token(text)
    query, given = (_HELD, {}) if table is None else (_HELD_FOR_TABLE, {"table": table})
    found = session.execute(query, {"token": token} | given).first() if token else None
    known = found.Token.hash if found is not None else hashed("")
    matches = hmac.compare_digest(known, hashed(secret if token else "-"))
    if found is None or not matches or not is_valid(context, found.Token):
        raise unauthorized()
    if not may_sign_in(context, found.Member):
        raise unauthorized()
    if table is not None and found.RegisteredTable is not None:
        session.info[_SEEN, table, found.Member.name] = (found.RegisteredTable, found.Grant)
    return found.Token, found.Member


def table_seen(
    session: Session, table: str, member: str
) -> tuple[RegisteredTable, Grant | None] | None:
    """A table and a member's grant, if they were read with the token in this transaction."""
    found: tuple[RegisteredTable, Grant | None] | None = session.info.get((_SEEN, table, member))
    return found


def credential_of(token: Token, member: Member) -> Credential:
    """What the holder of a valid token came with; a token for the issuer's session does not count."""
    if token.session is not None:
        return Credential(member, None, ISSUERS + token.id, scopes_of(member, token.scopes))
    return Credential(member, token.id, scopes=scopes_of(member, token.scopes))


def split_token(text: str) -> tuple[str, str]:
    """The id and the secret in the text of a token; empty if it is not one of ours."""
    parts = text.removeprefix(PREFIX).split("_")
    usable = text.startswith(PREFIX) and len(parts) == 2 and text.isascii()
    return (parts[0], parts[1]) if usable else ("", "")


def is_valid(context: Context, token: Token) -> bool:
    return token.revoked is None and token.expires > context.now()


def hashed(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
