"""Connections that send no complete request head in time are closed, and the oldest of too many at once.

uvicorn waits forever for the first line of a request and for its headers, and for callers to read what
they asked for, so a few hundred silent ones could take all the connections that a process may have.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import Any

from frith.server.run.one_request import OneRequest

_MAX_FILES = 65_536
_OTHER_FILES = 200  # that a server needs beside connections, or accepts before it looks at one
_LEAST_READ = 1_000  # bytes of an answer that a caller reads in that time, if it still reads
WAITING = 1_000
"""Connections without a request that are kept open."""


def patient_for(seconds: float, most: int = _MAX_FILES) -> type[OneRequest]:
    """A protocol that waits at most `seconds` for the whole head of a request, and for a reader.

    A connection past the `most` is closed at once.
    """
    waiting: dict[OneRequest, None] = {}
    most_waiting = min(WAITING, most // 2)

    class Patient(OneRequest):
        _hanging_up: asyncio.TimerHandle | None = None
        _look_again: asyncio.TimerHandle | None = None
        _unsent, _has_read, _was_closing = 0, False, False

        def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.abort()
                return
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
            unsent, is_closing = unsent_of(self.transport), self.transport.is_closing()
            read = self._unsent - unsent  # less than none if an answer was added
            has_stopped = unsent and 0 <= read < _LEAST_READ and not self._has_read
            is_left = is_closing and self._was_closing and not unsent  # TLS, without a goodbye
            if has_stopped or is_left:
                self.transport.abort()
                return
            self._unsent, self._has_read, self._was_closing = unsent, False, is_closing
            self._look_again = self.loop.call_later(seconds, self._look)

        def _watch(self) -> None:
            """Start the clock while no request is being answered; more bytes do not reset it."""
            if self.is_answering:
                self._stop_watching()
            elif self._hanging_up is None:
                self._hanging_up = self.loop.call_later(seconds, self._hang_up)
                waiting[self] = None
                if len(waiting) > most_waiting:
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


def unsent_of(transport: Any) -> int:
    """Bytes that the system has not taken; TLS does not count those of the connection below it."""
    below = getattr(getattr(transport, "_ssl_protocol", None), "_transport", None)
    lower = 0 if below is None else below.get_write_buffer_size()
    return int(transport.get_write_buffer_size() + lower)


def allow_many_files() -> int:
    """Raise this process's limit on open files as far as the system allows; how many connections fit.

    Past the limit, asyncio would write a traceback for every connection that it cannot accept.
    """
    allowed = _MAX_FILES
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = _MAX_FILES if hard == resource.RLIM_INFINITY else min(hard, _MAX_FILES)
        if soft != resource.RLIM_INFINITY:
            allowed = max(soft, limit)
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    return max(allowed - _OTHER_FILES, 2)
