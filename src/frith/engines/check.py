"""What a table holds outside its domain. Exact and private: for the holder of the records only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa

from frith.domain import Domain
from frith.domain.check import Report, add_columns, empty_report
from frith.domain.columns import Columns, columns_of
from frith.engines import Engine, FileEngine, open_table
from frith.engines.base import Raw
from frith.engines.batches import read_batches
from frith.engines.memory import required_columns
from frith.engines.stream import StreamEngine
from frith.errors import DataError

FIRST_ROWS = 16_384
"""How many records a fit reads for its notices."""
COUNTED_ROWS = 100_000
"""How many records a fit counts for its notices."""


def check(table: Any, domain: Domain | str | Path, y: Any = None) -> Report:
    """Tell what a table holds outside its domain, in exact numbers. The report is PRIVATE.

    For the curator's desk alone; `print` it. If you change values, bounds or `records` because
    of it, you learn them from the records, and no guarantee covers them unless you knew them from outside.

    Parameters
    ----------
    table : DataFrame, Arrow table, array, path, URL of a database or Engine
        The records, as for `frith.open_table`.
    domain : Domain, str or Path
        What is declared about them, or the file that declares it.
    y : array-like or None, default=None
        The labels; None if the table has the domain's label column.

    Examples
    --------
    >>> import pandas as pd
    >>> from frith import Categorical, Domain, check
    >>> domain = Domain([Categorical("sex", ("Male", "Female"))], Categorical("ill", ("no", "yes")))
    >>> report = check(pd.DataFrame({"sex": ["m", "f"], "ill": ["no", "yes"]}), domain)
    >>> print(report.notices[0])
    no cell of 'sex' is one of its declared values: counts as 'Male'
    """
    domain = domain if isinstance(domain, Domain) else Domain.load(domain)
    engine = open_table(table, domain, y)  # names and types are held to what training asks of them
    report = empty_report(domain)
    if isinstance(engine, FileEngine) and isinstance(table, str | Path):
        names = required_columns(domain)
        for batch in read_batches(table, names, report.count_malformed, domain.csv):
            add_columns(report, *columns_of(batch))
        return report
    for columns, rows in raw_of(engine)():
        add_columns(report, columns, rows)
    return report


def look_at_first(raw: Raw, domain: Domain, rows: int = FIRST_ROWS) -> Report:
    """The report of a table's first rows, which also counts some of those that follow."""
    report = empty_report(domain)
    report.is_of_fit = True
    for columns, size in raw():
        kept = min(size, rows - report.rows)
        if kept:
            add_columns(report, _first(columns, kept), kept)
        report.unread_rows += size - kept
        if report.rows + report.unread_rows >= COUNTED_ROWS:
            report.is_whole = False
            break
    return report


def _first(columns: Columns, rows: int) -> Columns:
    def column(name: str) -> pa.ChunkedArray:
        return columns(name).slice(0, rows)

    return column


def raw_of(engine: Engine) -> Raw:
    """How to read all raw records, for their holder or on the curator's side. Reads nothing yet."""
    raw = engine.peek()
    if raw is None and isinstance(engine, StreamEngine):
        names = list(required_columns(engine.domain))
        return lambda: (columns_of(batch) for batch in engine.scan(names))
    if raw is None:
        raise DataError(
            "this table cannot be read record by record here: pass the table itself, or a sample of it"
        )
    return raw
