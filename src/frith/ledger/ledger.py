"""A ledger as a learner sees it: one account, charged before the first record is read.

Reservations are made by servers only; see `book.py`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

from frith.errors import SourceError
from frith.ledger.book import Book
from frith.ledger.database import Database, url_of
from frith.ledger.entries import ACCEPTED, SPENDING, Receipt
from frith.ledger.events import ACCOUNT, at_desk
from frith.ledger.notebook import ledger_html
from frith.ledger.state import State
from frith.ledger.walk import Verification
from frith.privacy.budget import Budget
from frith.privacy.neighbors import neighbors_of

_NAMED = 10  # accounts that an error names


class Ledger:
    """One account of a ledger, by the path of its file or the URL of its PostgreSQL database.

    Every charge is also charged to the accounts that it is `within`, in the same transaction, and to
    the ledger `also`, which may be another database: it is asked beforehand, but if another process
    spends the rest of one of the two in between, the charge to the other is lost. Holds no
    connection, so it can be copied and pickled.
    """

    def __init__(
        self,
        place: str | Path,
        account: str = "table",
        *,
        within: tuple[str, ...] = (),
        also: Ledger | None = None,
    ):
        if ACCOUNT in (account, *within):
            raise ValueError(f"{ACCOUNT!r} is the account of events; nothing is charged to it")
        self.place, self.account, self.within, self.also = place, account, within, also
        url = url_of(place)
        if url.get_backend_name() == "sqlite" and not Path(url.database or "").is_file():
            raise SourceError(
                f"there is no ledger at {url.database}; make one with "
                f"`frith ledger create {url.database} --epsilon 1`, or Ledger.create(path, epsilon=1)"
            )

    @classmethod
    def create(
        cls,
        place: str | Path,
        *,
        epsilon: object,
        delta: object = 0,
        records_per_person: int | None = None,
        account: str = "table",
    ) -> Ledger:
        """Open an account with a budget; creates the file if it does not exist.

        A pure budget is kept in epsilon. One with a delta is converted to rho, once, and every
        request is charged in rho.

        Parameters
        ----------
        place : str or Path
            The path of the ledger's file, or the URL of its PostgreSQL database.
        epsilon : int, float, str or Fraction
            What may be spent in total.
        delta : int, float, str or Fraction, default=0
            Above 0 for a budget that is kept in rho.
        records_per_person : int or None, default=None
            None for fits that protect single records; otherwise the `records` of the domain's
            `Person`. Fits for other neighbors are refused.
        account : str, default="table"
            The account's name, if one database holds several.
        """
        neighbors = neighbors_of(records_per_person)
        budget = Budget.of(epsilon, delta)
        if account == ACCOUNT:
            raise ValueError(f"{ACCOUNT!r} is the account of events; choose another name")
        if budget.is_exact:
            raise ValueError("a ledger's epsilon must be finite")
        database = _database(place)
        database.upgrade()
        with database.write() as session:
            Book(session.connection(), actor=at_desk()).open(account, budget, neighbors)
        return cls(place, account)

    def charge(self, request: Budget, purpose: str, neighbors: str) -> Receipt:
        """Take the whole request from the account, or raise and change nothing.

        Parameters
        ----------
        request : Budget
            The whole budget of a fit.
        purpose : str
            What the charge is for, in one line.
        neighbors : str
            The neighbors of the fit's guarantee.

        Raises
        ------
        OtherNeighbors
            If the account is for other neighbors, whose amounts do not add.
        BudgetExceeded
            If less is left.
        """
        if self.also is not None:
            self.check(request, neighbors)
            self.also.charge(request, purpose, neighbors)
        with self._book(write=True) as book:
            for account in (*self.within, self.account):
                amount = request.cost_in(self._state(book, account).unit)
                receipt = book.charge(account, amount, purpose, neighbors)
            return receipt

    def check(self, request: Budget, neighbors: str) -> None:
        """Raise as `charge` would at this moment, and charge nothing."""
        with self._book() as book:
            for account in (*self.within, self.account):
                state = self._state(book, account)
                state.check_neighbors(neighbors)
                state.check(request.cost_in(state.unit))

    def declare(self, records_per_person: int | None) -> None:
        """Declare the neighbors of an account that was opened before accounts had any."""
        with self._book(write=True) as book:
            self._state(book)
            book.declare(self.account, neighbors_of(records_per_person))

    def accept_clock(self) -> Receipt:
        """Let the chain's own time be this machine's, for budgets that renew."""
        with self._book(write=True) as book:
            return book.tell_time(ACCEPTED)

    def set_budget(self, epsilon: object) -> None:
        """Set a new total for the same delta; the change gets its own entry."""
        with self._book(write=True) as book:
            self._state(book)
            book.set_budget(self.account, epsilon)

    @property
    def path(self) -> Path:
        """The path of the ledger's file; only a SQLite ledger has one."""
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
    def neighbors(self) -> str | None:
        """The neighbors that the account protects; None for an older one until it is declared."""
        return self.state.neighbors

    @property
    def spent(self) -> Fraction:
        return self.state.spent

    @property
    def remaining(self) -> Fraction:
        return self.state.remaining

    def entries(self) -> list[Receipt]:
        """Every reservation, charge and cancellation, oldest first."""
        with self._book() as book:
            self._state(book)
            return [e for e in book.entries(self.account) if e.kind in SPENDING]

    def all_entries(self) -> list[Receipt]:
        """Every entry of every account, budgets too: the chain."""
        with self._book() as book:
            return book.entries()

    def verify(self) -> Verification:
        """Follow the whole chain, over all accounts."""
        with self._book() as book:
            return book.verify()

    def _state(self, book: Book, account: str | None = None) -> State:
        name = self.account if account is None else account
        found = book.find(name)
        if not found:
            raise ValueError(
                f"the ledger {self} has no account {name!r}; {_listed(book.accounts())}"
            )
        return found[name]

    @contextmanager
    def _book(self, write: bool = False) -> Iterator[Book]:
        database = _database(self.place)
        database.check()
        with database.write() if write else database.read() as session:
            yield Book(session.connection(), actor=at_desk())

    def __str__(self) -> str:
        return str(_database(self.place))

    def __repr__(self) -> str:
        return f"<Ledger {self}, account {self.account!r}>"

    def _repr_html_(self) -> str:
        return ledger_html(self.state, self.account, self.entries())


def _listed(accounts: list[str]) -> str:
    """The accounts' names, as many as fit in a line."""
    if not accounts:
        return "it has none yet"
    more = f" and {len(accounts) - _NAMED} more" if len(accounts) > _NAMED else ""
    return f"it has {', '.join(map(repr, accounts[:_NAMED]))}{more}"


def _database(place: str | Path) -> Database:
    """The database of a ledger. A relative path is resolved now, so that a later chdir changes nothing."""
    is_url = isinstance(place, str) and "://" in place
    return _opened(str(place) if is_url else str(Path(place).absolute()), os.getpid())


@functools.lru_cache(maxsize=64)
def _opened(place: str, process: int) -> Database:
    """Connections are kept for each process: they do not survive a fork."""
    return Database(place)
