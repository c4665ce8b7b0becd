"""What one caller may take: a rate limit, a concurrency limit, and a limit on a body's size and time."""

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
    """At most `events` in every `seconds` for each caller: a bucket that refills evenly."""

    def __init__(self, events: int, seconds: float, clock: Callable[[], float]):
        self._events, self._seconds, self._clock = events, seconds, clock
        self._levels: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def is_full(self, caller: str) -> bool:
        with self._lock:
            return self._level(caller) + 1 > self._events

    def add(self, caller: str) -> bool:
        """Count an event; False if it is over the limit, which does not count."""
        with self._lock:
            level = self._level(caller)
            if level + 1 > self._events:
                return False
            self._levels[caller] = (level + 1, self._clock())
            self._levels.move_to_end(caller)
            while len(self._levels) > _REMEMBERED:
                self._levels.popitem(last=False)
            return True

    def take_back(self, caller: str) -> None:
        """Undo one `add`."""
        with self._lock:
            self._levels[caller] = (max(0.0, self._level(caller) - 1), self._clock())

    def _level(self, caller: str) -> float:
        level, at = self._levels.get(caller, (0.0, 0.0))
        return max(0.0, level - (self._clock() - at) * self._events / self._seconds)


class ConcurrencyLimit:
    """At most `places` requests at once, at most half of them from one caller.

    Further requests wait up to `patience` seconds, then get 503 with Retry-After. A place is held
    until the response is sent, so slow readers must not take all of them: whoever has none finds one
    beyond `places`, until as many again are taken.
    """

    def __init__(self, places: int, patience: float = 5):
        self._places, self._patience, self._inside = places, patience, list[str]()

    @asynccontextmanager
    async def place_for(self, caller: str) -> AsyncIterator[None]:
        until = time.monotonic() + self._patience
        while not self._has_place(caller):
            if time.monotonic() > until:
                if caller in self._inside:
                    raise Problem(
                        ProblemCode.TOO_MANY, "you read much already; wait for it", wait=3
                    )
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
        own = self._inside.count(caller)
        return own < self._share and len(self._inside) < self._places * (1 if own else 2)

    @property
    def _share(self) -> int:
        """The places that one caller may have."""
        return (self._places + 1) // 2


_PUBLIC_BYTES = 16_384  # of a body that anybody may send


class BodyLimit:
    """Reads the whole body before the application sees it, within limits of size and time."""

    def __init__(self, app: ASGIApp, settings: Settings, is_public: Callable[[str], bool]):
        self._app, self._settings, self._is_public = app, settings, is_public

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
        limit = self._settings.body_bytes
        if self._is_public(scope["path"]):
            limit = min(limit, _PUBLIC_BYTES)
        too_large = Problem(ProblemCode.TOO_LARGE, f"a body has at most {limit:,} bytes")
        stated = dict(scope["headers"]).get(b"content-length", b"0")
        if stated.isdigit() and (len(stated) > 18 or int(stated) > limit):
            raise too_large
        body = bytearray()
        while True:
            message = await receive()
            if message["type"] == "http.disconnect":
                return None
            body += message.get("body", b"")
            if len(body) > limit:
                raise too_large
            if not message.get("more_body", False):
                return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Callable[[], Any]:
    """A `receive` that returns the body once, then passes on the connection's own messages."""
    given = False

    async def next_message() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return next_message
