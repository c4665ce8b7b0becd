"""Sources that hold the same records: a second budget over the same people is a raise in disguise.

Files are compared by their identity on the disk, tables of a database by name; a query, or a source
that a curator signed for, such as a view, may read every table of its database. Hosts and users are not
compared: one host has many names. Nothing here can detect a copy of the records.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple
from urllib.parse import urlsplit

from sqlalchemy import select
from sqlalchemy.orm import Session

from frith.engines.files import list_files
from frith.errors import FrithError
from frith.server.auth.acting import tell
from frith.server.auth.members import get_member
from frith.server.connections import DuckDBFile, Folder, PostgresDatabase
from frith.server.context import Context
from frith.server.problems import conflict
from frith.server.schema import Batch, RegisteredTable
from frith.server.settings import Settings
from frith.server.sources import Source, connection_of, read_source

Records = frozenset[tuple[object, ...]]
"""What a source reads: files, or tables of a database."""
_claiming = threading.Lock()


class Used(NamedTuple):
    """A source that a table or one of its batches has; `batch` is one with its own account."""

    table: str
    batch: str | None
    signed: bool
    source: str


def used(session: Session) -> list[Used]:
    """The sources of all tables and batches."""
    tables = {t.name: t for t in session.scalars(select(RegisteredTable))}
    batches = [
        Used(b.table, b.name if b.disjoint else None, tables[b.table].signed, b.source)
        for b in session.scalars(select(Batch))
    ]
    return [Used(t.name, None, t.signed, t.source) for t in tables.values()] + batches


class Overlaps:
    """Compares a new source with all others. It looks at files when it is made, before a transaction."""

    def __init__(self, context: Context, source: Source, signed: bool = False):
        with context.database.read() as session:
            others = {(each.source, each.signed) for each in used(session)}
        new = _reads(context.settings, source.to_text(), signed)
        self._known = {each: _overlap(new, _reads(context.settings, *each)) for each in others}
        self._new, self._claims = new, context.memory.setdefault("claims", dict[str, Records]())

    def tables(self, session: Session) -> list[str]:
        """The tables that have some of these records."""
        known, found = self._known, used(session)
        return sorted({each.table for each in found if known.get((each.source, each.signed), True)})

    @contextmanager
    def claimed(self, name: str) -> Iterator[None]:
        """Meanwhile this process gives neither the name nor some of these records to another request.

        `check` does not see a table whose domain is charged for and still being drawn. Other replicas do
        not see the claim: each checks again when it registers.
        """
        with _claiming:
            others = self._claims.values()
            if name in self._claims or any(_overlap(self._new, each) for each in others):
                raise conflict(
                    f"{name!r} or some of these records are being registered right now; look at your "
                    "tables before you try again"
                )
            self._claims[name] = self._new
        try:
            yield
        finally:
            with _claiming:
                del self._claims[name]

    def check(self, session: Session, by: str, *, but: str | None = None) -> None:
        """Refuse records that another table has, unless an operator registers them; the event says which.

        `but` is the table whose own account is charged for them anyway.
        """
        others = [each for each in used(session) if (each.table, each.batch) != (but, None)]
        if any((each.source, each.signed) not in self._known for each in others):
            raise conflict("another table was registered at the same time; try again")
        same = sorted({each.table for each in others if self._known[each.source, each.signed]})
        if same and not get_member(session, by).is_operator:
            raise conflict(
                "these records are a table's already, and a second one would have a budget of its own "
                "over the same people; an operator can register it"
            )
        if same:
            tell(session, more={"same records as": same})


def _reads(settings: Settings, stored: str, signed: bool) -> Records:
    """What a source reads; nothing if it no longer exists."""
    try:
        source = read_source(settings, stored)
        connection = connection_of(settings, source)
        if isinstance(connection, Folder):
            files, _ = list_files(connection.place(source.table, source.query))
            return frozenset((s.st_dev, s.st_ino) for s in map(os.stat, files))
    except (FrithError, OSError):
        return frozenset()
    if isinstance(connection, DuckDBFile):
        database: object = connection.file.resolve()
    elif isinstance(connection, PostgresDatabase):
        database = urlsplit(connection.url).path
    else:
        database = (connection.format, connection.root)
    is_open = source.table is None or "*" in source.table or signed
    table = None if is_open else source.table
    return frozenset({(database, table and table.rpartition(".")[2].lower())})


def _overlap(one: Records, other: Records) -> bool:
    """Whether two sources share a file or a table; a table of None is any of its database."""
    everything = {place for place in one | other if place[1] is None}
    return bool(one & other) or any(
        place[0] == each[0] for place in everything for each in (other if place in one else one)
    )
