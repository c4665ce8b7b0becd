"""Connections that send no complete request head in time are closed, and the oldest of too many at once.

uvicorn waits forever for the first line of a request and for its headers, and for callers to read what
they asked for, so a few hundred silent ones could take all the connections that a process may have.
"""

from __future__ import annotations

import asyncio
import contextlib

from frith.server.run.one_request import OneRequest

_MAX_FILES = 65_536
WAITING = 1_000
"""Connections without a request that are kept open."""


def patient_for(seconds: float) -> type[OneRequest]:
    """A protocol that waits at most `seconds` for the whole head of a request, and for a reader."""
    waiting: dict[OneRequest, None] = {}

    class Patient(OneRequest):
        _hanging_up: asyncio.TimerHandle | None = None
        _giving_up: asyncio.TimerHandle | None = None

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def pause_writing(self) -> None:
            super().pause_writing()
            self._giving_up = self.loop.call_later(seconds, self.transport.abort)

        def resume_writing(self) -> None:
            super().resume_writing()
            if not self.transport.is_closing():
                self._stop_giving_up()

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop_watching()
            self._stop_giving_up()

        def _watch(self) -> None:
            """Start the clock while no request is being answered; more bytes do not reset it."""
            if self.is_answering:
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
            if not self.is_answering:
                self.transport.close()
                self._stop_giving_up()
                self._giving_up = self.loop.call_later(seconds, self.transport.abort)

        def _stop_giving_up(self) -> None:
            if self._giving_up is not None:
                self._giving_up.cancel()
                self._giving_up = None

    return Patient


def allow_many_files() -> None:
    """Raise this process's limit on open files, and so on connections, as far as the system allows."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
        if soft != resource.RLIM_INFINITY:
            resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, limit), hard))
