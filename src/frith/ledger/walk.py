"""A walk along the whole chain: which entries were changed, and which charges to look at again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from frith.ledger.entries import EntryKind, Receipt, after, hash_of, neighbors_in
from frith.privacy.exact import readable
from frith.privacy.window import is_outside

_STEPS = {
    (None, EntryKind.RESERVE),
    (EntryKind.RESERVE, EntryKind.CHARGE),
    (EntryKind.RESERVE, EntryKind.CANCEL),
}
"""The kinds that may follow each other in one request."""


@dataclass(frozen=True, slots=True)
class Verification:
    """What a look at the whole chain found; `head` is the last hash, to be noted elsewhere.

    `problems` are what an honest book would not hold. `flagged` are charges that are as they were
    written, and whose answers may have told more than was charged for.
    """

    entries: int
    head: str
    problems: tuple[str, ...]
    flagged: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether every entry is as it was written."""
        return not self.problems

    @property
    def is_clean(self) -> bool:
        """Whether the chain holds and nothing is flagged."""
        return not self.problems and not self.flagged


class Walk:
    """Everything that an honest book would not hold, found entry by entry."""

    def __init__(self) -> None:
        self.entries, self.hash, self._broken = 0, "", False
        self.budgets: dict[str, Receipt] = {}
        self.neighbors: dict[str, str] = {}
        self.flagged: list[str] = []
        self._sums: dict[str, tuple[Fraction, Fraction]] = {}
        self._steps: dict[tuple[str, str], EntryKind] = {}

    def step(self, e: Receipt, salt: str) -> Iterator[str]:
        """The problems of the next entry. After a gap or an edit, sums are no longer checked."""
        fields = tuple(getattr(e, name) for name in Receipt.__slots__[:-1])
        if e.id != self.entries + 1:
            yield f"entry {self.entries + 1} is missing"
            self._broken = True
        elif e.hash != hash_of(self.hash, salt, fields):
            yield f"entry {e.id} is not what was written"
            self._broken = True
        self.entries, self.hash = e.id, e.hash
        if e.kind is EntryKind.BUDGET:
            self.budgets[e.account] = e
            yield from self._neighbors(e)
        if e.kind is EntryKind.CHARGE and e.request is None and is_outside(e.amount, e.unit):
            self.flagged.append(_outside(e))
        if not self._broken:
            yield from self._misspent(e)

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
        if e.request is not None and e.kind is not EntryKind.BUDGET:
            step = self._steps.get((e.account, e.request))
            if (step, e.kind) not in _STEPS:
                yield f"entry {e.id}: a {e.kind.word} after {step.word if step else 'nothing'}"
            self._steps[e.account, e.request] = e.kind


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
