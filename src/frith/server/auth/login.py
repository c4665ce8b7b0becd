"""Signing in by an OpenID Connect issuer: the authorization code flow with PKCE, state and nonce.

A login keeps its state in a cookie of the browser that began it, so no other browser can finish it.
The session here ends after a few minutes and renews itself without a question while the issuer's lasts;
the issuer may also end it at once (back-channel logout).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import re
import urllib.parse
import urllib.request
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode, Role
from frith.server.auth import members
from frith.server.auth.members import find_subject, hashed
from frith.server.auth.oidc import Issuer
from frith.server.context import Context
from frith.server.problems import Problem, unauthorized
from frith.server.schema import BrowserSession, Member, Token
from frith.server.settings import Settings

START, CALLBACK, LOGOUT = "/sign-in/oidc", "/sign-in/oidc/callback", "/sign-in/oidc/logout"
COOKIE = "frith_login"
NOTE = "signed in by the issuer"
_EVENT = "http://schemas.openid.net/event/backchannel-logout"
_ORDER = (Role.OPERATOR, Role.CURATOR, Role.AUDITOR, Role.ANALYST)
"""The order in which one role wins if somebody's groups give several."""
_SECONDS = 5
_NOT_A_NAME = re.compile(r"[^a-z0-9_-]+")


@dataclass(frozen=True)
class Begun:
    """A login that has begun: what the answer must contain, and where to go next."""

    state: str
    nonce: str
    verifier: str
    next: str
    silent: bool

    def to_cookie(self) -> str:
        fields = (self.state, self.nonce, self.verifier, str(int(self.silent)), self.next)
        return ".".join(urllib.parse.quote(field, safe="").replace(".", "%2E") for field in fields)

    @classmethod
    def from_cookie(cls, text: str) -> Begun | None:
        parts = [urllib.parse.unquote(part) for part in text.split(".")]
        if len(parts) != 5 or not all(parts[:3]):
            return None
        return cls(parts[0], parts[1], parts[2], parts[4], parts[3] == "1")


@dataclass(frozen=True)
class Identity:
    """Somebody's identity, as the issuer states it."""

    subject: str
    name: str
    groups: tuple[str, ...]
    session: str


def is_offered(settings: Settings) -> bool:
    return bool(settings.oidc_issuer and settings.oidc_client and settings.public_url)


def begin(context: Context, issuer: Issuer, next: str, *, silent: bool) -> tuple[Begun, str]:
    """A new login, and the issuer's address to send the browser to."""
    state, nonce, verifier = (context.new_secret(32) for _ in range(3))
    begun = Begun(state, nonce, verifier, next, silent)
    digest = hashlib.sha256(begun.verifier.encode()).digest()
    settings = context.settings
    asked = {
        "response_type": "code",
        "client_id": settings.oidc_client,
        "redirect_uri": settings.public_url.rstrip("/") + CALLBACK,
        "scope": settings.oidc_scopes,
        "state": begun.state,
        "nonce": begun.nonce,
        "code_challenge": base64.urlsafe_b64encode(digest).rstrip(b"=").decode(),
        "code_challenge_method": "S256",
    }
    asked |= {"prompt": "none"} if silent else {}
    place = issuer.endpoint("authorization_endpoint")
    return begun, place + ("&" if "?" in place else "?") + urllib.parse.urlencode(asked)


def is_answer(begun: Begun, answer: dict[str, str]) -> bool:
    """Whether an answer belongs to this login."""
    return hmac.compare_digest(begun.state.encode(), answer.get("state", "").encode())


def finish(context: Context, issuer: Issuer, begun: Begun, answer: dict[str, str]) -> Identity:
    """Who signed in, according to the issuer's answer to the browser that began this login."""
    if not is_answer(begun, answer):
        raise _failed()
    if "iss" in answer and answer["iss"] != context.settings.oidc_issuer:
        raise _failed()
    if "code" not in answer:
        raise _failed()
    tokens = _exchange(context.settings, issuer, answer["code"], begun.verifier)
    claims = issuer.claims(str(tokens.get("id_token", "")), context.settings.oidc_client)
    if not hmac.compare_digest(begun.nonce.encode(), str(claims.get("nonce", "")).encode()):
        raise _failed()
    if "azp" in claims and claims["azp"] != context.settings.oidc_client:
        raise _failed()
    if context.settings.oidc_groups not in claims and context.settings.oidc_roles:
        claims = _user_info(issuer, str(tokens.get("access_token", "")), claims)
    return Identity(
        str(claims["sub"]),
        str(claims.get("preferred_username") or claims["sub"]),
        _groups_in(context.settings, claims),
        str(claims.get("sid") or ""),
    )


def _groups_in(settings: Settings, claims: dict[str, Any]) -> tuple[str, ...]:
    groups = claims.get(settings.oidc_groups, [])
    given = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
    return tuple(str(group) for group in given)


def still_has_role(settings: Settings, member: Member, claims: dict[str, Any]) -> bool:
    """Whether the groups in a bearer token, if it lists any, still give its member their role."""
    if not settings.oidc_roles or settings.oidc_groups not in claims:
        return True
    return role_for(settings, _groups_in(settings, claims)) == member.role


