"""Authentication: every request names its member before anything else happens.

The API and the metrics take bearer tokens, ours or an OIDC issuer's; the pages take the cookie of a
signed-in browser. Only the health check, the sign-in page and its static files are public. The check
runs before the body is read and before a route is found, so that no route can forget it: who may use
which route is looked up in one table, `access.py`.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote

from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from frith.client.kinds import ProblemCode
from frith.server.auth.access import Match, check, match, scopes_of
from frith.server.auth.acting import write_refusal
from frith.server.auth.caller import actor_of, address_of
from frith.server.auth.limits import RateLimit
from frith.server.auth.login import CALLBACK, LOGOUT, START, is_offered, still_has_role
from frith.server.auth.members import (
    ISSUERS,
    PREFIX,
    Credential,
    check_token,
    credential_of,
    find_subject,
    hashed,
    may_sign_in,
    split_token,
)
from frith.server.auth.oidc import Issuer
from frith.server.auth.roles import curates
from frith.server.auth.sessions import COOKIE, SignedIn, check_session
from frith.server.context import Context
from frith.server.problems import Problem, no_table, unauthorized
from frith.server.schema import Member

Prepare = Callable[[Context, Session, Member, str], Any]
"""Reads what a route needs about a table, in the transaction that looks up the token.

Must not raise a problem.
"""
PUBLIC = ("/health", "/ready", "/sign-in", START, CALLBACK, LOGOUT, "/static/")
BEARER = ("/v1", "/metrics")
_SHOWN = 40  # characters of the id of a token that is none
_SIGN_INS = 30  # of one member in a minute: each is an event, which is kept for ever
_REMEMBERED = 1_000  # (address, token) pairs that were right before


class AuthMiddleware:
    """Puts `credential`, `member` and for browsers `signed_in` into the request's state, or refuses it."""

    def __init__(
        self, app: ASGIApp, context: Context, prepare: Mapping[str, Prepare] | None = None
    ):
        self._app, self._context, self._prepare = app, context, prepare or {}
        settings = context.settings
        self.issuer = Issuer(settings) if settings.oidc_issuer else None
        self._failures, self._guesses, self._logins = (
            RateLimit(settings.failures_per_minute, 60, time.monotonic) for _ in range(3)
        )  # from an address; from an address at one token; from an address by the issuer
        self._requests = RateLimit(settings.requests_per_second, 1, time.monotonic)
        self._sign_ins = RateLimit(_SIGN_INS, 60, time.monotonic)
        self._known: OrderedDict[str, None] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or is_public(scope["path"]):
            scope.setdefault("state", {})["auth"] = self
            await self._app(scope, receive, send)
            return
        if scope["path"].startswith(BEARER):
            credential = await run_in_threadpool(self._check_bearer, scope)
            signed_in = None
        else:
            try:
                signed_in = await run_in_threadpool(self._check_cookie, scope)
            except Problem as problem:
                if problem.code != ProblemCode.UNAUTHORIZED:
                    raise
                silent = is_offered(self._context.settings) and bool(cookie_of(scope))
                await _to_sign_in(scope, silent=silent)(scope, receive, send)
                return
            if self._is_due(scope, signed_in):
                await _to_sign_in(scope, silent=True)(scope, receive, send)
                return
            credential = signed_in.credential
        member, state = credential.member, scope["state"]
        if not self._requests.add(member.name):
            raise Problem(ProblemCode.TOO_MANY, "too many requests; wait a second", wait=1)
        state.update(credential=credential, member=member, signed_in=signed_in, auth=self)
        if state["refusal"] is not None:
            raise state["refusal"]
        await self._app(scope, receive, send)

    def allow_sign_in(self, member: str) -> None:
        if not self._sign_ins.add(member):
            raise Problem(ProblemCode.TOO_MANY, "too many sign-ins; wait a minute", wait=60)

    def begin_login(self, address: str) -> None:
        """Count a login by the issuer as failed until it has succeeded; past the limit, refuse it.

        Counted before the issuer is asked, which takes seconds: many at once must not occupy every thread.
        """
        if not self._logins.add(address):
            raise Problem(ProblemCode.TOO_MANY, "too many failed logins; wait a minute", wait=60)

    def end_login(self, address: str) -> None:
        """A login that has begun was right, so it does not count."""
        self._logins.take_back(address)

    def count_failure(self, address: str) -> None:
        """Count a wrong token; past the limit, its address must wait."""
        if not self._failures.add(address):
            raise _too_many_guesses()

    def allow_guess(self, address: str, secret: str) -> None:
        """Refuse further guesses at one token from one address, unless this text was right before.

        Other tokens are still checked: many people may share the address of those who guess.
        """
        guessed = _guessed(address, secret)
        if self._guesses.is_full(guessed) and hashed(address + secret) not in self._known:
            raise _too_many_guesses()

    def count_guess(self, address: str, secret: str, *, right: bool) -> None:
        """Remember a right token; past the limit, an address learns nothing more about wrong ones."""
        if not right:
            self._guesses.add(_guessed(address, secret))
            self.count_failure(address)
            return
        self._known[hashed(address + secret)] = None
        if len(self._known) > _REMEMBERED:
            self._known.popitem(last=False)

    def _check_bearer(self, scope: Scope) -> Credential:
        text = _header(scope, b"authorization")
        kind, _, secret = text.partition(" ")
        secret = secret.strip()
        if kind.lower() != "bearer" or not secret:
            raise unauthorized()
        address = address_of(scope)
        self.allow_guess(address, secret)
        try:
            credential = self._credential(secret, scope)
        except Problem as problem:
            self.count_guess(address, secret, right=False)
            self.write_wrong(scope, secret, problem)
            raise
        self.count_guess(address, secret, right=True)
        return credential

    def write_wrong(self, scope: Scope, secret: str, problem: Problem) -> None:
        """Record that a wrong token was used, and which one it claims to be."""
        target = split_token(secret)[0][:_SHOWN]
        write_refusal(self._context, actor_of(scope), "sign in", target, problem)

    def _credential(self, secret: str, scope: Scope) -> Credential:
        if self.issuer is None or secret.startswith(PREFIX):
            with self._context.database.read() as session:
                held = check_token(self._context, session, secret, self._table(scope))
                credential = credential_of(*held)
                self._make_ready(session, credential, scope)
                return credential
        claims = self.issuer.bearer(secret)
        with self._context.database.read() as session:
            found = find_subject(session, str(claims["sub"]))
            if found is None or not may_sign_in(self._context, found):
                raise unauthorized()
            if not still_has_role(self._context.settings, found, claims):
                raise unauthorized()
            named = ISSUERS + hashed(secret)[:12]
            credential = Credential(found, None, named, scopes_of(found, None))
            self._make_ready(session, credential, scope)
        return credential

    def _table(self, scope: Scope) -> str | None:
        """The table about which something will be read for the route in the same transaction."""
        asked = match(scope["method"], scope["path"])
        if asked is None or asked.route not in self._prepare or "\0" in scope["path"]:
            return None
        return asked.names["table"]

    def _make_ready(self, session: Session, credential: Credential, scope: Scope) -> None:
        """In the open transaction, decide whether to refuse, and read what the route needs."""
        state = scope.setdefault("state", {})
        state["match"] = found = match(scope["method"], scope["path"])
        state["refusal"] = _refusal(session, found, credential, scope["path"])
        if found is not None and found.route in self._prepare and state["refusal"] is None:
            read, table = self._prepare[found.route], found.names["table"]
            state["prepared"] = read(self._context, session, credential.member, table)

    def _is_due(self, scope: Scope, signed_in: SignedIn) -> bool:
        """Whether to ask the issuer again before a page is shown: halfway through a session."""
        if signed_in.renew is None or scope["method"] != "GET":
            return False
        is_page = _header(scope, b"sec-fetch-mode") == "navigate"
        return is_page and self._context.now() >= signed_in.renew

    def _check_cookie(self, scope: Scope) -> SignedIn:
        cookie = cookie_of(scope)
        if not cookie:
            raise unauthorized()
        with self._context.database.read() as session:
            signed_in = check_session(self._context, session, cookie)
            self._make_ready(session, signed_in.credential, scope)
            return signed_in


