"""Records in a DuckDB file, or in Parquet files that DuckDB reads, streamed as Arrow batches."""

from __future__ import annotations

import contextlib
import glob
import json
import os
import tempfile
import threading
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from frith.engines import positions
from frith.engines.sql import (
    AGAIN,
    DatabaseEngine,
    Found,
    bare,
    quoted,
    row_by_row,
)
from frith.engines.urls import Selection, duckdb_table
from frith.errors import SourceError

NEEDS_DUCKDB = "reading a DuckDB table needs duckdb: pip install 'frith[duckdb]'"
_MEMORY = "2GiB"  # of cached blocks, joins and sorts; what does not fit goes to a private folder
_AS_IT_IS = {
    "boolean", "tinyint", "smallint", "integer", "bigint", "utinyint", "usmallint", "uinteger",
    "ubigint", "float", "double", "decimal", "varchar", "blob", "enum", "uuid", "null",
    "date", "timestamp", "timestamp_s", "timestamp_ms", "timestamp_ns", "timestamp with time zone",
}  # fmt: skip
_AS_TEXT = {"hugeint", "uhugeint", "bignum"}  # by their digits: Arrow has no integers that long


class DuckDBEngine(DatabaseEngine):
    """A table, a view or a query of a DuckDB file, opened read-only.

    The file and every Parquet file that a query names are pinned when the engine is opened; a pass
    that finds one changed fails. DuckDB may open no other file, so a view that reads files is
    refused: name the files in a query. While the engine is open, DuckDB lets no other process
    write to the database.
    """

    dialect = positions.DuckDB()

    def connect(self, url: str) -> None:
        source = duckdb_table(url)
        file = _existing(source.files)
        self._named = f"{source.selection} of {file}" if file else str(source.selection)
        self._connection = _connect()
        weakref.finalize(self, self._connection.close)
        self._files: list[Path] = []
        with self.quietly(f"DuckDB cannot open {self._named}"):
            self._open(source.selection, file)

    def read(self, sql: str, until: contextlib.ExitStack) -> pa.RecordBatchReader:
        if self._timeouts.statement:
            stop = threading.Timer(self._timeouts.statement, self._connection.interrupt)
            stop.daemon = True
            stop.start()
            until.callback(stop.cancel)
        reader = self._connection.sql(sql).to_arrow_reader(self._rows)
        until.callback(reader.close)
        return reader

    def select(self, forms: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self._check_pins()
        yield from super().select(forms)
        self._check_pins()

    def close(self) -> None:
        self._connection.close()

    def _open(self, chosen: Selection, file: Path | None) -> None:
        query = None if chosen.query is None else bare(chosen.query)
        allowed = [] if query is None else self._named_in(query)
        self._files += [] if file is None else [file, file.with_name(f"{file.name}.wal")]
        self._pins = _look(self._files)
        with self.quietly(
            f"{file or 'DuckDB'} cannot be opened: it is no DuckDB file of this version, or it is being "
            "written to; close it elsewhere first"
        ):
            database = self._attach(file, allowed)
        if query is not None:
            relation = f"({query}\n)"
            self.assumptions = row_by_row("query")
        else:
            relation = self._relation(database, chosen.schema or "main", chosen.table or "")
        with self.quietly(
            f"DuckDB cannot make sense of {self._named}: something in it has another name, or it "
            "reads files otherwise than by FROM 'name.parquet'"
        ):
            columns = self._connection.sql(query or f"FROM {relation}")
            found = [*zip(columns.columns, columns.types, strict=True)]
        self.select_from(
            relation,
            [Found(name, str(kind), _form(kind), _compared(kind)) for name, kind in found],
        )

    def _named_in(self, query: str) -> list[str]:
        """Pin the Parquet files that a query reads; return the paths that DuckDB may open.

        Parquet alone: DuckDB guesses the types of CSV and JSON from some records, and then fails
        on others.
        """
        with self.quietly("DuckDB cannot read the query; it must be one SELECT"):
            names = _parquet_files(self._connection, query)
        patterns = [str(Path(name).absolute()) for name in names]
        files = [f for pattern in patterns for f in sorted(glob.glob(pattern, recursive=True))]
        self._files += map(Path, files)
        return [*names, *patterns, *files]

    def _attach(self, file: Path | None, allowed: list[str]) -> str:
        """Attach the file to an empty database, forbid all other access, begin the transaction.

        The database is our own because another connection of this process to the same file
        would share its settings.
        """
        run = self._connection.execute
        spill = tempfile.TemporaryDirectory(prefix="frith-")
        weakref.finalize(self, spill.cleanup)
        name = "memory"
        if file is not None:
            alias = f" AS {quoted('memory_db')}" if file.stem.lower() == "memory" else ""
            path = str(file).replace("'", "''")
            run(f"ATTACH '{path}'{alias} (TYPE duckdb, READ_ONLY)")
            attached = "SELECT database_name FROM duckdb_databases() WHERE path IS NOT NULL"
            ((name,),) = run(attached).fetchall()
            run(f"USE {quoted(name)}")
        run("SET temp_directory = ?", [spill.name])
        run("SET memory_limit = ?", [_MEMORY])
        run("SET threads = ?", [self.threads])
        run("SET enable_progress_bar = false")
        run("SET allowed_paths = ?", [allowed])
        run("SET enable_external_access = false")
        run("SET lock_configuration = true")
        self._connection.begin()
        return str(name)

    def _relation(self, database: str, schema: str, table: str) -> str:
        with self.quietly(f"{self._named} cannot be looked up"):
            kinds = self._connection.execute(
                "SELECT table_type FROM information_schema.tables "
                "WHERE table_catalog = ? AND table_schema = ? AND table_name = ?",
                [database, schema, table],
            ).fetchall()
            if not kinds:
                raise SourceError(f"there is no {self._named}; names must match letter by letter")
        if kinds[0][0] != "BASE TABLE":
            self.assumptions = row_by_row("view")
        return f"{quoted(schema)}.{quoted(table)}"

    def _check_pins(self) -> None:
        if _look(self._files) != self._pins:
            raise SourceError(
                f"a file of {self._named} changed while it was being read; open it again: {AGAIN}"
            )


def _connect() -> Any:
    """An empty database that loads nothing by itself: no extension, no Python variable."""
    try:
        import duckdb
    except ImportError:
        raise ImportError(NEEDS_DUCKDB) from None
    return duckdb.connect(
        ":memory:",
        config={
            "python_enable_replacements": False,
            "autoload_known_extensions": False,
            "autoinstall_known_extensions": False,
            "allow_persistent_secrets": False,
        },
    )


def _existing(files: tuple[Path, ...]) -> Path | None:
    found = {f.absolute() for f in files if os.path.isfile(f)}  # false for impossible names
    if files and not found:
        places = " or ".join(map(str, files))  # of a PostgreSQL URL that says duckdb, not shown
        raise SourceError(f"there is no DuckDB file at {'that path' if '@' in places else places}")
    if len(found) > 1:
        raise SourceError(
            f"the URL may mean {' or '.join(map(str, sorted(found)))}; write four slashes before "
            "an absolute path, and /./ before a relative one"
        )
    return found.pop() if found else None


def reads_files(query: str) -> bool:
    """Whether a query names files, which an engine would have to pin and open."""
    with contextlib.closing(_connect()) as connection:
        try:
            return bool(_parquet_files(connection, query))
        except Exception:  # noqa: BLE001 - of any class, and it may quote the query
            raise SourceError("DuckDB cannot read the query; it must be one SELECT") from None


def _parquet_files(connection: Any, query: str) -> list[str]:
    return [n for n in _tables(connection, query) if n.lower().endswith(".parquet")]


def _tables(connection: Any, query: str) -> list[str]:
    """The unqualified table names in a query, which must be one SELECT."""
    import duckdb

    kinds = [statement.type for statement in duckdb.extract_statements(query)]
    if kinds != [duckdb.StatementType.SELECT]:
        raise SourceError("a query must be one SELECT, and no other statement before or after it")
    ((tree,),) = connection.execute("SELECT json_serialize_sql(?)", [query]).fetchall()
    parts, names = [json.loads(tree)], []
    for part in parts:
        if isinstance(part, dict):
            if part.get("type") == "BASE_TABLE" and not part["schema_name"]:
                names.append(part["table_name"])
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return names


def _form(kind: Any) -> str | None:
    if kind.id in _AS_TEXT:
        return "CAST({} AS VARCHAR)"
    return "{}" if kind.id in _AS_IT_IS else None


def _compared(kind: Any) -> tuple[str, str] | None:
    """Text types; a JSON column is text too, but compares as JSON."""
    return ("text", "{}") if str(kind) == "VARCHAR" else None


def _look(files: list[Path]) -> list[tuple[int, int, int] | None]:
    """Size, time and inode of each file; None for a missing file, such as a log."""
    return [
        (s.st_size, s.st_mtime_ns, s.st_ino) if (s := _stat(f)) is not None else None for f in files
    ]


def _stat(file: Path) -> Any:
    try:
        return file.stat()
    except OSError:
        return None
