"""The caller of a route or a page, and the dependencies that both declare."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractContextManager
from typing import Annotated, Any

from fastapi import Depends, Query, Request
from sqlalchemy.orm import Session
from starlette.types import Scope

from frith.client.documents import NAME
from frith.client.kinds import ProblemCode
from frith.client.responses import ProblemResponse
from frith.server.auth.access import route_of
from frith.server.auth.acting import NOBODY, Actor, acting
from frith.server.auth.members import Credential
from frith.server.context import Context
from frith.server.problems import BUSY, STATUS, Problem


class Caller:
    """The member who calls, what they came with, and the server's state."""

    def __init__(self, request: Request):
        self.context: Context = request.app.state.context
        self.requests = request.app.state.requests
        self.prepared: Any = getattr(request.state, "prepared", None)
        self.credential: Credential = request.state.credential
        self.member = self.credential.member
        self.actor = actor_of(request.scope)
        self.read = self.context.database.read

    def act(
        self, action: str, target: str, *, lock: bool = True
    ) -> AbstractContextManager[Session]:
        """The transaction of a change, recorded as this caller's."""
        return acting(self.context, self.actor, action, target, lock=lock)


def actor_of(scope: Scope) -> Actor:
    """Who makes a request, as far as known."""
    state = scope.get("state", {})
    address, request = address_of(scope), state.get("request", "")
    credential: Credential | None = state.get("credential")
    if credential is None:
        return Actor(NOBODY, "", address, request)
    member, via = credential.member, credential.token or credential.session or ""
    return Actor(member.name, member.role, address, request, via)


def address_of(scope: Scope) -> str:
    return scope["client"][0] if scope.get("client") else ""


def check_match(request: Request) -> None:
    """Refuse a request whose route is not the one that was looked up in the table of routes."""
    found, route = request.state.match, route_of(request.scope)
    if found is None or found.route != f"{request.method} {route}":
        raise Problem(ProblemCode.NOT_FOUND, "there is nothing here")


async def _caller(request: Request) -> Caller:
    check_match(request)
    return Caller(request)


async def _limited(request: Request) -> AsyncIterator[None]:
    async with request.app.state.concurrency.place_for(request.state.member.name):
        yield


Called = Annotated[Caller, Depends(_caller)]
Before = Annotated[
    str | None,
    Query(pattern=NAME, max_length=63, description="The id of the last job that you have."),
]
HEAVY = [Depends(_limited)]
"""Dependencies of an expensive route: at most `heavy_reads` of them run at once."""
_RETRY_AFTER = {
    "description": "Seconds to wait before asking again, where a wait helps.",
    "schema": {"type": "integer", "minimum": 1},
}
PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": ProblemResponse, "description": "Refused"}
    | ({"headers": {"Retry-After": _RETRY_AFTER}} if status in BUSY else {})
    for status in set(STATUS.values())
}
"""Every route may refuse in these ways."""
