"""What one process knows of the chain: how far it has checked it, what it found, and its time.

Entries that were checked are not read again before the next whole verification: the first new entry
carries their hash. A sale reads what is new, then compares the rows that it relies on with what the
chain says of them.
"""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

import structlog

from frith.client.kinds import ProblemCode
from frith.ledger import Book, Fault, Verification
from frith.ledger.anchored import Anchors
from frith.ledger.book import Clock
from frith.ledger.database import Database
from frith.ledger.walk import Walk
from frith.ledger.witness import WitnessError
from frith.server.problems import Problem

log = structlog.get_logger("frith.ledger")
_WAIT_SECONDS = 5
UNSOUND = "the ledger does not check, so nothing is sold here; the curator was told"
"""All that an analyst learns; the log, the ledger's page and `frith ledger verify` say what it is."""
OUT_OF_TIME = (
    "the server's clock and its ledger disagree about the time, so nothing is sold from a budget that "
    "renews; the curator was told"
)


class ChainState(StrEnum):
    """What is known of the chain, for whoever asks whether the server is ready."""

    UNCHECKED = "unchecked"
    HOLDS = "holds"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Known:
    """How far a process has checked the chain, and what it found."""

    walk: Walk
    faults: frozenset[Fault]
    accepted: int
    began: tuple[datetime, float]


class Watch:
    """A walk along a database's chain that continues whenever somebody relies on it."""

    def __init__(
        self,
        database: Database,
        clock: Clock,
        patience: timedelta,
        steady: Callable[[], float],
        anchors: Anchors | None = None,
    ):
        self._anchors = anchors
        self._database, self._clock, self._patience = database, clock, patience
        self._steady, self._began = steady, (clock(), steady())
        self._walk, self._faults = Walk(patience), frozenset[Fault]()
        self._accepted = 0
        self._lock = threading.RLock()
        self.last: Verification | None = None
        """The last whole verification; `at` is when it was."""
        self.at: datetime | None = None
        self.sees_witness = True
        """Whether the witness could be read and written to, the last time; True without one."""

    @property
    def state(self) -> ChainState:
        if self._faults:
            return ChainState.BROKEN
        return ChainState.HOLDS if self._walk.entries else ChainState.UNCHECKED

    def follow(self) -> Walk:
        """Check every entry that is new. Sees what is committed, also from within a transaction."""
        with self._alone():
            if not self._walk.is_broken:
                with self._database.read() as session:
                    self._find(map(Fault, Book(session.connection()).follow(self._walk)))
            if self._walk.accepted > self._accepted:  # the operator has checked the clock
                self._accepted, self._began = self._walk.accepted, (self._clock(), self._steady())
            return self._walk

    def compare(self, *, whole: bool = False) -> list[Fault]:
        """Hold the chain against its witness; what it lacks blocks every sale."""
        if self._anchors is None:
            return []
        with self._seeing():
            found = [Fault(text) for text in self._anchors.doubts(self._database, whole=whole)]
        self._find(found)
        return found

    def begin(self) -> None:
        """Anchor a chain that has no entry yet, at a witness that has no line yet."""
        if self._anchors is not None and not self.follow().entries:
            with self._seeing():
                is_new = self._anchors.is_empty()
            if is_new:
                self.anchor()

    def has_ended(self, job: str) -> bool:
        """Whether a job that looks unfinished has stored an answer once, by the witness."""
        if self._anchors is None:
            return False
        with self._seeing():
            return self._anchors.has_ended(job)

    def anchor(self, *, ended: str = "") -> None:
        """Write the head of the chain to the witness; all entries up to it were checked.

        `ended` is a job whose answer is about to be stored.
        """
        if self._anchors is None:
            return
        walk = self.follow()
        if walk.is_broken or any(fault.table is None for fault in self._faults):
            raise Problem(ProblemCode.UNAVAILABLE, UNSOUND)
        with self._seeing():
            self._anchors.write(walk.entries, walk.hash, ended=ended)

    @contextmanager
    def _seeing(self) -> Iterator[None]:
        """Remember whether the witness answers."""
        try:
            yield
        except WitnessError:
            self.sees_witness = False
            raise
        self.sees_witness = True

    def known(self) -> Known:
        """What is known so far, for a process that continues from it."""
        with self._alone():
            return Known(copy.deepcopy(self.follow()), self._faults, self._accepted, self._began)

    def go_on_from(self, known: Known) -> None:
        """Believe what another process of this machine has checked."""
        with self._alone():
            self._walk, self._faults = known.walk, known.faults
            self._accepted, self._began = known.accepted, known.began

    def adopt(self, walk: Walk, found: Verification) -> None:
        """Go on from a walk along the whole chain, and believe what it found."""
        with self._alone():
            self._walk, self._faults = walk, frozenset()
            self._find(found.faults)
            self.last, self.at = found, self._clock()

    def require(self, table: str, *doubts: str | None) -> None:
        """Refuse to sell from a table that something was found about; `doubts` are found now."""
        self._find(Fault(doubt, table) for doubt in doubts if doubt is not None)
        if any(fault.table in (None, table) for fault in self._faults):
            raise Problem(ProblemCode.UNAVAILABLE, UNSOUND)

    def require_clock(self) -> None:
        """Refuse to sell from a budget that renews while the clock and the chain disagree."""
        now, walk = self._clock(), self._walk
        if not self._agrees(now, walk):
            seen = None if walk.time is None else walk.time.isoformat()
            log.error("the clock and the ledger disagree", clock=now.isoformat(), ledger=seen)
            raise Problem(ProblemCode.UNAVAILABLE, OUT_OF_TIME)

    @property
    def time(self) -> datetime:
        """The time that renewals follow: the clock's or the chain's, whichever is later.

        While they disagree it is the chain's, so that no period begins.
        """
        now, walk = self._clock(), self._walk if self._walk.entries else self.follow()
        if walk.time is None:
            return now
        return max(now, walk.time) if self._agrees(now, walk) else walk.time

    @property
    def wants_time(self) -> bool:
        """Whether the chain's own time is about to fall behind a clock that it agrees with."""
        now, walk = self._clock(), self._walk
        is_late = walk.time is not None and now - walk.time > self._patience / 2
        return is_late and self._agrees(now, walk)

    def _agrees(self, now: datetime, walk: Walk) -> bool:
        """The clock is near the chain's time, and ran as fast as this process since it began."""
        began, steady = self._began
        passed = timedelta(seconds=self._steady() - steady)
        return walk.agrees(now) and abs(now - began - passed) <= self._patience

    def _find(self, faults: Iterable[Fault]) -> None:
        new = [fault for fault in faults if fault not in self._faults]
        for fault in new:
            log.error("the ledger does not check", problem=fault.text, table=fault.table)
        self._faults |= frozenset(new)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread walks at a time; others wait a little."""
        if not self._lock.acquire(timeout=_WAIT_SECONDS):
            raise Problem(
                ProblemCode.UNAVAILABLE, "the ledger is being checked; try again soon", wait=5
            )
        try:
            yield
        finally:
            self._lock.release()
