"""Signed-in browsers: a random cookie, of which the hash is kept, and a CSRF token for its forms."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode
from frith.server.auth.members import (
    Credential,
    check_token,
    credential_of,
    hashed,
    is_valid,
    may_sign_in,
)
from frith.server.context import Context, stamp
from frith.server.problems import Problem, unauthorized
from frith.server.schema import BrowserSession, Member, Token

COOKIE = "frith_session"
_SIGNED_IN = (
    select(BrowserSession, Token, Member)
    .join(Token, BrowserSession.token == Token.id)
    .join(Member, Token.member == Member.name)
    .where(BrowserSession.hash == bindparam("hash"))
)


@dataclass(frozen=True)
class SignedIn:
    """The member who signed in, their credential, and the CSRF token that their forms must send back."""

    credential: Credential
    csrf: str
    renew: str | None = None
    """When to ask the issuer again; None for a session that a token began."""

    @property
    def member(self) -> Member:
        return self.credential.member


def sign_in(context: Context, session: Session, text: str) -> str:
    """The cookie of a new session for the holder of a token."""
    token, member = check_token(context, session, text)
    if member.owner is not None:
        raise Problem(ProblemCode.FORBIDDEN, "a service account has no pages; use the API")
    cookie = context.new_secret(32)
    until = min(token.expires, context.now(hours=context.settings.session_hours))
    session.add(
        BrowserSession(
            hash=hashed(cookie), token=token.id, csrf=context.new_secret(16), expires=until
        )
    )
    return cookie


def check_session(context: Context, session: Session, cookie: str) -> SignedIn:
    """The member who signed in with this cookie, or `unauthorized`."""
    found = session.execute(_SIGNED_IN, {"hash": hashed(cookie)}).first()
    if found is None:
        raise unauthorized()
    browser, token, member = found
    if browser.expires <= context.now() or not is_valid(context, token):
        raise unauthorized()
    if not may_sign_in(context, member):
        raise unauthorized()
    renew = None if token.session is None else _halfway(token)
    return SignedIn(credential_of(token, member), browser.csrf, renew)


def _halfway(token: Token) -> str:
    """Halfway through a token's life."""
    created, expires = (datetime.fromisoformat(t) for t in (token.created, token.expires))
    return stamp(created + (expires - created) / 2)


def holder_of(session: Session, cookie: str) -> str | None:
    """The member whose session a cookie is, also after it expired."""
    found = session.execute(_SIGNED_IN, {"hash": hashed(cookie)}).first()
    return None if found is None else str(found.Member.name)


def sign_out(session: Session, cookie: str) -> None:
    found = session.get(BrowserSession, hashed(cookie))
    if found is not None:
        session.delete(found)


def check_csrf(signed_in: SignedIn, given: str) -> None:
    """Refuse a form that another site made: it does not know the session's CSRF token."""
    if not hmac.compare_digest(signed_in.csrf.encode(), given.encode()):
        raise Problem(
            ProblemCode.FORBIDDEN, "the form has expired; go back, reload the page and try again"
        )
