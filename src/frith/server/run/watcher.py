"""A thread of the server that verifies the ledger: all of it now and then, what is new every minute."""

from __future__ import annotations

import threading
import time

import structlog

from frith.ledger.entries import RUNNING
from frith.server.context import Context
from frith.server.jobs.verification import look
from frith.server.run.alerting import tell_alerts
from frith.server.watch import ChainState

log = structlog.get_logger("frith.ledger")
_FOLLOW_SECONDS = 60


class Watcher:
    """Watches inside its `with` block. Sales continue meanwhile, and stop if it finds something."""

    def __init__(self, context: Context):
        self._context, self._over = context, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        every, due = self._context.settings.verify_hours * 3600, 0.0
        while not self._over.is_set():
            try:
                is_broken = self._context.watch.state is ChainState.BROKEN  # or was: look again
                if is_broken or time.monotonic() >= due:
                    self._look()
                    due = time.monotonic() + (every or float("inf"))
                keep_time(self._context)
                tell_alerts(self._context)
            except _Over:
                return
            except Exception as error:  # noqa: BLE001 - whatever it is, the watch goes on
                log.warning("the ledger cannot be read; trying again", error=type(error).__name__)
            self._over.wait(_FOLLOW_SECONDS)

    def _look(self) -> None:
        """Verify everything, at half speed: requests are answered by the same process."""
        since = time.monotonic()

        def rest() -> None:
            nonlocal since
            if self._over.wait(time.monotonic() - since):
                raise _Over
            since = time.monotonic()

        found = look(self._context, rest)
        log.info("ledger verified", entries=found.entries, holds=found.holds)


class _Over(Exception):
    """The server stops."""


def keep_time(context: Context) -> None:
    """Check new entries of the chain, and write the time into it before its own falls behind.

    Then compare it with its witness, which gets its head.
    """
    context.watch.follow()
    if context.watch.wants_time:
        with context.database.write() as session:
            context.book(session).tell_time(RUNNING)
    context.watch.compare()
    if context.watch.state is not ChainState.BROKEN:
        context.watch.anchor()
