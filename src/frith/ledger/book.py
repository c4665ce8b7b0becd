"""The book of accounts. The caller owns the transaction that reads or writes it.

Every entry carries the running totals of its account and a hash over itself, a random salt and the
hash before it, so that an edit, a gap or a reordering shows. The salt stays in the book, so that
somebody who is shown some entries cannot guess others by trying texts that give their hashes. It ends
with the entry's actor, which the hash binds that way.

A reservation holds an amount until it becomes a charge or is cancelled; a charge is never cancelled.
Writers first lock the head of the chain, so looking and writing are one step, on SQLite and on
PostgreSQL.

An account is for one kind of neighbors: records, or persons with at most m records each. Amounts of
other neighbors do not add to it and are refused.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
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
    or_,
    select,
)

from frith.errors import OtherNeighbors
from frith.ledger.entries import (
    DECLARED,
    FIELDS,
    FOR,
    MEANS,
    OPENED,
    SET_TO,
    EntryKind,
    Receipt,
    Step,
    actor_in,
    after,
    hash_of,
    read_amount,
    salted,
)
from frith.ledger.events import ACCOUNT, Event
from frith.ledger.place import Place
from frith.ledger.state import State
from frith.ledger.walk import Fault, Verification, Walk, jumped, undeclared
from frith.privacy.budget import Budget
from frith.privacy.neighbors import neighbors_of, records_per_person, unit_of
from frith.privacy.window import LEAST_EPSILON, check_budget

metadata = MetaData()
account = Table(
    "account",
    metadata,
    Column("name", Text, primary_key=True),
    Column("epsilon", Text, nullable=False),
    Column("delta", Text, nullable=False),
    Column("unit", Text, nullable=False),
    Column("total", Text, nullable=False),
    Column("neighbors", Text),  # unknown for an account that is older than this column
    Column("table", Text),  # these four are the parts of the name, on a server
    Column("batch", Text),
    Column("period", Integer),
    Column("member", Text),
    Index("accounts_of_a_table", "table", "period"),
    Index("accounts_of_a_member", "member"),
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
    Index("entries_of_a_request", "request"),
)
head = Table(
    "ledger_head",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("entry", BigInteger, nullable=False),
    Column("hash", Text, nullable=False),
)

_CHAIN = select(entry, account.c.unit).join(account)
_ENTRIES = _CHAIN.where(entry.c.account != ACCOUNT)
_STEPS = select(
    entry.c.id, entry.c.request, entry.c.kind, entry.c.amount,
    account.c.unit, account.c.table, account.c.member, account.c.name,
).join(account)  # fmt: skip
_any = entry.alias()
_last = select(func.max(_any.c.id)).where(_any.c.account == account.c.name).scalar_subquery()
_EVERY = (
    select(account, entry.c.spent, entry.c.held)
    .select_from(account.outerjoin(entry, entry.c.id == _last))
    .order_by(account.c.name)
)
_STATES = _EVERY.where(account.c.name.in_(bindparam("names", expanding=True)))
_TWO = _EVERY.where(account.c.name.in_((bindparam("first"), bindparam("second"))))
"""The most frequent look, a table's account and a member's: no list of parameters has to be written out."""

_AT_ONCE = 1_000  # entries fetched at once while the chain is followed
_FINEST = 10**2_000  # denominator of a total: texts of numbers have their limits
_SALT_BYTES = 16

Clock = Callable[[], datetime]


def utc_now() -> datetime:
    return datetime.now(UTC)


class Book:
    """Reads and writes accounts on an open connection; the caller commits."""

    def __init__(
        self,
        connection: Connection,
        clock: Clock = utc_now,
        new_secret: Callable[[int], str] = secrets.token_hex,
        actor: str = "",
    ):
        self._connection, self._clock, self._new_secret = connection, clock, new_secret
        self._actor = actor

    # -- accounts ------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        return name in self.find(name)

    def open(self, place: str | Place, budget: Budget, neighbors: str) -> Receipt:
        """A new account for these neighbors. One with a delta is charged in rho, converted once.

        `place` is its name or, on a server, the parts of the name.
        """
        name = place if isinstance(place, str) else place.name
        if budget.is_exact:
            raise ValueError("a ledger's epsilon must be finite")
        check_budget(budget.epsilon, budget.delta)
        records_per_person(neighbors)  # raises for neighbors that frith does not know
        if self.has(name):
            raise ValueError(f"there is already an account {name!r}; raise its budget instead")
        amounts = {"epsilon": budget.epsilon, "delta": budget.delta, "total": budget.total}
        row = {k: str(v) for k, v in amounts.items()}
        row |= {"name": name, "unit": budget.unit, "neighbors": neighbors}
        row |= {} if isinstance(place, str) else asdict(place)
        self._connection.execute(account.insert().values(row))
        return self._append(
            name, EntryKind.BUDGET, None, budget.total, f"{OPENED}{budget}{FOR}{neighbors}"
        )

    def adopt(self, place: Place) -> None:
        """Turn an account that the command line opened under this name into the server's."""
        at_a_desk = (account.c.name == place.name, account.c.table.is_(None))
        self._connection.execute(account.update().where(*at_a_desk).values(asdict(place)))

    def declare(self, name: str, neighbors: str) -> Receipt:
        """Declare the neighbors of an account that was opened before accounts had any.

        The keeper of the book vouches that everything charged so far was for these neighbors.
        """
        self.lock()
        state = self.state(name)
        if state.neighbors is not None:
            raise OtherNeighbors(
                f"the account {name!r} is for {unit_of(state.neighbors)}, and stays so; open another"
            )
        purpose = f"{DECLARED}{state.budget}{FOR}{neighbors}"
        records_per_person(neighbors)
        mine = account.c.name == name
        self._connection.execute(account.update().where(mine).values(neighbors=neighbors))
        return self._append(name, EntryKind.BUDGET, None, state.total, purpose)

    def set_budget(self, name: str, epsilon: object) -> Receipt:
        """Set a new total for the same delta. What is spent stays spent."""
        self.lock()
        old = self.state(name).budget
        budget = Budget.of(epsilon, old.delta)
        if budget.is_exact:
            raise ValueError("a ledger's epsilon must be finite")
        values = {"epsilon": str(budget.epsilon), "total": str(budget.total)}
        self._connection.execute(account.update().where(account.c.name == name).values(values))
        return self._append(
            name, EntryKind.BUDGET, None, budget.total, f"set from {old}{SET_TO}{budget}"
        )

    def bind(self, table: str, subject: str, meaning: str) -> Receipt:
        """Record a table's terms from now on, so that an edit of them shows."""
        self.lock()
        name = self._first(account.c.table == table)
        return self._append(name, EntryKind.TERMS, None, Fraction(0), f"{subject}{MEANS}{meaning}")

    def tell_time(self, purpose: str) -> Receipt:
        """Record the time, as that of the whole chain."""
        self.lock()
        return self._append(self._first(), EntryKind.TIME, None, Fraction(0), purpose)

    def note(self, event: Event) -> Receipt:
        """Record an event. The first one opens the account of events."""
        self.lock()
        if not self.has(ACCOUNT):
            self.open(ACCOUNT, Budget.of(LEAST_EPSILON), neighbors_of(None))
        return self._append(ACCOUNT, EntryKind.TERMS, None, Fraction(0), event.purpose)

    def find(self, *names: str) -> dict[str, State]:
        """Accounts as their last entries left them; one that was never opened is left out."""
        if 0 < len(names) <= 2:
            rows = self._connection.execute(_TWO, {"first": names[0], "second": names[-1]})
        else:
            rows = self._connection.execute(_STATES, {"names": names})
        return {row.name: _state(row) for row in rows}

    def state(self, name: str) -> State:
        found = self.find(name)
        if not found:
            raise ValueError(f"the ledger has no account {name!r}")
        return found[name]

    def analysts(self, of: Place) -> dict[str, State]:
        """The members' own accounts beside a table's or a batch's, by member."""
        beside = (account.c.table == of.table, account.c.batch == of.batch)
        mine = (account.c.period == of.period, account.c.member.is_not(None))
        rows = self._connection.execute(_EVERY.where(*beside, *mine))
        return {row.member: _state(row) for row in rows}

    def accounts(self, *, member: str | None = None, tables: Sequence[str] = ()) -> list[str]:
        """The names of all accounts, or of a member's and those of some tables."""
        query = select(account.c.name).where(account.c.name != ACCOUNT).order_by(account.c.name)
        if member is not None:
            query = query.where(or_(account.c.member == member, account.c.table.in_(tables)))
        return list(self._connection.scalars(query))

    # -- spending ------------------------------------------------------------------------------

    def reserve(
        self, name: str, request: str, amount: Fraction, purpose: str, neighbors: str
    ) -> Receipt:
        """Hold an amount for a request; raise as `charge` does and change nothing."""
        self.lock()
        self._check(name, amount, neighbors)
        return self._append(name, EntryKind.RESERVE, request, amount, purpose)

    def charge_reserved(self, name: str, request: str, neighbors: str) -> Receipt:
        """Turn a reservation into a charge, once and for good."""
        self.lock()
        self.state(name).check_neighbors(neighbors)
        held = self._reservation(name, request)
        return self._append(name, EntryKind.CHARGE, request, held.amount, held.purpose)

    def cancel(self, name: str, request: str) -> Receipt:
        """Cancel a reservation: what it held can be spent again."""
        self.lock()
        held = self._reservation(name, request)
        return self._append(name, EntryKind.CANCEL, request, held.amount, held.purpose)

    def charge(self, name: str, amount: Fraction, purpose: str, neighbors: str) -> Receipt:
        """Charge an amount at once.

        Raises `OtherNeighbors` if the account is for others, and `BudgetExceeded` if too little is
        left; neither changes anything.
        """
        self.lock()
        self._check(name, amount, neighbors)
        return self._append(name, EntryKind.CHARGE, None, amount, purpose)

    # -- reading -------------------------------------------------------------------------------

    def entries(self, *accounts: str, request: str | None = None) -> list[Receipt]:
        """The entries of some accounts, of one request, or all; oldest first."""
        query = _ENTRIES.order_by(entry.c.id)
        if accounts:
            query = query.where(entry.c.account.in_(accounts))
        if request is not None:
            query = query.where(entry.c.request == request)
        return self._receipts(query)

    def page(
        self, limit: int, after: int = 0, accounts: Sequence[str] | None = None
    ) -> list[Receipt]:
        """At most `limit` entries after the entry `after`, oldest first; of some accounts, or of all."""
        query = _CHAIN.where(entry.c.id > after).order_by(entry.c.id).limit(limit)
        if accounts is not None:
            query = query.where(entry.c.account.in_(accounts))
        return self._receipts(query)

    def latest(self, limit: int, before: int | None = None) -> list[Receipt]:
        """At most `limit` entries before the entry `before`, or before the end, newest first."""
        query = _CHAIN.order_by(entry.c.id.desc()).limit(limit)
        if before is not None:
            query = query.where(entry.c.id < before)
        return self._receipts(query)

    def log(
        self, limit: int, *, after: int = 0, before: int | None = None, newest: bool = False
    ) -> list[tuple[Receipt, str]]:
        """Entries and events with their salts: at most `limit`, from one end, between two of them."""
        query = _CHAIN.where(entry.c.id > after).limit(limit)
        query = query.order_by(entry.c.id.desc() if newest else entry.c.id)
        if before is not None:
            query = query.where(entry.c.id < before)
        return [(_receipt(row), row.salt) for row in self._connection.execute(query)]

    def own_receipts(self, requests: Sequence[str]) -> dict[str, Receipt]:
        """The last entry of each request on its member's own account."""
        query = _ENTRIES.where(entry.c.request.in_(requests), account.c.member.is_not(None))
        found = self._receipts(query.order_by(entry.c.id))
        return {e.request: e for e in found if e.request is not None}

    def steps(self, requests: Sequence[str]) -> dict[str, list[Step]]:
        """What the entries of some requests did, oldest first."""
        query = _STEPS.where(entry.c.request.in_(requests)).order_by(entry.c.id)
        found: dict[str, list[Step]] = {}
        for id_, request, kind, amount, *whose in self._connection.execute(query):
            step = Step(id_, EntryKind(kind), read_amount(amount), *whose)
            found.setdefault(request, []).append(step)
        return found

    def follow(self, walk: Walk, rest: Callable[[], object] = lambda: None) -> list[str]:
        """Walk on to the head of the chain; returns what an honest book would not hold on the way.

        Calls `rest` after every thousand entries, for callers who are in no hurry.
        """
        query = _CHAIN.order_by(entry.c.id).limit(_AT_ONCE)
        problems, more = list[str](), True
        while more:
            rows = self._connection.execute(query.where(entry.c.id > walk.entries)).all()
            for row in rows:
                problems += _followed(walk, row)
            more = len(rows) == _AT_ONCE
            if more:
                rest()
        last = self._connection.execute(select(head)).one_or_none()
        if last is None or (last.entry, last.hash) != (walk.entries, walk.hash):
            problems.append("the head of the chain is not the last entry")
            walk.is_broken = True
        return problems

    def verify(
        self, walk: Walk | None = None, rest: Callable[[], object] = lambda: None
    ) -> Verification:
        """Follow the chain from its first entry to its head, and compare every account with it."""
        walk = walk or Walk()
        faults = [Fault(text) for text in self.follow(walk, rest)]
        flagged = list(walk.flagged) if walk.jump is None else [*walk.flagged, jumped(walk.jump)]
        for row in self._connection.execute(_EVERY):
            try:
                state = _state(row)
            except (ArithmeticError, ValueError):
                faults.append(Fault(f"account {row.name!r} cannot be read", row.table))
                continue
            texts = [walk.doubt(state)] if not walk.is_broken else []
            if row.table is not None and _place(row).name != row.name:
                texts.append(f"account {row.name!r}: its columns are not those of its name")
            faults += [Fault(text, row.table) for text in texts if text is not None]
            if state.neighbors is None:
                flagged.append(undeclared(row.name))
        return Verification(walk.entries, walk.hash, tuple(faults), tuple(flagged))

    # -- inside --------------------------------------------------------------------------------

    def _receipts(self, query: Select[Any]) -> list[Receipt]:
        return [_receipt(row) for row in self._connection.execute(query)]

    def lock(self) -> None:
        """Wait for other writers; SQLite's write transactions have waited already."""
        self._connection.execute(select(head).with_for_update())

    def _check(self, name: str, amount: Fraction, neighbors: str) -> None:
        state = self.state(name)
        state.check_neighbors(neighbors)
        state.check(amount)

    def _reservation(self, name: str, request: str) -> Receipt:
        steps = self.entries(name, request=request)
        if [s.kind for s in steps] != [EntryKind.RESERVE]:
            raise ValueError(f"the account {name!r} holds no reservation for this request")
        return steps[0]

    def _first(self, *where: ColumnElement[bool]) -> str:
        """An account for an entry without an amount; a table's own comes before its members'."""
        usual = (account.c.member.is_(None), account.c.name != ACCOUNT)
        query = select(func.min(account.c.name)).where(*usual, *where)
        name = self._connection.scalar(query)
        if name is None:
            raise ValueError("the ledger has no account to write this down in")
        return str(name)

    def _append(
        self, name: str, kind: EntryKind, request: str | None, amount: Fraction, purpose: str
    ) -> Receipt:
        last = self._connection.execute(select(head).with_for_update()).one()
        state = self.state(name)
        spent, held = after(kind, request, amount, state.spent, state.held)
        if (spent + held).denominator > _FINEST:
            raise ValueError("this amount is too fine a fraction for the ledger; write a decimal")
        at = self._clock().isoformat(timespec="seconds")
        fields = (last.entry + 1, name, kind, request, amount, spent, held, state.unit, purpose, at)
        salt = salted(self._new_secret(_SALT_BYTES), self._actor)
        receipt = Receipt(*fields, hash_of(last.hash, salt, fields), self._actor)
        row = {c.name: getattr(receipt, c.name) for c in entry.columns if c.name != "salt"}
        row |= {n: str(row[n]) for n in ("amount", "spent", "held")} | {"salt": salt}
        self._connection.execute(entry.insert().values(row))
        self._connection.execute(head.update().values(entry=receipt.id, hash=receipt.hash))
        return receipt


@functools.lru_cache(maxsize=1_024)
def _stored(epsilon: str, delta: str) -> Budget:
    return Budget.stored(epsilon, delta)


def _state(row: Any) -> State:
    budget = _stored(row.epsilon, row.delta)
    spent, held = read_amount(row.spent or "0"), read_amount(row.held or "0")
    return State(row.name, budget, row.unit, read_amount(row.total), row.neighbors, spent, held)


def _followed(walk: Walk, row: Any) -> list[str]:
    """The problems of the next entry; an edited one may not even be readable."""
    try:
        return list(walk.step(_receipt(row), row.salt))
    except (ArithmeticError, ValueError):
        walk.skip(row.id, row.hash)
        return [f"entry {row.id} cannot be read"]


def _place(row: Any) -> Place:
    return Place(row.table, row.batch, row.period, row.member)


def _receipt(row: Any) -> Receipt:
    told = {name: getattr(row, name) for name in FIELDS}
    return Receipt.from_json(told | {"actor": actor_in(row.salt)})
