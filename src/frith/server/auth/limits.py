"""How much callers may take: requests a second, wrong tokens a minute, heavy reads at once, a body."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frith.client.kinds import ProblemCode
from frith.server.problems import Problem
from frith.server.settings import Settings

_REMEMBERED = 10_000  # callers
_LOOK_SECONDS = 0.05


class RateLimit:
    """At most `most` events in every `seconds`, for each of many callers; a bucket that refills."""

    def __init__(self, most: int, seconds: float, clock: Callable[[], float]):
        self._most, self._seconds, self._clock = most, seconds, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def is_full(self, caller: str) -> bool:
        with self._lock:
            return self._level(caller) + 1 > self._most

    def add(self, caller: str) -> bool:
        """Count an event; False where there was no room for it."""
        with self._lock:
            level = self._level(caller)
            if level + 1 > self._most:
                return False
            self._levels[caller] = (level + 1, self._clock())
            self._levels.move_to_end(caller)
            while len(self._levels) > _REMEMBERED:
                self._levels.popitem(last=False)
            return True

    def _level(self, caller: str) -> float:
        level, at = self._levels.get(caller, (0.0, 0.0))
        return max(0.0, level - (self._clock() - at) * self._most / self._seconds)


class ConcurrencyLimit:
    """At most `most` callers inside at once, and one caller in at most half of the places.

    Who comes when there is no place waits for one, up to `patience` seconds. A place is held until
    the answer is sent, and whoever reads it slowly leaves some to others.
    """

    def __init__(self, most: int, patience: float = 5):
        self._most, self._patience, self._inside = most, patience, list[str]()

    @asynccontextmanager
    async def place_for(self, caller: str) -> AsyncIterator[None]:
        until = time.monotonic() + self._patience
        while not self._has_place(caller):
            if time.monotonic() > until:
                raise Problem(
                    ProblemCode.UNAVAILABLE, "the server is busy; wait a few seconds", wait=3
                )
            await asyncio.sleep(_LOOK_SECONDS)
        self._inside.append(caller)
        try:
            yield
        finally:
            self._inside.remove(caller)

    def _has_place(self, caller: str) -> bool:
        most_of_one = (self._most + 1) // 2
        return len(self._inside) < self._most and self._inside.count(caller) < most_of_one


class BodyLimit:
    """Reads a whole body before the application sees it, within its limits of size and time."""

    def __init__(self, app: ASGIApp, settings: Settings):
        self._app, self._settings = app, settings

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._settings.body_seconds):
                body = await self._read(scope, receive)
        except TimeoutError:
            raise Problem(ProblemCode.SLOW, "the body took too long to arrive") from None
        if body is None:
            return
        await self._app(scope, _replayed(body, receive), send)

    async def _read(self, scope: Scope, receive: Receive) -> bytes | None:
        most = self._settings.body_bytes
        too_large = Problem(ProblemCode.TOO_LARGE, f"a body has at most {most:,} bytes")
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if stated.isdigit() and (len(stated) > 18 or int(stated) > most):
            raise too_large
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > most:
                raise too_large
            if not message.get("more_body", False):
                return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Callable[[], Any]:
    """A `receive` that gives the body once and then what the connection says."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
