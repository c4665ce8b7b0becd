"""Where records live: an engine computes exact sums over one table and does nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from frith.domain import Domain
from frith.engines.base import Engine, LocalEngine
from frith.engines.duckdb import DuckDBEngine
from frith.engines.files import FileEngine
from frith.engines.memory import MemoryEngine
from frith.engines.postgres import PostgresEngine
from frith.engines.spark import URLS as SPARK_URLS
from frith.engines.spark import SparkEngine, is_frame, open_url
from frith.engines.sql import USUAL, Timeouts
from frith.engines.urls import is_url, scheme_of
from frith.errors import DataError

__all__ = [
    "DuckDBEngine",
    "Engine",
    "FileEngine",
    "MemoryEngine",
    "PostgresEngine",
    "SparkEngine",
    "Timeouts",
    "open_table",
]


def open_table(
    source: Any,
    domain: Domain,
    y: Any = None,
    *,
    threads: int | None = None,
    newlines_in_cells: bool = False,
    types: Mapping[str, str] | None = None,
    timeouts: Timeouts = USUAL,
    device: str | None = None,
) -> Engine:
    """Open a DataFrame, an Arrow table, an array, or a path to Parquet, CSV, JSON lines or Feather files.

    Pass a table of a Spark cluster as a Spark DataFrame, or by a name such as
    "spark+parquet:/path", "spark+orc:/path" or "spark+table:name".

    Pass a table of a database by its URL: "duckdb:///file.db?table=name" or
    "postgresql://user:password@host/database?table=name", also with `schema=`, or with `query=`
    for a SELECT (see `frith.engines.urls`).

    Each line of a CSV file is one record. `newlines_in_cells=True` declares that quoted cells may
    hold newlines; the guarantee then assumes that all quotes in the file are balanced.

    Checks the names and types of the columns. Reads no record before a curator asks. `types`
    are the `types` of an engine opened earlier: a column that has another type now is refused, here
    if a catalogue declares the types, else at the first pass. `timeouts` limit how long to wait for a
    database.

    `device="cuda"` keeps the codes of the records on a GPU and computes the same sums there.
    """
    if device is not None:
        opened = open_table(
            source, domain, y, threads=threads, newlines_in_cells=newlines_in_cells, types=types,
            timeouts=timeouts,
        )  # fmt: skip
        return _on_device(opened, device)
    if isinstance(source, Engine):
        return source
    if y is not None and (is_frame(source) or isinstance(source, str | Path)):
        raise DataError("files, databases and Spark tables have their own label column; pass no y")
    if is_frame(source):
        return SparkEngine(source, domain, threads)
    if isinstance(source, str) and source.startswith(SPARK_URLS):
        return open_url(source, domain, threads, types)
    if isinstance(source, str) and is_url(source):
        engines = {"duckdb": DuckDBEngine, "postgresql": PostgresEngine}
        kind = engines[scheme_of(source)]
        return kind(source, domain, threads, types=types, timeouts=timeouts)
    if isinstance(source, str | Path):
        return FileEngine(source, domain, threads, newlines_in_cells=newlines_in_cells, types=types)
    return MemoryEngine(source, domain, y, threads)


def _on_device(table: Engine, device: str) -> Engine:
    if device != "cuda":
        raise ValueError(f"records are kept by device='cuda' or by none; not by {device!r}")
    from frith.engines.cuda import CudaEngine

    if isinstance(table, CudaEngine):
        return table
    if not isinstance(table, LocalEngine):
        raise DataError("device='cuda' is for tables that are read here, and Spark's are not")
    return CudaEngine(table)
