"""Connections that send no complete request head in time are closed, and the oldest of too many at once.

uvicorn waits forever for the first line of a request and for its headers, and for callers to read what
they asked for, so a few hundred silent ones could take all the connections that a process may have.
"""

from __future__ import annotations

import asyncio
import contextlib

from frith.server.run.one_request import OneRequest

_MAX_FILES = 65_536
_LEAST_READ = 1_000  # bytes of an answer that a caller reads in that time, if it still reads
WAITING = 1_000
"""Connections without a request that are kept open."""


def patient_for(seconds: float) -> type[OneRequest]:
    """A protocol that waits at most `seconds` for the whole head of a request, and for a reader."""
    waiting: dict[OneRequest, None] = {}

    class Patient(OneRequest):
        _hanging_up: asyncio.TimerHandle | None = None
        _look_again: asyncio.TimerHandle | None = None
        _unsent, _has_read = 0, False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            self._watch()
            self._look()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            self._watch()

        def resume_writing(self) -> None:
            super().resume_writing()
            self._has_read = True

        def connection_lost(self, exc: Exception | None) -> None:
            super().connection_lost(exc)
            self._stop_watching()
            if self._look_again is not None:
                self._look_again.cancel()

        def _look(self) -> None:
            """Now and then, see whether the caller reads what it is sent; if not, nothing waits for it."""
            unsent = self.transport.get_write_buffer_size()
            has_stopped = unsent and 0 < self._unsent < unsent + _LEAST_READ
            if has_stopped and not self._has_read:
                self.transport.abort()
                return
            self._unsent, self._has_read = unsent, False
            self._look_again = self.loop.call_later(seconds, self._look)

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
            if not self.is_answering and not self.transport.is_closing():
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
