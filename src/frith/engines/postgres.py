"""Records in PostgreSQL, streamed as Arrow batches through ADBC in one read-only transaction."""

from __future__ import annotations

import contextlib
import math
import weakref
from typing import Any

import pyarrow as pa

from frith.domain.columns import is_readable
from frith.domain.encoding import CELL_BYTES
from frith.engines import positions
from frith.engines.sql import DatabaseEngine, Found, bare, quoted, row_by_row
from frith.engines.urls import PostgresTable, Selection, postgres_table
from frith.errors import SourceError

NEEDS_ADBC = "reading a PostgreSQL table needs ADBC's driver: pip install 'frith[postgres]'"
_BATCH_BYTES = 2**23  # ADBC hands on a batch when it has about this size
_AS_IT_IS = {"bool", "int2", "int4", "int8", "float4", "float8", "bytea"}
_MOMENTS = {"date", "timestamp", "timestamptz"}
_ONE_SELECT = "PostgreSQL cannot read the query; it must be one SELECT of what is there"
_REASONS = {
    "password": "the server refuses the user or the password",
    "Connection refused": "no server answers at this host and port",
    "No such file": "no server answers at this socket",
    "translate host name": "the host's name is not known",
    "does not exist": "there is no such user or database",
    "timeout expired": "the server does not answer in time",
    "percent-encoded": "the URL is not percent-encoded correctly",
}
"""libpq's messages, and what we show instead: its own may quote part of the URL."""


class PostgresEngine(DatabaseEngine):
    """A table, a view or a query of a PostgreSQL database.

    All passes are in one REPEATABLE READ, READ ONLY transaction, which begins when the engine is
    opened and ends when it is closed or forgotten, so it sees nothing that others write meanwhile.
    If the connection is cut, the fit fails: a second connection would see another state of the
    table. While the engine is open, nobody can alter or drop the table.

    Numbers of type `numeric` come as text, by their digits: PostgreSQL's own conversion to a float
    fails on a number that is too long, and two persons' long numbers may be one float.
    """

    dialect = positions.Postgres()

    def connect(self, url: str) -> None:
        source = postgres_table(url)
        self._named = f"{source.selection} of {source.database}"
        self._connection = _connect(source, self._timeouts.connect)
        weakref.finalize(self, self._connection.close)
        with self.quietly(f"PostgreSQL cannot open {self._named}"):
            self._wait_for(self._timeouts.connect)
            self._begin()
            self._open(source.selection)
            self._wait_for(self._timeouts.statement)

    def read(self, sql: str, until: contextlib.ExitStack) -> pa.RecordBatchReader:
        cursor = until.enter_context(self._connection.cursor())
        cursor.adbc_statement.set_options(
            **{"adbc.postgresql.batch_size_hint_bytes": str(_BATCH_BYTES)}
        )
        cursor.execute(sql)
        reader = cursor.fetch_record_batch()
        until.callback(reader.close)
        return reader

    def close(self) -> None:
        self._connection.close()

    def _open(self, chosen: Selection) -> None:
        if chosen.query is not None:
            relation = self._subquery(bare(chosen.query))
            self.assumptions += row_by_row("query")
        else:
            relation = self._relation(chosen.schema, chosen.table or "")
        with self.quietly(_ONE_SELECT), self._connection.cursor() as cursor:
            schema = cursor.adbc_execute_schema(f"SELECT * FROM {relation} AS t")
        found = [Found(f.name, _kind(f), _form(f), _compared(f, self._encoding)) for f in schema]
        self.select_from(relation, found)

    def _wait_for(self, seconds: float) -> None:
        """How long a statement may take from now on, waiting for locks included."""
        self._run(f"SET statement_timeout = {math.ceil(1000 * seconds)}")

    def _begin(self) -> None:
        """Read texts as UTF-8, except from a database that does not know its own encoding."""
        encoding = self._ask("SELECT current_setting('server_encoding')")
        self._encoding = encoding
        self._run(f"SET client_encoding TO '{'SQL_ASCII' if encoding == 'SQL_ASCII' else 'UTF8'}'")
        if encoding not in ("UTF8", "SQL_ASCII", "LATIN1"):
            self.assumptions += (
                f"every text in the database can be turned from {encoding} to UTF8",
            )
        self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def _relation(self, schema: str | None, table: str) -> str:
        name = ".".join(quoted(part) for part in (schema, table) if part is not None)
        with self.quietly(f"{self._named} cannot be looked up"):
            kind = self._ask("SELECT relkind::text FROM pg_class WHERE oid = to_regclass($1)", name)
            if kind not in ("r", "p", "v", "m", "f"):
                raise SourceError(f"there is no {self._named}; names must match letter by letter")
        if kind not in ("r", "p"):
            self.assumptions += row_by_row("view")
        return name

    def _subquery(self, query: str) -> str:
        """The query in parentheses, after the server parsed it as one statement without them.

        In parentheses it can only be a SELECT, and the transaction lets it change nothing.
        """
        with self.quietly(_ONE_SELECT), self._connection.cursor() as cursor:
            cursor.adbc_prepare(query)
        return f"({query}\n)"

    def _run(self, sql: str) -> None:
        with self._connection.cursor() as cursor:
            cursor.execute(sql)

    def _ask(self, sql: str, *values: str) -> Any:
        """The only cell of the first row; None if there is no row."""
        with self._connection.cursor() as cursor:
            cursor.execute(sql, values or None)
            rows = cursor.fetchall()
        return rows[0][0] if rows else None