def _exchange(settings: Settings, issuer: Issuer, code: str, verifier: str) -> dict[str, Any]:
    """The tokens for a code; only whoever knows the verifier gets them."""
    form = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": settings.public_url.rstrip("/") + CALLBACK,
        "code_verifier": verifier,
        "client_id": settings.oidc_client,
    }
    headers = {"content-type": "application/x-www-form-urlencoded", "accept": "application/json"}
    if settings.oidc_secret:
        pair = ":".join(
            urllib.parse.quote(part, safe="")
            for part in (settings.oidc_client, settings.oidc_secret)
        )
        headers["authorization"] = "Basic " + base64.b64encode(pair.encode()).decode()
    body = urllib.parse.urlencode(form).encode()
    request = urllib.request.Request(issuer.endpoint("token_endpoint"), body, headers)
    return _fetch(request)


def _user_info(issuer: Issuer, token: str, claims: dict[str, Any]) -> dict[str, Any]:
    """The claims, with those from the issuer's userinfo endpoint if they are about the same subject."""
    headers = {"authorization": f"Bearer {token}", "accept": "application/json"}
    more = _fetch(urllib.request.Request(issuer.endpoint("userinfo_endpoint"), headers=headers))
    if more.get("sub") != claims["sub"]:
        raise _failed()
    return more | claims


def _fetch(request: urllib.request.Request) -> dict[str, Any]:
    try:
        with urllib.request.urlopen(request, timeout=_SECONDS) as answer:
            found = json.loads(answer.read(1_000_000))
    except (OSError, ValueError):
        raise _failed() from None
    if not isinstance(found, dict):
        raise _failed()
    return found


def _failed() -> Problem:
    """The same refusal whatever was wrong with a login."""
    return Problem(ProblemCode.UNAUTHORIZED, "signing in by the issuer failed; try again")


def role_for(settings: Settings, groups: tuple[str, ...]) -> Role | None:
    """The role that somebody's groups give; None if they give none."""
    given = {settings.oidc_roles[group] for group in groups if group in settings.oidc_roles}
    return next((role for role in _ORDER if role in given), None)


def settle(context: Context, session: Session, who: Identity) -> Member | None:
    """The member with this identity and the role that its groups give; None if they may not enter.

    If groups are mapped to roles, the issuer decides: newcomers are added, people who changed groups
    change roles, and people who have lost all groups are disabled, with all their tokens.
    """
    found, settings = find_subject(session, who.subject), context.settings
    if not settings.oidc_roles:
        return found if found is not None and members.may_sign_in(context, found) else None
    role = role_for(settings, who.groups)
    if role is None:
        if found is not None and found.disabled is None:
            members.set_disabled(context, session, found.name, True)
        return None
    if found is None:
        name = _NOT_A_NAME.sub("-", who.name.lower()).strip("-_")[:63]
        return members.add_member(context, session, name, role, who.subject)
    if found.role != role:
        members.change_role(session, found.name, role)
    return found if members.may_sign_in(context, found) else None


def open_session(context: Context, session: Session, member: Member, who: Identity) -> str:
    """The cookie of a browser that the issuer signed in, for a few minutes."""
    cookie, until = (
        context.new_secret(32),
        context.now(minutes=context.settings.oidc_session_minutes),
    )
    token = Token(
        id=context.new_secret(6), member=member.name, note=NOTE,
        hash=hashed(context.new_secret(32)), created=context.now(), expires=until,
        session=who.session or _unnamed(who.subject),
    )  # fmt: skip
    session.add(token)
    session.flush()
    session.add(
        BrowserSession(
            hash=hashed(cookie), token=token.id, csrf=context.new_secret(16), expires=until
        )
    )
    session.flush()
    return cookie


def _unnamed(subject: str) -> str:
    """The name for an issuer's session without one: any session that the issuer ends may be this one."""
    return hashed(subject)[:32]


def read_logout(issuer: Issuer, client: str, text: str) -> tuple[str, str]:
    """The session and the subject that the issuer ends; one of them may be empty."""
    claims = issuer.claims(text, client, require=("iss", "aud", "iat", "jti", "events"))
    events = claims.get("events")
    if not isinstance(events, dict) or _EVENT not in events or "nonce" in claims:
        raise unauthorized()
    sid, sub = str(claims.get("sid") or ""), str(claims.get("sub") or "")
    if not sid and not sub:
        raise unauthorized()
    return sid, sub


def end_sessions(context: Context, session: Session, sid: str, subject: str) -> list[str]:
    """End what the issuer ends: one session, or all of a subject's. Returns the members concerned."""
    query = select(Token).where(Token.session.is_not(None), Token.revoked.is_(None))
    if sid:
        query = query.where(Token.session.in_([sid] + ([_unnamed(subject)] if subject else [])))
    else:
        query = query.join(Member, Member.name == Token.member).where(Member.subject == subject)
    found = list(session.scalars(query))
    members.end_tokens(context, session, [token.id for token in found])
    return sorted({token.member for token in found})
