"""Signed-in browsers: a random cookie, of which the hash is kept, and a CSRF token for its forms."""

from __future__ import annotations

import hmac
from dataclasses import dataclass

from sqlalchemy import bindparam, select
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode
from frith.server.auth.members import check_token, hashed, is_valid
from frith.server.context import Context
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
    """The member who signed in, the CSRF token that their forms must send back, and their token's id."""

    member: Member
    csrf: str
    token: str


def sign_in(context: Context, session: Session, text: str) -> str:
    """The cookie of a new session for the holder of a token."""
    token, _ = check_token(context, session, text)
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
    if member.disabled is not None:
        raise unauthorized()
    return SignedIn(member, browser.csrf, token.id)


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
