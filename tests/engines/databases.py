"""Databases that tests write to: tables in, URLs out."""

from __future__ import annotations

import itertools
from urllib.parse import quote

import pandas as pd
import pyarrow as pa

_NUMBERS = itertools.count()


class Store:
    """A place for tables. `save` gives the URL of a new one; `run` is the curator's own access."""

    def url(self, **options):
        joined = "&".join(f"{k}={quote(v, safe='')}" for k, v in options.items())
        return self.base + ("&" if "?" in self.base else "?") + joined

    def save(self, table, name=None):
        name = name or f"t{next(_NUMBERS)}"
        self.write(_arrow(table), name)
        return self.url(table=name)


class DuckDBStore(Store):
    """A file, opened for writing only while it is written to."""

    def __init__(self, folder):
        self.file = folder / "store.db"
        self.base = f"duckdb:///{self.file}"
        self.run("CREATE TABLE other (a integer)")

    def run(self, sql, **views):
        import duckdb

        with duckdb.connect(self.file) as connection:
            for name, table in views.items():
                connection.register(name, table)
            answer = connection.execute(sql)
            return answer.fetchall() if answer.description else []

    def write(self, table, name):
        self.run(f"CREATE TABLE {_quoted(name)} AS FROM given", given=table)


class PostgresStore(Store):
    """A schema in a database of a running server."""

    def __init__(self, uri, schema):
        from adbc_driver_postgresql import dbapi

        self.schema = schema
        self.base = f"{uri}&options=-csearch_path%3D{schema}"
        self.connection = dbapi.connect(self.base, autocommit=True)
        self.run(f"CREATE SCHEMA {schema}; SET lock_timeout = '20s'")

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.connection.close()

    def run(self, sql):
        """Statements one by one; the answer is the last one's."""
        for part in filter(str.strip, sql.split(";")):
            with self.connection.cursor() as cursor:
                cursor.execute(part)
                answer = cursor.fetchall() if cursor.description else []
        return answer

    def write(self, table, name):
        with self.connection.cursor() as cursor:
            cursor.adbc_ingest(name, table, mode="create", db_schema_name=self.schema)


def _arrow(table):
    if isinstance(table, pd.DataFrame):
        return pa.Table.from_pandas(table, preserve_index=False)
    if isinstance(table, dict):
        return pa.table({name: _column(cells) for name, cells in table.items()})
    return table


def _column(cells):
    """A column without any cell is text: databases have no type for nothing."""
    column = pa.array(cells)
    return column.cast(pa.string()) if pa.types.is_null(column.type) else column


def _quoted(name):
    return '"' + name.replace('"', '""') + '"'
