"""Connections that send no complete request head in time are closed, and the oldest of too many at once.

uvicorn waits forever for the first line of a request and for its headers, so a few hundred silent
callers could take all the connections that a process may have. And each may send 16 KB of headers
first: some thousands of them would take the server's memory within that time.
"""

from __future__ import annotations

import asyncio
import contextlib

from uvicorn.protocols.http.h11_impl import H11Protocol

_MAX_FILES = 65_536
WAITING = 1_000
"""Connections without a request that are kept open."""


def patient_for(seconds: float) -> type[H11Protocol]:
    """A protocol that waits at most `seconds` for the whole head of a request."""
    waiting: dict[H11Protocol, None] = {}

    class Patient(H11Protocol):
        _hanging_up: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

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
