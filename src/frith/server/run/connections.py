"""Connections that send no complete request head in time are closed, and the oldest of too many at once.

uvicorn waits forever for the first line of a request and for its headers, however many, so a few
hundred silent callers could take all the connections that a process may have, and one that keeps
talking all of its memory. Here the wait has an end, an unfinished head has at most 16 KB, and only
so many connections may wait at once.
"""

from __future__ import annotations

import asyncio
import contextlib

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_MAX_FILES = 65_536
_MAX_KEPT = 16 * 1024  # bytes that the parser keeps: of a head without an end, or after a body
WAITING = 1_000
"""Connections without a request that are kept open."""


def patient_for(seconds: float) -> type[HttpToolsProtocol]:
    """A protocol that waits at most `seconds` for the whole head of a request."""
    waiting: dict[HttpToolsProtocol, None] = {}

    class Patient(HttpToolsProtocol):
        _hanging_up: asyncio.TimerHandle | None = None
        _is_in_head, _new_bytes, _kept_bytes = False, 0, 0

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            self._new_bytes = len(data)
            self._kept_bytes += len(data)
            super().data_received(data)
            if self._kept_bytes > _MAX_KEPT and not self.transport.is_closing():
                self.send_400_response("The head of this request is too long.")
            self._watch()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            self._is_in_head, self._kept_bytes = True, self._new_bytes

        def on_header(self, name: bytes, value: bytes) -> None:
            if self._is_in_head:  # one that follows the body must not replace one that was checked
                super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._is_in_head, self._kept_bytes = False, 0
            super().on_headers_complete()

        def on_body(self, body: bytes) -> None:
            self._kept_bytes = 0
            super().on_body(body)

        def on_message_complete(self) -> None:
            self._kept_bytes = 0
            super().on_message_complete()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop_watching()

        def _watch(self) -> None:
            """Start the clock while no request is being answered; more bytes do not reset it."""
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_watching()
            elif self._hanging_up is None:
                self._hanging_up = self.loop.call_later(seconds, self._hang_up)
                waiting[self] = None
                if len(waiting) > WAITING:
                    next(iter(waiting))._hang_up()  # type: ignore[attr-defined]

        def _stop_watching(self) -> None:
            waiting.pop(self, None)
            if self._hanging_up is not None:
                self._hanging_up.cancel()
                self._hanging_up = None

        def _hang_up(self) -> None:
            self._stop_watching()
            if self.cycle is None or self.cycle.response_complete:
                self.transport.close()

    return Patient


def allow_many_files() -> None:
    """Raise this process's limit on open files, and so on connections, as far as the system allows."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
        if soft != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
