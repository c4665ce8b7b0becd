"""How a server or a worker is told to end: SIGTERM or ctrl-C, and the same again to hurry."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

_SIGNALS = (signal.SIGTERM, signal.SIGINT)


class Ending:
    """While it is entered, a signal is noted and passed on, and does not end the process itself."""

    def __init__(self) -> None:
        self.wanted = self.hurried = False
        self._tell: Callable[[], None] = lambda: None
        self._before: list[Any] = []

    def __enter__(self) -> Ending:
        self._before = [signal.signal(number, lambda *_: self.ask()) for number in _SIGNALS]
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in zip(_SIGNALS, self._before, strict=True):
            signal.signal(number, handler)

    def ask(self) -> None:
        """Once to end, again to hurry."""
        self.wanted, self.hurried = True, self.wanted
        self._tell()

    def pass_on(self, tell: Callable[[], None]) -> None:
        """Call `tell` whenever the end is asked for, and now if it was."""
        self._tell = tell
        if self.wanted:
            tell()
