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
        self._context, self._over, self._due = context, threading.Event(), 0.0
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        context = self._context
        while not self._over.is_set():
            for step in (
                self._look_if_due,
                lambda: keep_time(context),
                lambda: tell_alerts(context),
            ):
                try:
                    step()
                except _Over:
                    return
                except Exception as error:  # noqa: BLE001 - whatever it is, the watch goes on
                    name = type(error).__name__
                    log.warning("the ledger cannot be read; trying again", error=name)
            self._over.wait(_FOLLOW_SECONDS)

    def _look_if_due(self) -> None:
        is_broken = self._context.watch.state is ChainState.BROKEN  # or was: look again
        if is_broken or time.monotonic() >= self._due:
            self._look()
            hours = self._context.settings.verify_hours
            self._due = time.monotonic() + (hours * 3600 or float("inf"))

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
