"""The audit log: the chain as lines, each an entry or an event with who, what, to what and from where.

A line holds everything that its hash is over, so an exported log can be verified without the database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from frith.errors import FormatError
from frith.ledger.book import Book
from frith.ledger.entries import Receipt, actor_in
from frith.ledger.events import Event, event_in

ON_TABLES = frozenset({
    "register", "set policy", "raise version", "add batch", "grant", "withdraw", "ask",
    "add curator", "remove curator", "propose raise", "approve raise", "reject raise",
    "approve request", "reject request", "buy domain",
})  # fmt: skip
"""Actions whose target begins with the name of a table."""
_AFTER_TABLE = re.compile("[/@+]")
_NAMED = re.compile(r"\{(\w+)\}")
_AT_ONCE = 1_000  # lines read at a time
_MOST = 20_000  # lines that one search looks at


@dataclass(frozen=True)
class Line:
    """One entry of the chain with its salt, and its event if it is one."""

    entry: Receipt
    salt: str
    event: Event | None

    @classmethod
    def of(cls, entry: Receipt, salt: str) -> Line:
        return cls(entry, salt, event_in(entry))

    @property
    def what(self) -> str:
        return self.entry.kind.word if self.event is None else self.event.action

    @property
    def target(self) -> str:
        return self.entry.account if self.event is None else self.event.target

    @property
    def outcome(self) -> str:
        return "done" if self.event is None else self.event.outcome

    @property
    def table(self) -> str | None:
        """The table that the line is about; None for lines about members, tokens and jobs."""
        if self.event is None or self.event.action in ON_TABLES:
            return _AFTER_TABLE.split(self.target)[0]
        named = _NAMED.findall(self.event.action)  # a route: its target has what its path names
        parts = dict(zip(named, self.target.split("/"), strict=False))
        return parts.get("table")

    def to_text(self) -> str:
        """The line as JSON. Its actor is read back from the salt, which the hash binds."""
        return json.dumps(self.entry.to_json() | {"actor": self.entry.actor, "salt": self.salt})

    @classmethod
    def from_text(cls, text: str) -> Line:
        """Read a line; its actor comes from its salt, whatever else the line says."""
        try:
            data: dict[str, Any] = json.loads(text)
            salt = str(data.pop("salt"))
            entry = Receipt.from_json(data | {"actor": actor_in(salt)})
        except (ValueError, TypeError, KeyError, AttributeError, ArithmeticError):
            raise FormatError("a line of the log cannot be read") from None
        return cls.of(entry, salt)


@dataclass(frozen=True)
class Filter:
    """Which lines to show; an empty field matches everything. Times are compared as text."""

    actor: str = ""
    action: str = ""
    target: str = ""
    outcome: str = ""
    since: str = ""
    until: str = ""
    table: str = ""

    def wants(self, line: Line) -> bool:
        return (
            (not self.actor or line.entry.actor == self.actor)
            and (not self.action or line.what == self.action)
            and (not self.target or line.target == self.target)
            and (not self.table or line.table == self.table)
            and (not self.outcome or line.outcome == self.outcome)
            and (not self.since or line.entry.at >= self.since)
            and (not self.until or line.entry.at[: len(self.until)] <= self.until)
        )


def find(
    book: Book, wanted: Filter, limit: int, before: int | None = None
) -> tuple[list[Line], int | None]:
    """The newest lines that match, and the entry to continue before; None at the beginning."""
    found, looked = list[Line](), 0
    while looked < _MOST:
        page = book.log(_AT_ONCE, before=before, newest=True)
        for entry, salt in page:
            line, before = Line.of(entry, salt), entry.id
            if wanted.wants(line):
                found.append(line)
                if len(found) == limit:
                    return found, before
        looked += len(page)
        if len(page) < _AT_ONCE:
            return found, None
    return found, before


def lines(book: Book, after: int = 0, limit: int = _AT_ONCE) -> list[Line]:
    """At most `limit` lines after an entry, oldest first."""
    return [Line.of(entry, salt) for entry, salt in book.log(limit, after=after)]


def read(text: str) -> Iterator[Line]:
    """The lines of an exported log."""
    for line in text.splitlines():
        if line.strip():
            yield Line.from_text(line)
