"""Entries of the book: what one says, how it is hashed, and what it does to its account."""

from __future__ import annotations

import csv
import functools
import hashlib
import io
import json
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import Any

from frith._csv import cell
from frith.privacy.exact import readable, show


class EntryKind(StrEnum):
    """What an entry does. The text is stored and hashed into the chain, so it never changes."""

    BUDGET = "budget"
    RESERVE = "reserve"
    CHARGE = "charge"
    CANCEL = "release"  # a cancelled reservation; the first ledgers called it a release
    TERMS = "terms"  # what a server allows: the hash of a policy or of a grant
    TIME = "time"  # that somebody was there: the chain's own clock
    UNKNOWN = "unknown"  # never written: how an edited entry is read, so that its hash shows it

    @classmethod
    def _missing_(cls, value: object) -> EntryKind:
        return cls.UNKNOWN

    @property
    def word(self) -> str:
        """The kind as people read it."""
        return self.name.lower()


OPENED, DECLARED, SET_TO, FOR = "opened with ", "declared with ", " to ", "; neighbors: "
"""How the purpose of an entry about a budget is put together."""
MEANS = ": "
"""Between the subject of an entry about terms and what it means since."""
RUNNING, ACCEPTED = "the server runs", "the operator accepts the clock"
"""The purposes of an entry about time."""
SPENDING = (EntryKind.RESERVE, EntryKind.CHARGE, EntryKind.CANCEL)
"""The kinds that change what an account has spent or holds."""


@dataclass(frozen=True, slots=True)
class Receipt:
    """One entry: what was written, what its account then had spent and held, and its hash.

    `actor` is who wrote it; empty for entries from before actors were recorded. The owner of a receipt
    does not need it, so it is not part of its JSON.
    """

    id: int
    account: str
    kind: EntryKind
    request: str | None
    amount: Fraction
    spent: Fraction
    held: Fraction
    unit: str
    purpose: str
    at: str
    hash: str
    actor: str = field(default="", compare=False)

    def __str__(self) -> str:
        return (
            f"receipt {self.id}: {self.unit} {readable(self.amount)} charged, "
            f"{readable(self.spent)} spent in all"
        )

    def to_json(self) -> dict[str, Any]:
        """Amounts spelled exactly."""
        data = {name: getattr(self, name) for name in FIELDS}
        return data | {name: show(data[name]) for name in ("amount", "spent", "held")}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Receipt:
        """Read an entry whose amounts are spelled out, as in JSON or in the database."""
        amounts = {n: read_amount(data[n]) for n in ("amount", "spent", "held")}
        return cls(**data | amounts | {"kind": EntryKind(data["kind"])})


HASHED = Receipt.__slots__[: Receipt.__slots__.index("hash")]
"""What the hash of an entry is over, with its salt and the hash before."""
FIELDS = (*HASHED, "hash")
"""What a receipt tells."""


@dataclass(frozen=True, slots=True)
class Step:
    """What one entry of a request did, and on whose account."""

    id: int
    kind: EntryKind
    amount: Fraction
    unit: str
    table: str | None
    member: str | None
    account: str


@functools.lru_cache(maxsize=4_096)
def read_amount(text: str) -> Fraction:
    """An amount as it is stored. The same few amounts come again and again."""
    return Fraction(text)


def as_csv(entries: list[Receipt], *, header: bool = True) -> str:
    """A table of entries, amounts spelled exactly."""
    out = io.StringIO()
    rows = csv.DictWriter(out, list(Receipt.__slots__), lineterminator="\n")
    if header:
        rows.writeheader()
    told = (e.to_json() | {"actor": e.actor} for e in entries)
    rows.writerows({n: cell(v) for n, v in each.items()} for each in told)
    return out.getvalue()


def salted(secret: str, actor: str) -> str:
    """The salt of an entry: random, and then who wrote it, so that the hash binds the actor too."""
    return f"{secret} {actor}" if actor else secret


def actor_in(salt: str) -> str:
    """Who wrote an entry with this salt; empty where nobody wrote it down."""
    return salt.partition(" ")[2]


def hash_of(previous: str, salt: str, fields: tuple[Any, ...]) -> str:
    """SHA-256 over the hash before, the salt and everything an entry says."""
    text = json.dumps([previous, salt, *(str(f) if isinstance(f, Fraction) else f for f in fields)])
    return hashlib.sha256(text.encode()).hexdigest()


def after(
    kind: EntryKind, request: str | None, amount: Fraction, spent: Fraction, held: Fraction
) -> tuple[Fraction, Fraction]:
    """What is spent and held after an entry."""
    if kind is EntryKind.RESERVE:
        return spent, held + amount
    if kind is EntryKind.CANCEL:
        return spent, held - amount
    if kind is EntryKind.CHARGE:
        return spent + amount, held if request is None else held - amount
    return spent, held


def budget_in(written: Receipt) -> str:
    """The budget that an entry about it spells out."""
    budget = written.purpose.partition(FOR)[0]
    return budget.removeprefix(OPENED).removeprefix(DECLARED).rpartition(SET_TO)[2]


def terms_in(written: Receipt) -> tuple[str, str]:
    """The subject of an entry about terms, and what it means since."""
    subject, _, meaning = written.purpose.rpartition(MEANS)
    return subject, meaning


def neighbors_in(written: Receipt) -> str:
    """The neighbors that an entry about a budget names; empty where it only sets another total."""
    return written.purpose.partition(FOR)[2]
