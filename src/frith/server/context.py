"""What every part of the server gets: the database, the settings, a clock and a source of secrets."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy.orm import Session

from frith._cached import cached_property
from frith.client.documents import NAME
from frith.ledger import Book
from frith.ledger.anchored import Anchors, open_anchors
from frith.ledger.book import Clock, utc_now
from frith.ledger.database import Database
from frith.server.problems import invalid
from frith.server.settings import Settings
from frith.server.watch import Watch

SERVER = "(server)"
"""The actor for what workers and the server do themselves; no member can have this name."""
_NAME = re.compile(NAME.replace("$", r"\Z"))


@dataclass(frozen=True)
class Context:
    """The server's surroundings. Only tests replace the clocks and the secrets."""

    database: Database
    settings: Settings
    clock: Clock = utc_now
    new_secret: Callable[[int], str] = secrets.token_hex
    steady: Callable[[], float] = time.monotonic
    """A monotonic clock, in seconds, to compare the clock with."""
    memory: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What this process remembers between requests, by the part of the server that needs it."""

    @cached_property
    def watch(self) -> Watch:
        """What this process knows about the ledger's chain."""
        return Watch(self.database, self.clock, self.patience, self.steady, self.anchors)

    @cached_property
    def anchors(self) -> Anchors | None:
        """The ledger's witness; None if the operator has named none."""
        named = self.settings
        return open_anchors(
            named.anchor_witness, named.anchor_key, named.anchor_trusted, self.clock
        )

    @property
    def patience(self) -> timedelta:
        """How far the clock and the ledger's own time may differ."""
        return timedelta(days=self.settings.clock_days)

    def now(self, **later: float) -> str:
        """Now, or some time later, as text that sorts like the times."""
        return stamp(self.clock() + timedelta(**later))

    def book(self, session: Session) -> Book:
        """The ledger's book; its entries name who acts in this transaction, or the server itself."""
        actor = session.info.get("actor", SERVER)
        return Book(session.connection(), self.clock, self.new_secret, actor)


def open_context(settings: Settings, *, make: bool = True) -> Context:
    """Open the server's database; with `make`, create it or migrate it first."""
    database = Database(settings.database)
    if make:
        database.upgrade()
    else:
        database.check()
    return Context(database, settings)


def stamp(time: datetime) -> str:
    return time.isoformat(timespec="milliseconds")


def check_name(what: str, name: str) -> str:
    """Refuse a name that cannot be part of a URL, a file name and an account."""
    if not _NAME.match(name):
        raise invalid(
            f"the name of a {what} has at most 63 lower-case letters, digits, - and _, "
            "and begins with a letter or a digit",
        )
    return name
