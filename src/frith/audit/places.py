"""Where the records of a replay live: memory, a file and, if DuckDB is installed, a database file."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from frith.audit.subjects import open_in_memory
from frith.domain import Domain
from frith.engines import Engine, open_table

Open = Callable[[pd.DataFrame, Domain], Engine]


def places(folder: Path) -> dict[str, Open]:
    """How to open a table in each place; files are written to `folder`."""
    found: dict[str, Open] = {"memory": open_in_memory}
    found["files"] = lambda table, domain: _open_file(table, domain, folder)
    if find_spec("duckdb") is not None:
        found["duckdb"] = lambda table, domain: _open_duckdb(table, domain, folder)
    return found


def as_texts(table: pd.DataFrame) -> pa.Table:
    """Every cell as text, which all places read the same way; missing cells stay missing."""
    columns = {
        name: pa.array([None if pd.isna(v) else str(v) for v in table[name]], pa.string())
        for name in table.columns
    }
    return pa.table(columns)


def _next(folder: Path, ending: str) -> Path:
    return folder / f"table{len(list(folder.iterdir()))}.{ending}"


def _open_file(table: pd.DataFrame, domain: Domain, folder: Path) -> Engine:
    path = _next(folder, "parquet")
    pq.write_table(as_texts(table), path, row_group_size=5)
    return open_table(path, domain, threads=1)


def _open_duckdb(table: pd.DataFrame, domain: Domain, folder: Path) -> Engine:
    import duckdb

    path = _next(folder, "db")
    rows = as_texts(table)  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect(str(path)) as connection:
        connection.execute("CREATE TABLE records AS SELECT * FROM rows")
    return open_table(f"duckdb:///{path}?table=records", domain, threads=1)
