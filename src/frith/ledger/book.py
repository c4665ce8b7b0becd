"""The book of accounts: what is written to it, in the transaction of whoever writes.

Every entry carries the running totals of its account and a hash over itself, a random salt and the
hash before it, so that an edit, a gap or a reordering shows. The salt stays in the book: whoever is
shown some entries cannot guess others by trying what would give their hashes. A reservation holds
an amount until it becomes a charge or is given back; a charge is never given back. Writers first
lock the head of the chain, so looking and writing are one step, on SQLite and on PostgreSQL.
"""

from __future__ import annotations

import csv
import hashlib
import io
import json
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    Connection,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Select,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    func,
    select,
)

from frith.errors import BudgetExceeded
from frith.privacy.budget import Budget
from frith.privacy.exact import show

metadata = MetaData()
account = Table(
    "account",
    metadata,
    Column("name", Text, primary_key=True),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("total", Text, nullable=False),
)
entry = Table(
    "entry",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("account", Text, ForeignKey("account.name"), nullable=False),
    Column("kind", Text, nullable=False),
    Column("request", Text),
    Column("amount", Text, nullable=False),
    Column("spent", Text, nullable=False),
    Column("held", Text, nullable=False),
    Column("purpose", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("salt", Text, nullable=False),
    Column("hash", Text, nullable=False),
    UniqueConstraint("account", "request", "kind", name="one_entry_a_step"),
    Index("entries_of_an_account", "account", "id"),
)
head = Table(
    "ledger_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("entry", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)

_ENTRIES = select(entry, account.c.unit).join(account)
_any = entry.alias()
_last = select(func.max(_any.c.id)).where(_any.c.account == account.c.name).scalar_subquery()
_STATES = (
    select(account, entry.c.spent, entry.c.held)
    .select_from(account.outerjoin(entry, entry.c.id == _last))
    .where(account.c.name.in_(bindparam("names", expanding=True)))
    .order_by(account.c.name)
)

_AT_ONCE = 1_000  # entries fetched while the chain is followed
_FINEST = 10**2_000  # denominator of a total: texts of numbers have their limits
_SALT_BYTES = 16

_OPENED, _SET_TO = "opened with ", " to "

BUDGET, RESERVE, CHARGE, RELEASE = "budget", "reserve", "charge", "release"
Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Receipt:
    """One entry: what was written, what its account then had spent and held, and its hash."""

    id: int
    account: str
    kind: str
    request: str | None
    amount: Fraction
    spent: Fraction
    held: Fraction
    unit: str
    purpose: str
    at: str
    hash: str

    def to_json(self) -> dict[str, Any]:
        """Amounts spelled exactly."""
        data = {name: getattr(self, name) for name in self.__slots__}
        return data | {name: show(data[name]) for name in ("amount", "spent", "held")}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Receipt:
        return cls(**data | {n: Fraction(data[n]) for n in ("amount", "spent", "held")})


@dataclass(frozen=True, slots=True)
class State:
    """An account: its budget, and what of it is spent and held."""

    name: str
    budget: Budget
    unit: str
    total: Fraction
    spent: Fraction = Fraction(0)
    held: Fraction = Fraction(0)

    @property
    def remaining(self) -> Fraction:
        """What can still be asked for; a budget that was lowered may leave nothing."""
        return max(Fraction(0), self.total - self.spent - self.held)

    def check(self, amount: Fraction) -> None:
        """Raise `BudgetExceeded` where `amount` is not there."""
        if amount > self.remaining:
            raise BudgetExceeded(
                f"the account {self.name!r}",
                requested=amount,
                remaining=self.remaining,
                unit=self.unit,
            )


@dataclass(frozen=True, slots=True)
class Verification:
    """What a look at the whole chain found; `head` is the last hash, to be noted elsewhere."""

    entries: int
    head: str
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems


class Book:
    """Reads and writes accounts on an open connection; the caller commits."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock = utc_now,
        new_secret: Callable[[int], str] = secrets.token_hex,
    ):
        self._connection, self._clock, self._new_secret = connection, clock, new_secret

    # -- accounts ------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        return name in self.find(name)

    def open(self, name: str, budget: Budget) -> Receipt:
        """A new account. One with a delta is converted to rho, once, and charged in rho."""
        if budget.is_exact:
            raise ValueError("a ledger's epsilon must be finite")
        if self.has(name):
            raise ValueError(f"there is already an account {name!r}; raise its budget instead")
        amounts = {"epsilon": budget.epsilon, "delta": budget.delta, "total": budget.total}
        row = {k: str(v) for k, v in amounts.items()} | {"name": name, "unit": budget.unit}
        self._connection.execute(account.insert().values(row))
        return self._append(name, BUDGET, None, budget.total, f"{_OPENED}{budget}")

    def set_budget(self, name: str, epsilon: object) -> Receipt:
        """Another total from now on, for the same delta. What is spent stays spent."""
        self.lock()
        old = self.state(name).budget
        budget = Budget.of(epsilon, old.delta)
        if budget.is_exact:
            raise ValueError("a ledger's epsilon must be finite")
        values = {"epsilon": str(budget.epsilon), "total": str(budget.total)}
        self._connection.execute(account.update().where(account.c.name == name).values(values))
        return self._append(name, BUDGET, None, budget.total, f"set from {old}{_SET_TO}{budget}")

    def find(self, *names: str) -> dict[str, State]:
        """Accounts as their last entries left them; one that was never opened is left out."""
        rows = self._connection.execute(_STATES, {"names": names})
        return {row.name: _state(row) for row in rows}

    def state(self, name: str) -> State:
        found = self.find(name)
        if not found:
            raise ValueError(f"the ledger has no account {name!r}")
        return found[name]

    def accounts(self) -> list[str]:
        return list(self._connection.scalars(select(account.c.name).order_by(account.c.name)))

    # -- spending ------------------------------------------------------------------------------

    def reserve(self, name: str, request: str, amount: Fraction, purpose: str) -> Receipt:
        """Hold an amount for a request, or raise `BudgetExceeded` and change nothing."""
        self.lock()
        self.state(name).check(amount)
        return self._append(name, RESERVE, request, amount, purpose)

    def charge_reserved(self, name: str, request: str) -> Receipt:
        """Turn a reservation into a charge, once and for good."""
        self.lock()
        held = self._reservation(name, request)
        return self._append(name, CHARGE, request, held.amount, held.purpose)

    def release(self, name: str, request: str) -> Receipt:
        """Give a reservation back."""
        self.lock()
        held = self._reservation(name, request)
        return self._append(name, RELEASE, request, held.amount, held.purpose)

    def charge(self, name: str, amount: Fraction, purpose: str) -> Receipt:
        """Take an amount at once, or raise `BudgetExceeded` and change nothing."""
        self.lock()
        self.state(name).check(amount)
        return self._append(name, CHARGE, None, amount, purpose)

    # -- reading -------------------------------------------------------------------------------

    def entries(self, *accounts: str, request: str | None = None) -> list[Receipt]:
        """Oldest first; of some accounts, of one request, or all."""
        query = _ENTRIES.order_by(entry.c.id)
        if accounts:
            query = query.where(entry.c.account.in_(accounts))
        if request is not None:
            query = query.where(entry.c.request == request)
        return self._receipts(query)

    def page(
        self, most: int, after: int = 0, accounts: Sequence[str] | None = None
    ) -> list[Receipt]:
        """At most so many entries after one, oldest first; of some accounts, or of all."""
        query = _ENTRIES.where(entry.c.id > after).order_by(entry.c.id).limit(most)
        if accounts is not None:
            query = query.where(entry.c.account.in_(accounts))
        return self._receipts(query)

    def latest(self, most: int, before: int | None = None) -> list[Receipt]:
        """At most so many entries before one, or before the end, newest first."""
        query = _ENTRIES.order_by(entry.c.id.desc()).limit(most)
        if before is not None:
            query = query.where(entry.c.id < before)
        return self._receipts(query)

    def verify(self) -> Verification:
        """Follow the chain from its first entry to its head and check every total on the way."""
        last = self._connection.execute(select(head)).one()
        query = _ENTRIES.order_by(entry.c.id).execution_options(yield_per=_AT_ONCE)
        walk = _Walk()
        with self._connection.execute(query) as rows:
            problems = [p for row in rows for p in walk.step(_receipt(row), row.salt)]
        if (last.entry, last.hash) != (walk.entries, walk.hash):
            problems.append("the head of the chain is not the last entry")
        for row in self._connection.execute(select(account).order_by(account.c.name)):
            written = walk.budgets.get(row.name)
            budget = Budget.of(row.epsilon, row.delta)
            said = (Fraction(row.total), str(budget), row.unit)
            if written is None or said != (written.amount, _budget_in(written), written.unit):
                problems.append(f"account {row.name!r}: its budget is not the one last written")
        return Verification(walk.entries, last.hash, tuple(problems))

    # -- inside --------------------------------------------------------------------------------

    def _receipts(self, query: Select[Any]) -> list[Receipt]:
        return [_receipt(row) for row in self._connection.execute(query)]

    def lock(self) -> None:
        """Wait for other writers; SQLite's write transactions have waited already."""
        self._connection.execute(select(head).with_for_update())

    def _reservation(self, name: str, request: str) -> Receipt:
        steps = self.entries(name, request=request)
        if [s.kind for s in steps] != [RESERVE]:
            raise ValueError(f"the account {name!r} holds no reservation for this request")
        return steps[0]

    def _append(
        self, name: str, kind: str, request: str | None, amount: Fraction, purpose: str
    ) -> Receipt:
        last = self._connection.execute(select(head).with_for_update()).one()
        state = self.state(name)
        spent, held = _after(kind, request, amount, state.spent, state.held)
        if (spent + held).denominator > _FINEST:
            raise ValueError("this amount is too fine a fraction for the ledger; write a decimal")
        at = self._clock().isoformat(timespec="seconds")
        fields = (last.entry + 1, name, kind, request, amount, spent, held, state.unit, purpose, at)
        salt = self._new_secret(_SALT_BYTES)
        receipt = Receipt(*fields, hash_of(last.hash, salt, fields))
        row = {c.name: getattr(receipt, c.name) for c in entry.columns if c.name != "salt"}
        row |= {n: str(row[n]) for n in ("amount", "spent", "held")} | {"salt": salt}
        self._connection.execute(entry.insert().values(row))
        self._connection.execute(head.update().values(entry=receipt.id, hash=receipt.hash))
        return receipt


def as_csv(entries: list[Receipt], *, header: bool = True) -> str:
    """A table of entries, amounts spelled exactly."""
    out = io.StringIO()
    rows = csv.DictWriter(out, list(Receipt.__slots__), lineterminator="\n")
    if header:
        rows.writeheader()
    rows.writerows(entry.to_json() for entry in entries)
    return out.getvalue()


def hash_of(previous: str, salt: str, fields: tuple[Any, ...]) -> str:
    """SHA-256 over the hash before, the salt and everything an entry says."""
    text = json.dumps([previous, salt, *(str(f) if isinstance(f, Fraction) else f for f in fields)])
    return hashlib.sha256(text.encode()).hexdigest()


def _after(
    kind: str, request: str | None, amount: Fraction, spent: Fraction, held: Fraction
) -> tuple[Fraction, Fraction]:
    """What is spent and held after an entry."""
    if kind == RESERVE:
        return spent, held + amount
    if kind == RELEASE:
        return spent, held - amount
    if kind == CHARGE:
        return spent + amount, held if request is None else held - amount
    return spent, held


def _budget_in(written: Receipt) -> str:
    """The budget that an entry about it spells out."""
    return written.purpose.removeprefix(_OPENED).rpartition(_SET_TO)[2]


def _state(row: Any) -> State:
    budget = Budget.of(row.epsilon, row.delta)
    spent, held = Fraction(row.spent or 0), Fraction(row.held or 0)
    return State(row.name, budget, row.unit, Fraction(row.total), spent, held)


def _receipt(row: Any) -> Receipt:
    data = {name: getattr(row, name) for name in Receipt.__slots__}
    return Receipt(**data | {n: Fraction(data[n]) for n in ("amount", "spent", "held")})


class _Walk:
    """Everything that an honest book would not hold, found entry by entry."""

    def __init__(self) -> None:
        self.entries, self.hash, self._broken = 0, "", False
        self.budgets: dict[str, Receipt] = {}
        self._sums: dict[str, tuple[Fraction, Fraction]] = {}
        self._steps: dict[tuple[str, str], str] = {}

    def step(self, e: Receipt, salt: str) -> Iterator[str]:
        """The problems of the next entry; past a gap or an edit nothing is said of the sums."""
        fields = tuple(getattr(e, name) for name in Receipt.__slots__[:-1])
        if e.id != self.entries + 1:
            yield f"entry {self.entries + 1} is missing"
            self._broken = True
        elif e.hash != hash_of(self.hash, salt, fields):
            yield f"entry {e.id} is not what was written"
            self._broken = True
        self.entries, self.hash = e.id, e.hash
        self.budgets |= {e.account: e} if e.kind == BUDGET else {}
        if not self._broken:
            yield from self._misspent(e)

    def _misspent(self, e: Receipt) -> Iterator[str]:
        before = self._sums.get(e.account, (Fraction(0), Fraction(0)))
        self._sums[e.account] = _after(e.kind, e.request, e.amount, *before)
        if self._sums[e.account] != (e.spent, e.held) or e.held < 0:
            yield f"entry {e.id}: its running totals do not add up"
        budget = self.budgets.get(e.account)
        total = budget.amount if budget is not None else Fraction(0)
        if e.kind in (RESERVE, CHARGE) and e.spent + e.held > max(total, sum(before)):
            yield f"entry {e.id}: more than the budget of {e.account!r}"
        if e.request is not None and e.kind != BUDGET:
            step = self._steps.get((e.account, e.request))
            if (step, e.kind) not in {(None, RESERVE), (RESERVE, CHARGE), (RESERVE, RELEASE)}:
                yield f"entry {e.id}: a {e.kind} after {step or 'nothing'}"
            self._steps[e.account, e.request] = e.kind
