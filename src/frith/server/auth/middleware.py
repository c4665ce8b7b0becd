"""Authentication: every request names its member before anything else happens.

The API and the metrics take bearer tokens, ours or an OIDC issuer's; the pages take the cookie of a
signed-in browser. Only the health check, the sign-in page and its static files are public. The check
runs before the body is read and before a route is found, so that no route can forget it.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import quote

from sqlalchemy.orm import Session
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from frith.client.kinds import ProblemCode
from frith.server.auth.limits import RateLimit
from frith.server.auth.members import (
    PREFIX,
    Credential,
    check_token,
    find_subject,
    hashed,
    split_token,
)
from frith.server.auth.oidc import Issuer
from frith.server.auth.sessions import COOKIE, SignedIn, check_session
from frith.server.context import Context
from frith.server.problems import Problem, unauthorized
from frith.server.schema import Member

Prepare = Callable[[Context, Session, Member, Scope], Any]
"""Reads what a route needs in the transaction that looks up the token. It raises no problem."""
PUBLIC = ("/health", "/ready", "/sign-in", "/static/")
BEARER = ("/v1", "/metrics")
_REMEMBERED = 1_000  # (address, token) pairs that were right before


class AuthMiddleware:
    """Puts `credential`, `member` and for browsers `signed_in` into the request's state, or refuses it."""

    def __init__(self, app: ASGIApp, context: Context, prepare: Prepare | None = None):
        self._app, self._context, self._prepare = app, context, prepare
        settings = context.settings
        self._issuer = Issuer(settings) if settings.oidc_issuer else None
        self._failures, self._guesses = (
            RateLimit(settings.failures_per_minute, 60, time.monotonic) for _ in range(2)
        )  # from an address; from an address at one token
        self._requests = RateLimit(settings.requests_per_second, 1, time.monotonic)
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
                await _to_sign_in(scope)(scope, receive, send)
                return
            credential = Credential(signed_in.member, signed_in.token)
        member = credential.member
        if not self._requests.add(member.name):
            raise Problem(ProblemCode.TOO_MANY, "too many requests; wait a second", wait=1)
        if "\0" in scope["path"]:  # no name holds one, and PostgreSQL refuses it
            raise Problem(ProblemCode.NOT_FOUND, "there is nothing here")
        scope.setdefault("state", {}).update(
            credential=credential, member=member, signed_in=signed_in, auth=self
        )
        await self._app(scope, receive, send)

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
            if not self._failures.add(address):
                raise _too_many_guesses()
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
        except Problem:
            self.count_guess(address, secret, right=False)
            raise
        self.count_guess(address, secret, right=True)
        return credential

    def _credential(self, secret: str, scope: Scope) -> Credential:
        if self._issuer is None or secret.startswith(PREFIX):
            with self._context.database.read() as session:
                token, member = check_token(self._context, session, secret)
                self._make_ready(session, member, scope)
                return Credential(member, token.id)
        subject = self._issuer.subject(secret)
        with self._context.database.read() as session:
            found = find_subject(session, subject)
            if found is None or found.disabled is not None:
                raise unauthorized()
            self._make_ready(session, found, scope)
        return Credential(found, None, f"oidc-{hashed(secret)[:12]}")

    def _make_ready(self, session: Session, member: Member, scope: Scope) -> None:
        """Read what the route needs while the transaction is open."""
        if self._prepare is not None:
            ready = self._prepare(self._context, session, member, scope)
            scope.setdefault("state", {})["prepared"] = ready

    def _check_cookie(self, scope: Scope) -> SignedIn:
        cookie = cookie_of(scope)
        if not cookie:
            raise unauthorized()
        with self._context.database.read() as session:
            return check_session(self._context, session, cookie)


def is_public(path: str) -> bool:
    return path in PUBLIC or path.startswith(PUBLIC[-1])


def address_of(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def cookie_of(scope: Scope) -> str:
    try:
        found = SimpleCookie(_header(scope, b"cookie")).get(COOKIE)
    except CookieError:
        return ""
    return found.value if found is not None else ""


def _guessed(address: str, secret: str) -> str:
    """The token that is guessed at, from this address; one without an id is a token of its own."""
    return hashed(f"{address} {split_token(secret)[0] or secret}")


def _too_many_guesses() -> Problem:
    return Problem(ProblemCode.TOO_MANY, "too many wrong tokens; wait a minute", wait=60)


def _header(scope: Scope, name: bytes) -> str:
    return dict(scope["headers"]).get(name, b"").decode("latin-1")


def _to_sign_in(scope: Scope) -> RedirectResponse:
    """Redirect to the sign-in page, and from there back to a path of this server."""
    path = scope["path"] if scope["method"] == "GET" else "/"
    return RedirectResponse(f"/sign-in?next={quote(path, safe='/')}", status_code=303)
