"""The sources that a worker leaves alone for a while because it could not open them."""

from __future__ import annotations

from collections.abc import Iterator

from frith.server.context import Context
from frith.server.jobs.lifecycle import Reads

_LONGEST = 60  # seconds


class Quarantine:
    """Waits twice as long after each failure in a row: 1 second, 2, 4, up to a minute.

    So neither a worker without its secrets nor a broken source fails the whole queue, and jobs that read
    something else continue. Each worker has its own quarantine: another may have what this one lacks.
    """

    def __init__(self, context: Context):
        self._context = context
        self._failures: dict[Reads, int] = {}
        self._until: dict[Reads, str] = {}

    def __iter__(self) -> Iterator[Reads]:
        """The sources to leave alone now."""
        now = self._context.now()
        return (reads for reads, until in self._until.items() if until > now)

    def add(self, reads: Reads) -> dict[str, int]:
        """Note a failure; returns the failures in a row and the seconds to wait."""
        failures = self._failures[reads] = self._failures.get(reads, 0) + 1
        seconds = min(2 ** (failures - 1), _LONGEST)
        self._until[reads] = self._context.now(seconds=seconds)
        return {"failures": failures, "wait": seconds}

    def lift(self, reads: Reads) -> None:
        """Note that the source could be opened."""
        self._failures.pop(reads, None)
        self._until.pop(reads, None)
