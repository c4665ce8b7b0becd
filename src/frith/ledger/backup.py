"""Backups of a SQLite database: taken while it is in use, and restored without losing a charge."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path

from frith.errors import SourceError
from frith.ledger.anchored import Anchors
from frith.ledger.database import Database, StoreError, make_private

_POSTGRES = (
    "a PostgreSQL database is backed up with pg_basebackup: docs/runbook.md says how to restore it"
)
_WAIT_SECONDS = 2


def back_up(database: Database, to: Path) -> None:
    """A consistent copy, made while others read and write."""
    if database.file is None:
        raise SourceError(_POSTGRES)
    if to.exists():
        raise SourceError(f"{to} exists; choose another name")
    database.check()
    part = to.with_name(to.name + ".part")
    make_private(part)
    with (
        contextlib.closing(sqlite3.connect(database.file)) as source,
        contextlib.closing(sqlite3.connect(part)) as copy,
    ):
        source.backup(copy)
    os.replace(part, to)


def put_back(
    copy: Path, database: Database, *, forget: bool = False, anchors: Anchors | None = None
) -> None:
    """Restore a database from its copy. Refuses to lose entries of the ledger.

    A copy that lacks charges would sell the same budget again, so it is accepted only if the database
    is gone, if the copy has everything that the database holds, or if the curator decides to forget.
    With `anchors` it must also hold what was anchored, even if the database is gone. Nobody else may
    have the database open meanwhile: what they wrote next would be lost.
    """
    if database.file is None:
        raise SourceError(_POSTGRES)
    if not copy.is_file():
        raise SourceError(f"there is no backup at {copy}")
    if database.file.exists() and copy.samefile(database.file):
        raise SourceError(f"{copy} is the database itself; name a backup of it")
    source = Database(copy)
    source.check()
    missing = [] if anchors is None or forget else anchors.doubts(source, whole=True)
    source.close()
    if missing:
        raise SourceError(f"{copy} is not put back: {missing[0]}")
    database.close()
    make_private(database.file)
    with (
        contextlib.closing(sqlite3.connect(copy)) as kept,
        contextlib.closing(sqlite3.connect(database.file, timeout=_WAIT_SECONDS)) as target,
    ):
        last = _lock(target, database.file)
        if not forget:
            _check_nothing_is_lost(database.file, last, copy, kept)
        try:
            kept.backup(target)
        except sqlite3.Error:
            raise StoreError(f"{copy} cannot be put back, so nothing was changed") from None
    database.file.chmod(0o600)


def _lock(target: sqlite3.Connection, file: Path) -> tuple[int, str]:
    """Lock everybody else out until the connection is closed; returns the head of its chain.

    Raises if there is another connection, even an idle one of a server.
    """
    target.isolation_level = None
    try:
        for step in ("PRAGMA locking_mode = EXCLUSIVE", "BEGIN EXCLUSIVE", "COMMIT"):
            target.execute(step)
        if not target.execute("SELECT * FROM sqlite_master").fetchone():
            return 0, ""
        entry, hash_of_it = target.execute("SELECT entry, hash FROM ledger_head").fetchone()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY:
            raise SourceError(f"{file} is in use; stop the server and its workers first") from None
        raise SourceError(
            f"{file} is not a ledger that can be read, so what it holds cannot be compared; move it "
            "away to put the backup in its place"
        ) from None
    return entry, hash_of_it


def _check_nothing_is_lost(
    file: Path, last: tuple[int, str], copy: Path, kept: sqlite3.Connection
) -> None:
    """The copy's chain must hold the database's last entry, and thereby all entries before it."""
    entry, hash_of_it = last
    found = kept.execute("SELECT hash FROM entry WHERE id = ?", (entry,)).fetchone()
    if entry == 0 or found == (hash_of_it,):
        return
    (entries,) = kept.execute("SELECT entry FROM ledger_head").fetchone()
    lacks = (
        f"has {entry - entries} entries of the ledger that {copy} lacks"
        if found is None
        else f"has entries of the ledger that {copy} lacks, with another history"
    )
    raise SourceError(
        f"{file} {lacks}: putting it back would sell their budget again; keep the database, or "
        "charge them anew afterwards"
    )
