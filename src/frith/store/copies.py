"""Backups of a SQLite database: taken while it is in use, and put back without forgetting a charge."""

from __future__ import annotations

import contextlib
import os
import shutil
import sqlite3
from pathlib import Path

from frith.errors import SourceError
from frith.store.database import Database

_POSTGRES = "a PostgreSQL database is backed up with pg_dump and put back with pg_restore"


def back_up(database: Database, to: Path) -> None:
    """A consistent copy, made while others read and write."""
    if database.file is None:
        raise SourceError(_POSTGRES)
    if to.exists():
        raise SourceError(f"{to} exists; choose another name")
    database.check()
    part = to.with_name(to.name + ".part")
    with (
        contextlib.closing(sqlite3.connect(database.file)) as source,
        contextlib.closing(sqlite3.connect(part)) as copy,
    ):
        source.backup(copy)
    part.chmod(0o600)
    os.replace(part, to)


def put_back(copy: Path, database: Database, *, forget: bool = False) -> None:
    """Replace a database by a copy of it. Refuses to lose entries of the ledger.

    A copy that lacks charges would sell the same budget again, so it is taken only where the
    database is gone or holds nothing newer, or where the curator says to forget.
    """
    if database.file is None:
        raise SourceError(_POSTGRES)
    if not copy.is_file():
        raise SourceError(f"there is no backup at {copy}")
    source = Database(copy)
    source.check()
    kept, present = _entries(source), 0
    source.close()
    if database.file.exists():
        present = _entries(database)
    if present > kept and not forget:
        raise SourceError(
            f"{database} has {present - kept} entries of the ledger that {copy} lacks: putting it back "
            "would sell their budget again; keep the database, or charge them anew afterwards"
        )
    database.close()
    for ending in ("-wal", "-shm"):
        Path(f"{database.file}{ending}").unlink(missing_ok=True)
    part = database.file.with_name(database.file.name + ".part")
    shutil.copyfile(copy, part)
    part.chmod(0o600)
    os.replace(part, database.file)


def _entries(database: Database) -> int:
    from sqlalchemy import text

    with database.read() as session:
        return int(session.execute(text("SELECT entry FROM ledger_head")).scalar_one())
