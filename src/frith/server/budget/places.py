"""Places for what takes the server long: few, and at most half of them for one member."""

from __future__ import annotations

import threading
from collections.abc import Callable

from frith.client.kinds import ProblemCode
from frith.server.problems import Problem

_WAIT = 10  # seconds of Retry-After


class Places:
    """At most `limit` at once; who finds no place gets 429 with the sentence `busy`, and does not wait."""

    def __init__(self, limit: int, busy: str):
        self._limit, self._busy, self._taken = limit, busy, list[str | None]()
        self._lock = threading.Lock()

    @property
    def free(self) -> int:
        return self._limit - len(self._taken)

    def take(self, member: str | None = None) -> Callable[[], None]:
        """Take a place, and return what gives it back; None may take every place."""
        share = self._limit if member is None else (self._limit + 1) // 2
        with self._lock:
            if not self.free or self._taken.count(member) >= share:
                raise Problem(ProblemCode.TOO_MANY, self._busy, wait=_WAIT)
            self._taken.append(member)
        return lambda: self._give_back(member)

    def _give_back(self, member: str | None) -> None:
        with self._lock:
            self._taken.remove(member)
