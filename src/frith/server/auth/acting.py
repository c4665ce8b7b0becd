"""Every change is recorded with who made it, or it does not happen.

`acting` opens the transaction of a change. Its event is an entry of the ledger's chain in the same
transaction, so neither exists without the other. A refusal is an event too.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import structlog
from sqlalchemy.orm import Session

from frith.client.kinds import ProblemCode
from frith.errors import BudgetExceeded, FrithError
from frith.ledger.database import StoreError
from frith.ledger.events import Event, at_desk
from frith.server.auth.limits import RateLimit
from frith.server.context import Context
from frith.server.problems import Problem

log = structlog.get_logger("frith.log")
NOBODY = "(nobody)"
"""The actor for callers who have not identified themselves."""
DONE = "done"
SINKS = "sinks"
"""The key under which a server that copies its log remembers the copies."""
_SINK_WAIT = 30  # seconds
_REFUSALS = 60  # refusals of one caller that are recorded one by one, in a minute


@dataclass(frozen=True)
class Actor:
    """Who acts: their name and role, from where, in which request and with what."""

    name: str
    role: str = ""
    address: str = ""
    request: str = ""
    via: str = ""

    def event(self, action: str, target: str, outcome: str, **facts: Any) -> Event:
        return Event(
            action, target, outcome, self.role, self.address, self.request, self.via, **facts
        )


def desk() -> Actor:
    """Whoever runs a command on the machine that has the database."""
    return Actor(at_desk(), "desk")


@contextmanager
def acting(
    context: Context, actor: Actor, action: str, target: str, *, lock: bool = True
) -> Iterator[Session]:
    """The transaction of a change; its event is written at its end.

    Locks the ledger first, as every sale does, so that no two transactions wait for each other.
    `lock=False` is for changes of a job, which lock the job before.
    """
    check_sinks(context)
    try:
        with context.database.write() as session:
            session.info.update(actor=actor.name, facts={})
            if lock:
                context.book(session).lock()
            yield session
            session.flush()
            facts = session.info["facts"]
            did, name = facts.pop("action", action), facts.pop("target", target)
            context.book(session).note(actor.event(did, name, DONE, **facts))
    except StoreError:
        raise
    except FrithError as error:
        write_refusal(context, actor, action, target, error)
        raise


def check_sinks(context: Context) -> None:
    """Refuse every change while a copy of the audit log cannot be written."""
    sinks = context.memory.get(SINKS)
    if sinks is not None and sinks.is_late():
        raise Problem(
            ProblemCode.UNAVAILABLE,
            "the audit log cannot be written outside, so nothing is changed; the operator was told",
            wait=_SINK_WAIT,
        )


def tell(session: Session, **facts: Any) -> None:
    """Add `before`, `after` and `more` to the event of this transaction.

    `action` and `target` replace the intended ones.
    """
    session.info.setdefault("facts", {}).update(facts)


def write_refusal(
    context: Context, actor: Actor, action: str, target: str, error: Exception
) -> None:
    """Record a refusal. If that fails, the refusal still stands: nothing was changed."""
    found: Refusals = context.memory.setdefault("refusals", Refusals())
    try:
        found.write(context, actor, action, target, error)
    except Exception as failure:  # noqa: BLE001 - a broken chain may raise anything here
        log.error("a refusal was not written down", error=type(failure).__name__)


class Refusals:
    """Records refusals, at most 60 a minute for one caller; further ones it only counts.

    A refusal changes nothing, and without a limit anybody could fill the ledger with them. The next one
    that is recorded says how many were not.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._written = RateLimit(_REFUSALS, 60, clock)
        self._skipped: dict[str, int] = {}
        self._lock = threading.Lock()

    def write(
        self, context: Context, actor: Actor, action: str, target: str, error: Exception
    ) -> None:
        """Record a refusal, once."""
        if getattr(error, "is_written", False):
            return
        error.is_written = True  # type: ignore[attr-defined]
        with self._lock:
            if not self._written.add(actor.name):
                self._skipped[actor.name] = self._skipped.get(actor.name, 0) + 1
                return
            skipped = self._skipped.pop(actor.name, 0)
        more = {"unwritten": skipped} if skipped else {}
        with context.database.write() as session:
            session.info["actor"] = actor.name
            event = actor.event(action, target, code_of(error), more=more)
            context.book(session).note(event)


def code_of(error: Exception) -> str:
    """The word for a refusal."""
    if isinstance(error, Problem):
        return error.code
    return ProblemCode.OVER_BUDGET if isinstance(error, BudgetExceeded) else ProblemCode.CONFLICT