def _connect(source: PostgresTable, seconds: float) -> Any:
    """A connection in autocommit mode: it begins no transaction by itself.

    If an option is given twice, the last one counts.
    """
    try:
        from adbc_driver_postgresql import dbapi
    except ImportError:
        raise ImportError(NEEDS_ADBC) from None
    try:
        joined = "&" if "?" in source.uri else "?"
        uri = f"{source.uri}{joined}connect_timeout={math.ceil(seconds)}"
        return dbapi.connect(uri, autocommit=True)
    except Exception as error:  # noqa: BLE001 - of any class, and it may quote the password
        words = str(error)
    reason = next((shown for said, shown in _REASONS.items() if said in words), "")
    raise SourceError(
        f"cannot connect to {source.database}: "
        + (reason or "check host, port, user, password and options in the URL")
    )


def _kind(column: pa.Field) -> str:
    """PostgreSQL's name of a column's type."""
    name = (column.metadata or {}).get(b"POSTGRESQL:type", b"").decode("utf-8", "replace")
    return f"{name[1:]}[]" if name.startswith("_") else name or str(column.type)


def _form(column: pa.Field) -> str | None:
    """How to select a column; a char(n) loses its padding as it becomes text.

    Of a text that is too long, just enough is sent to show that it is.
    """
    kind = _kind(column)
    if kind == "numeric":
        return "trim_scale(nullif({}, 'NaN'))::text"
    if kind == "uuid":
        return "{}::text"
    if pa.types.is_string(column.type):  # also enumerations
        return _cut("{0}::text")
    if kind == "bytea":
        return _cut("{0}")
    if kind in _MOMENTS:  # infinite ones too, which Arrow has no number for
        return "CASE WHEN {0} IS NOT NULL THEN least(greatest({0}, '0001-01-01'), '9999-12-31') END"
    return "{}" if kind in _AS_IT_IS and is_readable(column.type) else None


def _compared(column: pa.Field, encoding: str) -> tuple[str, str] | None:
    """What the server can compare a column's cells as; texts only if it stores them as UTF-8."""
    kind = _kind(column)
    if kind in ("int2", "int4", "int8"):
        return "integer", "{}::int8"
    if kind in ("float4", "float8"):
        return "float", "{}"
    if pa.types.is_string(column.type) and kind not in ("numeric", "uuid") and encoding == "UTF8":
        return "text", '({}::text COLLATE "C")'
    return None


def _cut(form: str) -> str:
    start = f"substring({form} from 1 for {CELL_BYTES + 1})"
    return f"CASE WHEN octet_length({form}) > {CELL_BYTES} THEN {start} ELSE {form} END"