def is_public(path: str) -> bool:
    return path in PUBLIC or path.startswith(PUBLIC[-1])


def _refusal(
    session: Session, found: Match | None, credential: Credential, path: str
) -> Problem | None:
    """Why this caller may not use the route; None if they may, or if there is no such route."""
    if "\0" in path:  # no name holds one, and PostgreSQL refuses it
        return Problem(ProblemCode.NOT_FOUND, "there is nothing here")
    if found is None:
        return None
    try:
        check(found.access, credential.member, credential.scopes)
    except Problem as problem:
        return problem
    if found.access.of_table and not curates(session, credential.member, found.names["table"]):
        return no_table()
    return None


def cookie_of(scope: Scope, name: str = COOKIE) -> str:
    """A cookie's value, as we set it: without quotes. Python's parser is slow on some quoted ones."""
    for part in _header(scope, b"cookie").split(";"):
        found, _, value = part.strip().partition("=")
        if found == name:
            return value
    return ""


def _guessed(address: str, secret: str) -> str:
    """The token being guessed, and the address; a text without an id counts as a token of its own."""
    return hashed(f"{address} {split_token(secret)[0] or secret}")


def _too_many_guesses() -> Problem:
    return Problem(ProblemCode.TOO_MANY, "too many wrong tokens; wait a minute", wait=60)


def _header(scope: Scope, name: bytes) -> str:
    return dict(scope["headers"]).get(name, b"").decode("latin-1")


def _to_sign_in(scope: Scope, *, silent: bool) -> RedirectResponse:
    """Redirect to the sign-in page, and from there back to a path of this server.

    With `silent` the issuer only says whether its session still lasts, without asking the user.
    """
    path = quote(scope["path"] if scope["method"] == "GET" else "/", safe="/")
    place = f"{START}?silent=true&next={path}" if silent else f"/sign-in?next={path}"
    return RedirectResponse(place, status_code=303)
