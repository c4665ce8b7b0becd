"""The caller of a route or a page, and the dependencies that both declare."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Depends, Query, Request

from frith.client.documents import NAME, ProblemResponse
from frith.server.auth.members import Credential
from frith.server.context import Context
from frith.server.problems import BUSY, STATUS, curators_only


class Caller:
    """The member who calls, what they came with, and the server's state."""

    def __init__(
        self, context: Context, credential: Credential, requests: Any = None, prepared: Any = None
    ):
        self.context, self.requests, self.prepared = context, requests, prepared
        self.credential, self.member = credential, credential.member
        self.read, self.write = context.database.read, context.database.write

    def must_be_curator(self) -> None:
        if not self.member.is_curator:
            raise curators_only()


async def _caller(request: Request) -> Caller:
    app, said = request.app.state, request.state
    return Caller(app.context, said.credential, app.requests, getattr(said, "prepared", None))


async def _limited(request: Request) -> AsyncIterator[None]:
    async with request.app.state.concurrency.place_for(request.state.member.name):
        yield


Called = Annotated[Caller, Depends(_caller)]
Before = Annotated[
    str | None,
    Query(pattern=NAME, max_length=63, description="The id of the last job that you have."),
]
HEAVY = [Depends(_limited)]
"""Dependencies of a route that reads or makes much: at most `heavy_reads` run at once."""
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
