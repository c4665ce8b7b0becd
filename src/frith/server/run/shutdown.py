"""How to stop a server or a worker: SIGTERM or ctrl-C, and the same again to force it."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Shutdown:
    """Inside its `with` block, notes a signal and passes it on instead of letting it kill the process."""

    def __init__(self) -> None:
        self.requested = self.forced = False
        self._listener: Callable[[], None] = lambda: None
        self._handlers: list[Any] = []

    def __enter__(self) -> Shutdown:
        self._handlers = [signal.signal(number, lambda *_: self.request()) for number in _SIGNALS]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(_SIGNALS, self._handlers, strict=True):
            signal.signal(number, handler)

    def request(self) -> None:
        """Stop; a second call forces it."""
        self.requested, self.forced = True, self.requested
        self._listener()

    def pass_on(self, listener: Callable[[], None]) -> None:
        """Call `listener` on every request to stop, and now if there was one already."""
        self._listener = listener
        if self.requested:
            listener()
