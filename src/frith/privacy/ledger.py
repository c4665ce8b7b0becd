"""The ledger: what has been spent on a table, append-only, in a file that outlives processes.

Looking and writing are one SQLite transaction that takes the write lock first, so two processes
can never both spend the last of a budget. Amounts are exact fractions kept as text.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from frith.errors import BudgetExceeded, FormatError, SourceError
from frith.privacy.budget import Budget
from frith.privacy.exact import exact

_SCHEMA = """
create table account (
    name text primary key, epsilon text not null, delta text not null,
    unit text not null, total text not null);
create table entry (
    id integer primary key autoincrement, account text not null references account (name),
    amount text not null, running text not null, purpose text not null, at text not null);
create trigger entry_kept before delete on entry begin select raise(abort, 'entries are kept'); end;
create trigger entry_fixed before update on entry begin select raise(abort, 'entries are fixed'); end;
pragma user_version = 1;
"""
_WAIT_SECONDS = 60  # how long a charge waits for other writers


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof of one charge: the entry, the amount, and what was then spent in all."""

    id: int
    account: str
    amount: Fraction
    running: Fraction
    unit: str
    purpose: str
    at: str


class Ledger:
    """One account of a ledger file. Holds no connection, so it can be copied and pickled."""

    def __init__(self, path: str | Path, account: str = "table"):
        self.path, self.account = Path(path), account
        if not self.path.is_file():
            raise SourceError(
                f"there is no ledger at {self.path}; make one with "
                f"`frith ledger create {self.path} --epsilon 1`, or Ledger.create(path, epsilon=1)"
            )

    @classmethod
    def create(
        cls, path: str | Path, *, epsilon: object, delta: object = 0, account: str = "table"
    ) -> Ledger:
        """Open an account with a budget; the file is made when it is not there yet.

        A pure budget is kept in epsilon. One with a delta is converted to rho, once, and every
        request is charged in rho.
        """
        budget = Budget.of(epsilon, delta)
        if budget.is_exact:
            raise ValueError("a ledger's epsilon must be finite")
        Path(path).touch()
        ledger = cls(path, account)
        with ledger._transaction("begin immediate") as tx:
            if not tx.execute("select 1 from sqlite_master where name = 'account'").fetchone():
                for statement in _statements(_SCHEMA):
                    tx.execute(statement)
            if tx.execute("select 1 from account where name = ?", (account,)).fetchone():
                raise ValueError(
                    f"{path} already has an account {account!r}; budgets are not edited"
                )
            row = (account, budget.epsilon, budget.delta, budget.unit, budget.total)
            tx.execute("insert into account values (?, ?, ?, ?, ?)", tuple(map(str, row)))
        return ledger

    def charge(self, request: Budget, purpose: str) -> Receipt:
        """Take the whole request from the account, or raise `BudgetExceeded` and change nothing.

        Looking and writing are one step: the write lock is taken before the look.
        """
        with self._transaction("begin immediate") as tx:
            unit, total, spent = self._state(tx)
            amount = request.cost_in(unit)
            if spent + amount > total:
                raise BudgetExceeded(
                    f"the ledger {self.path.name!r}",
                    requested=amount,
                    remaining=total - spent,
                    unit=unit,
                )
            now = datetime.now(UTC).isoformat(timespec="seconds")
            row = (self.account, str(amount), str(spent + amount), purpose, now)
            entry = tx.execute(
                "insert into entry (account, amount, running, purpose, at) values (?, ?, ?, ?, ?)",
                row,
            ).lastrowid
        assert entry is not None
        return Receipt(entry, self.account, amount, spent + amount, unit, purpose, now)

    @property
    def budget(self) -> Budget:
        with self._transaction() as tx:
            self._state(tx)
            row = tx.execute(
                "select epsilon, delta from account where name = ?", (self.account,)
            ).fetchone()
        return Budget.of(*row)

    @property
    def unit(self) -> str:
        with self._transaction() as tx:
            return self._state(tx)[0]

    @property
    def spent(self) -> Fraction:
        with self._transaction() as tx:
            return self._state(tx)[2]

    @property
    def remaining(self) -> Fraction:
        with self._transaction() as tx:
            _, total, spent = self._state(tx)
        return total - spent

    def entries(self) -> list[Receipt]:
        """Every charge, oldest first."""
        with self._transaction() as tx:
            unit = self._state(tx)[0]
            rows = tx.execute(
                "select id, amount, running, purpose, at from entry where account = ? order by id",
                (self.account,),
            ).fetchall()
        return [
            Receipt(i, self.account, Fraction(amount), Fraction(running), unit, purpose, at)
            for i, amount, running, purpose, at in rows
        ]

    def _state(self, tx: sqlite3.Connection) -> tuple[str, Fraction, Fraction]:
        """Unit, total and spent; the running total of the last entry is what was spent."""
        try:
            row = tx.execute(
                "select unit, total from account where name = ?", (self.account,)
            ).fetchone()
            last = tx.execute(
                "select running from entry where account = ? order by id desc limit 1",
                (self.account,),
            ).fetchone()
        except sqlite3.OperationalError:
            raise FormatError(f"{self.path} is not a frith ledger") from None
        if row is None:
            raise ValueError(f"the ledger {self.path} has no account {self.account!r}")
        spent = exact(last[0]) if last else Fraction(0)
        assert isinstance(spent, Fraction)
        return row[0], Fraction(row[1]), spent

    @contextmanager
    def _transaction(self, begin: str = "begin") -> Iterator[sqlite3.Connection]:
        """One transaction; `begin immediate` takes the write lock first."""
        try:
            connection = sqlite3.connect(self.path, timeout=_WAIT_SECONDS, isolation_level=None)
            with closing(connection) as tx:
                tx.execute("pragma synchronous = full")
                tx.execute(begin)
                try:
                    yield tx
                except BaseException:
                    tx.execute("rollback")
                    raise
                tx.execute("commit")
        except sqlite3.DatabaseError as error:
            raise FormatError(f"the ledger {self.path} cannot be used: {error}") from None


def _statements(script: str) -> Iterator[str]:
    """Split a script into statements, keeping triggers whole."""
    statement = ""
    for line in script.splitlines(keepends=True):
        statement += line
        if sqlite3.complete_statement(statement):
            yield statement
            statement = ""
