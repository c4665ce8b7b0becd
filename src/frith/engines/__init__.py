"""Where records live: engines give exact sums over one table, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from frith.domain import Domain
from frith.engines.base import Engine
from frith.engines.duckdb import DuckDBEngine
from frith.engines.files import FileEngine
from frith.engines.memory import MemoryEngine
from frith.engines.postgres import PostgresEngine
from frith.engines.spark import URLS as SPARK_URLS
from frith.engines.spark import SparkEngine, is_frame, open_url
from frith.engines.urls import is_url, scheme_of
from frith.errors import DataError

__all__ = [
    "DuckDBEngine",
    "Engine",
    "FileEngine",
    "MemoryEngine",
    "PostgresEngine",
    "SparkEngine",
    "open_table",
]


def open_table(
    source: Any,
    domain: Domain,
    y: Any = None,
    *,
    threads: int | None = None,
    newlines_in_cells: bool = False,
) -> Engine:
    """Open a DataFrame, an Arrow table, an array, or a path to Parquet, CSV or Feather files.

    Tables of a Spark cluster are opened as a Spark DataFrame or by a name such as
    "spark+parquet:/path", "spark+orc:/path" or "spark+table:name".

    Tables of a database are opened by a URL: "duckdb:///file.db?table=name" or
    "postgresql://user:password@host/database?table=name", also with `schema=`, or with `query=`
    for a SELECT (see `frith.engines.urls`).

    Each line of a CSV file is one record. `newlines_in_cells=True` declares that quoted cells may
    hold newlines; then the guarantee assumes that all quotes of the file are balanced.

    Names and types of the columns are checked here; no record is read before a curator asks.
    """
    if isinstance(source, Engine):
        return source
    if y is not None and (is_frame(source) or isinstance(source, str | Path)):
        raise DataError("files, databases and Spark tables have their own label column; pass no y")
    if is_frame(source):
        return SparkEngine(source, domain, threads)
    if isinstance(source, str) and source.startswith(SPARK_URLS):
        return open_url(source, domain, threads)
    if isinstance(source, str) and is_url(source):
        engines = {"duckdb": DuckDBEngine, "postgresql": PostgresEngine}
        return engines[scheme_of(source)](source, domain, threads)
    if isinstance(source, str | Path):
        return FileEngine(source, domain, threads, newlines_in_cells=newlines_in_cells)
    return MemoryEngine(source, domain, y, threads)
