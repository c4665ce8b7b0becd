"""A walk along the chain: which entries were changed, and which charges to look at again.

A walk can stop at the head and continue later from there: it remembers what it has seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction

from frith.ledger.entries import (
    ACCEPTED,
    HASHED,
    SPENDING,
    EntryKind,
    Receipt,
    after,
    budget_in,
    hash_of,
    neighbors_in,
    terms_in,
)
from frith.ledger.events import ACCOUNT
from frith.ledger.state import State
from frith.privacy.exact import readable
from frith.privacy.window import is_outside

PATIENCE = timedelta(days=7)
"""How far the times of two entries may be apart before the chain's own time stops."""


@dataclass(frozen=True, slots=True)
class Fault:
    """What an honest book would not hold, and the table that it is about; None: the chain itself."""

    text: str
    table: str | None = None


@dataclass(frozen=True, slots=True)
class Verification:
    """What a walk over the whole chain found; `head` is the last hash, to be noted elsewhere.

    `faults` are what an honest book would not hold. `flagged` are unchanged charges whose answers may
    have revealed more than was charged for.
    """

    entries: int
    head: str
    faults: tuple[Fault, ...]
    flagged: tuple[str, ...] = ()

    @property
    def problems(self) -> tuple[str, ...]:
        return tuple(fault.text for fault in self.faults)

    @property
    def holds(self) -> bool:
        """Whether every entry is as it was written, and what it is about as it says."""
        return not self.faults

    @property
    def is_clean(self) -> bool:
        """Whether the chain holds and nothing is flagged."""
        return not self.faults and not self.flagged


class Walk:
    """Everything that an honest book would not hold, found entry by entry.

    `time` is the chain's own: the latest time of an entry. An entry that is dated more than
    `patience` after it is a jump: it does not count until the clock agrees again, or until the
    operator accepts the clock.
    """

    def __init__(self, patience: timedelta = PATIENCE) -> None:
        self.entries, self.hash, self.is_broken = 0, "", False
        self.budgets: dict[str, Receipt] = {}
        self.neighbors: dict[str, str] = {}
        self.terms: dict[str, str] = {}
        self.time: datetime | None = None
        self.accepted: int = 0
        self.jump: Receipt | None = None
        self.flagged: list[str] = []
        self._patience = patience
        self._sums: dict[str, tuple[Fraction, Fraction]] = {}
        self._held: dict[tuple[str, str], Fraction] = {}

    def step(self, e: Receipt, salt: str) -> Iterator[str]:
        """The problems of the next entry. After a gap or an edit, sums are no longer checked."""
        fields = tuple(getattr(e, name) for name in HASHED)
        if e.id != self.entries + 1:
            yield f"entry {self.entries + 1} is missing"
            self.is_broken = True
        elif e.hash != hash_of(self.hash, salt, fields):
            yield f"entry {e.id} is not what was written"
            self.is_broken = True
        self.entries, self.hash = e.id, e.hash
        self._tell_time(e)
        if e.kind is EntryKind.TERMS and e.account != ACCOUNT:
            subject, meaning = terms_in(e)
            self.terms[subject] = meaning
        if e.kind in SPENDING and e.account == ACCOUNT:
            yield f"entry {e.id} spends from the account of events, which no list shows"
        if e.kind is EntryKind.BUDGET:
            self.budgets[e.account] = e
            yield from self._neighbors(e)
        if e.kind is EntryKind.CHARGE and e.request is None and is_outside(e.amount, e.unit):
            self.flagged.append(_outside(e))
        if not self.is_broken:
            yield from self._misspent(e)

    def skip(self, entry: int, hash: str) -> None:
        """Go on after an entry that cannot be read."""
        self.entries, self.hash, self.is_broken = entry, hash, True

    def doubt(self, state: State) -> str | None:
        """How an account's row differs from the chain; None if they agree."""
        written = self.budgets.get(state.name)
        said = (state.total, str(state.budget), state.unit)
        if written is None or said != (written.amount, budget_in(written), written.unit):
            return f"account {state.name!r}: its budget is not the one last written"
        if state.neighbors != self.neighbors.get(state.name):
            return f"account {state.name!r}: its neighbors are not those that were written"
        if (state.spent, state.held) != self._sums.get(state.name):
            return f"account {state.name!r}: what it spent is not what its entries say"
        return None

    def agrees(self, now: datetime) -> bool:
        """Whether a clock is close to the chain's own time, or there is none yet."""
        return self.time is None or abs(now - self.time) <= self._patience

    def _tell_time(self, e: Receipt) -> None:
        at = datetime.fromisoformat(e.at)
        if e.kind is EntryKind.TIME and e.purpose == ACCEPTED:
            self.accepted = e.id
        elif self.time is not None and at - self.time > self._patience:
            self.jump = self.jump or e
            return
        self.time = at if self.time is None else max(self.time, at)
        self.jump = None

    def _neighbors(self, e: Receipt) -> Iterator[str]:
        """Neighbors are written when an account is opened or declared, once; setting a budget names none."""
        said = neighbors_in(e)
        if said and self.neighbors.setdefault(e.account, said) != said:
            yield f"entry {e.id}: other neighbors than those of {e.account!r}"

    def _misspent(self, e: Receipt) -> Iterator[str]:
        before = self._sums.get(e.account, (Fraction(0), Fraction(0)))
        self._sums[e.account] = after(e.kind, e.request, e.amount, *before)
        if self._sums[e.account] != (e.spent, e.held) or e.held < 0:
            yield f"entry {e.id}: its running totals do not add up"
        budget = self.budgets.get(e.account)
        total = budget.amount if budget is not None else Fraction(0)
        if e.kind in (EntryKind.RESERVE, EntryKind.CHARGE) and e.spent + e.held > max(
            total, sum(before)
        ):
            yield f"entry {e.id}: more than the budget of {e.account!r}"
        if e.request is not None and e.kind in SPENDING:
            yield from self._out_of_step(e, (e.account, e.request))

    def _out_of_step(self, e: Receipt, step: tuple[str, str]) -> Iterator[str]:
        """A reservation comes first and once; a charge or a cancellation ends it, in full."""
        if e.kind is EntryKind.RESERVE:
            if step in self._held:
                yield f"entry {e.id}: a second reservation"
            self._held[step] = e.amount
            return
        held = self._held.pop(step, None)
        if held is None:
            yield f"entry {e.id}: a {e.kind.word} without a reservation"
        elif held != e.amount:
            yield f"entry {e.id}: a {e.kind.word} of another amount than was reserved"


def jumped(e: Receipt) -> str:
    return (
        f"entry {e.id} is dated {e.at}, long after the entries before it: no budget renews until the "
        "clock is right again, or until `frith ledger accept-clock` says that it is"
    )


def undeclared(name: str) -> str:
    return (
        f"account {name!r} was opened before accounts had neighbors: charges for records and for "
        "persons may have been added up in it; if they were all of one kind, say which with "
        "`frith ledger declare`"
    )


def _outside(e: Receipt) -> str:
    return (
        f"entry {e.id}: a charge of {e.unit} {readable(e.amount)} to {e.account!r} "
        f"({e.purpose}), which is outside the window of amounts that frith accepts today; its "
        "release may have revealed more than was charged"
    )
