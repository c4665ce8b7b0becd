"""One database for ledger and server: SQLite in a file by default, PostgreSQL for many writers.

A write transaction takes its lock before it looks, so what it saw is still true when it commits.
What a driver says when it fails is never shown: it may quote a password or a statement.
"""

from __future__ import annotations

import contextlib
import math
import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, inspect, text
from sqlalchemy.engine import URL, Engine, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, DisconnectionError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session

from frith.errors import FormatError, FrithError, SourceError

HEAD = "0008"
"""The newest migration."""
_KEPT, _OPEN = 5, 20  # connections of each kind that are kept, and that may be open at once
_RESTED_SECONDS = 1
_WAIT_SECONDS = 60  # how long a writer waits for other writers
_NO_DATABASE = "the file is not a database"
_UPGRADE_LOCK = 7_246_153  # any number, the same for all who upgrade a PostgreSQL database
_UPGRADE_TRIES, _STEP_BACK_SECONDS = 200, 0.2
_LOCK_WAIT = "100ms"  # less than the second after which PostgreSQL looks for deadlocks
_LOCKED = "55P03"  # PostgreSQL's code for a lock that was not free in time
_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}


class StoreError(FrithError, OSError):
    """The database cannot be reached or written to; what was not committed did not happen."""


class Database:
    """A place for state, by the path of a SQLite file or the URL of a PostgreSQL database.

    `str()` of it shows no password.
    """

    def __init__(self, place: str | Path):
        self.url = url_of(place)
        self._readers, self._writers = (_make_engine(self.url, writes=w) for w in (False, True))
        self._one_writer = threading.Lock() if self.is_sqlite else contextlib.nullcontext()

    @property
    def is_sqlite(self) -> bool:
        return self.url.get_backend_name() == "sqlite"

    @property
    def file(self) -> Path | None:
        """The file of a SQLite database."""
        return Path(self.url.database or "") if self.is_sqlite else None

    @contextlib.contextmanager
    def read(self) -> Iterator[Session]:
        """One read-only transaction over a snapshot, whatever is written meanwhile."""
        with self._transaction(self._readers) as session:
            yield session

    @contextlib.contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction; on SQLite the write lock is taken first."""
        with self._one_writer, self._transaction(self._writers) as session:
            yield session

    def upgrade(self, to: str = "head") -> None:
        """Bring the tables up to date, or to an earlier migration; creates them if there are none."""
        with self.write() as session:
            connection = session.connection()
            if self.is_sqlite:
                _migrate(connection, to)
            else:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})"))
                _migrate_beside_others(connection, to)

    @property
    def version(self) -> str | None:
        """The last migration that ran here; None if this is not a frith database."""
        with self.read() as session:
            connection = session.connection()
            if not inspect(connection).has_table("frith_version"):
                return None
            return connection.execute(text("SELECT version_num FROM frith_version")).scalar()

    def check(self) -> None:
        """Raise if this is not a frith database; upgrade an older one."""
        if self.file is not None and not self.file.is_file():
            raise SourceError(f"there is no database at {self}; name the one to use")
        version = self.version
        if version is None:
            raise FormatError(f"{self} is not a frith ledger")
        if version > HEAD:
            raise FormatError(f"{self} was written by a newer frith; upgrade frith to use it")
        if version < HEAD:
            self.upgrade()

    def close(self) -> None:
        self._readers.dispose()
        self._writers.dispose()

    def __str__(self) -> str:
        return str(self.file) if self.is_sqlite else self.url.render_as_string(hide_password=True)

    @contextlib.contextmanager
    def _transaction(self, engine: Engine) -> Iterator[Session]:
        try:
            with (
                engine.begin() as connection,
                Session(bind=connection, expire_on_commit=False) as session,
            ):
                yield session
                session.flush()
        except (DBAPIError, PoolTimeout, sqlite3.Error) as error:
            reason = _reason(error)
            kind = FormatError if reason == _NO_DATABASE else StoreError
            raise kind(
                f"the database {self} cannot be used: {reason}; nothing was changed"
            ) from None


def url_of(place: str | Path) -> URL:
    """The URL behind a path or a URL; errors quote nothing of it."""
    if isinstance(place, Path) or "://" not in place:
        return URL.create("sqlite", database=str(place))
    try:
        url = make_url(place)
    except (ArgumentError, ValueError):
        url = None
    if url is None or url.drivername not in _DRIVERS:
        raise SourceError(
            "a database is the path of a SQLite file, or postgresql://user:password@host/database"
        )
    return url.set(drivername=_DRIVERS[url.drivername])


def _make_engine(url: URL, *, writes: bool) -> Engine:
    """Connections in a pool, each prepared once for the transactions that it will have."""
    is_sqlite = url.get_backend_name() == "sqlite"
    engine = create_engine(
        url,
        pool_size=_KEPT,
        max_overflow=_OPEN - _KEPT,
        hide_parameters=True,
        connect_args={"timeout": _WAIT_SECONDS} if is_sqlite else {},
    )
    if is_sqlite:
        event.listen(engine, "do_connect", lambda *_: make_private(Path(url.database or "")))
        event.listen(engine, "connect", _prepare_sqlite)
        begin = "BEGIN IMMEDIATE" if writes else "BEGIN"
        event.listen(engine, "begin", lambda found: found.connection.cursor().execute(begin))
    else:
        event.listen(engine, "connect", _prepare_writer if writes else _prepare_reader)
        event.listen(engine, "checkin", _note_time)
        event.listen(engine, "checkout", _check_rested)
    return engine


def make_private(file: Path) -> None:
    """Make a file that is not there yet, for its owner alone; SQLite's files beside it follow it."""
    with contextlib.suppress(OSError):  # it is there, or opening it will say what is wrong
        os.close(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def _prepare_sqlite(connection: Any, _: Any) -> None:
    connection.isolation_level = None  # the driver's own BEGIN comes too late
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _prepare_reader(connection: Any, _: Any) -> None:
    import psycopg

    connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    connection.read_only = True


def _prepare_writer(connection: Any, _: Any) -> None:
    import psycopg

    connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED


def _note_time(_: Any, record: Any) -> None:
    record.info["rested_since"] = time.monotonic()


def _check_rested(connection: Any, record: Any, _: Any) -> None:
    """Check whether a connection that was idle for a while is still alive, and replace it if not.

    A connection that breaks sooner fails its transaction, and ends the others of its pool.
    """
    if time.monotonic() - record.info.get("rested_since", math.inf) < _RESTED_SECONDS:
        return
    import psycopg

    try:
        connection.execute("SELECT 1")
        connection.rollback()
    except psycopg.Error:
        raise DisconnectionError from None


def _reason(error: Exception) -> str:
    """Our own words for a driver's error."""
    said = str(getattr(error, "orig", error)).lower()
    known = {
        "full": "the disk is full",
        "locked": "other writers hold it for too long",
        "readonly": "it is read-only",
        "not a database": _NO_DATABASE,
        "malformed": "the file is damaged",
        "unable to open": "the file cannot be opened",
        "connection": "there is no connection",
        "terminating": "there is no connection",
    }
    return next((words for sign, words in known.items() if sign in said), "an error of the driver")


def _migrate_beside_others(connection: Connection, to: str) -> None:
    """Migrate a PostgreSQL database that is in use.

    A migration locks several tables, and so does a request, in another order. The migration gives
    way after a short wait, so that no request loses a deadlock.
    """
    connection.execute(text(f"SET LOCAL lock_timeout = '{_LOCK_WAIT}'"))
    for left in reversed(range(_UPGRADE_TRIES)):
        try:
            with connection.begin_nested():
                _migrate(connection, to)
            return
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) != _LOCKED or not left:
                raise
        time.sleep(_STEP_BACK_SECONDS)


def _migrate(connection: Connection, to: str) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("path_separator", "os")
    config.attributes["connection"] = connection
    command.upgrade(config, to)
