"""A ledger as a learner sees it: one account, charged before the first record is read."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from frith.errors import SourceError
from frith.ledger.book import BUDGET, Book, Receipt, State, Verification
from frith.privacy.budget import Budget
from frith.store.database import Database, url_of

_NAMED = 10  # accounts that an error names


class Ledger:
    """One account of a ledger, by the path of its file or the URL of its PostgreSQL database.

    Holds no connection, so it can be copied and pickled.
    """

    def __init__(self, place: str | Path, account: str = "table"):
        self.place, self.account = place, account
        url = url_of(place)
        if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
            raise SourceError(
                f"there is no ledger at {url.database}; make one with "
                f"`frith ledger create {url.database} --epsilon 1`, or Ledger.create(path, epsilon=1)"
            )

    @classmethod
    def create(
        cls, place: str | Path, *, epsilon: object, delta: object = 0, account: str = "table"
    ) -> Ledger:
        """Open an account with a budget; the file is made when it is not there yet.

        A pure budget is kept in epsilon. One with a delta is converted to rho, once, and every
        request is charged in rho.
        """
        budget = Budget.of(epsilon, delta)
        if budget.is_exact:
            raise ValueError("a ledger's epsilon must be finite")
        database = _database(place)
        database.upgrade()
        with database.write() as session:
            Book(session.connection()).open(account, budget)
        return cls(place, account)

    def charge(self, request: Budget, purpose: str) -> Receipt:
        """Take the whole request from the account, or raise `BudgetExceeded` and change nothing."""
        with self._book(write=True) as book:
            return book.charge(self.account, request.cost_in(self._state(book).unit), purpose)

    def set_budget(self, epsilon: object) -> None:
        """Another total, for the same delta; the change is an entry of its own."""
        with self._book(write=True) as book:
            self._state(book)
            book.set_budget(self.account, epsilon)

    @property
    def path(self) -> Path:
        """The file of a ledger that is one."""
        return Path(url_of(self.place).database or "")

    @property
    def state(self) -> State:
        with self._book() as book:
            return self._state(book)

    @property
    def budget(self) -> Budget:
        return self.state.budget

    @property
    def unit(self) -> str:
        return self.state.unit

    @property
    def spent(self) -> Fraction:
        return self.state.spent

    @property
    def remaining(self) -> Fraction:
        return self.state.remaining

    def entries(self) -> list[Receipt]:
        """Every reservation, charge and release, oldest first."""
        with self._book() as book:
            self._state(book)
            return [e for e in book.entries(self.account) if e.kind != BUDGET]

    def all_entries(self) -> list[Receipt]:
        """Every entry of every account, budgets too: the chain."""
        with self._book() as book:
            return book.entries()

    def verify(self) -> Verification:
        """Follow the whole chain, over all accounts."""
        with self._book() as book:
            return book.verify()

    def _state(self, book: Book) -> State:
        found = book.find(self.account)
        if not found:
            raise ValueError(
                f"the ledger {self} has no account {self.account!r}; {_listed(book.accounts())}"
            )
        return found[self.account]

    @contextmanager
    def _book(self, write: bool = False) -> Iterator[Book]:
        database = _database(self.place)
        database.check()
        with database.write() if write else database.read() as session:
            yield Book(session.connection())

    def __str__(self) -> str:
        return str(_database(self.place))


def _listed(accounts: list[str]) -> str:
    """Which accounts there are, as far as they fit in a line."""
    if not accounts:
        return "it has none yet"
    more = f" and {len(accounts) - _NAMED} more" if len(accounts) > _NAMED else ""
    return f"it has {', '.join(map(repr, accounts[:_NAMED]))}{more}"


def _database(place: str | Path) -> Database:
    """The database of a ledger; a path is the one that it is now, wherever one goes later."""
    is_url = isinstance(place, str) and "://" in place
    return _opened(str(place) if is_url else str(Path(place).absolute()), os.getpid())


@functools.lru_cache(maxsize=64)
def _opened(place: str, process: int) -> Database:
    """Connections are kept a process: they do not survive a fork."""
    return Database(place)
