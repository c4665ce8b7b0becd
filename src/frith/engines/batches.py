"""Raw records of files, in order, for predictions and checks. Training reads through an engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from frith.domain import Csv
from frith.engines.csv import Dialect, Handler, csv_batches, csv_names
from frith.engines.files import BROKEN, list_files
from frith.engines.jsonl import json_batches
from frith.errors import DataError, SourceError

ROWS = 65_536


def read_batches(
    path: str | Path, names: Sequence[str], bad_row: Handler | None = None, csv: Csv | None = None
) -> Iterator[pa.RecordBatch]:
    """The named columns, batch by batch and in order; CSV cells are text, as in training.

    Checks names before it reads the first batch. Calls `bad_row` with every CSV row that has a wrong
    number of cells; without `bad_row` such a row raises, and quoted cells may hold newlines. `csv` is
    the domain's description of how CSV files are written.
    """
    files, kind = list_files(path)
    dialects = [Dialect.of(file, csv, newlines_in_cells=bad_row is None) for file in files]
    for file, dialect in zip(files, dialects, strict=True):
        _check_columns(file, kind, names, dialect)
    parts = (
        _batches_of(file, kind, list(names), bad_row, dialect)
        for file, dialect in zip(files, dialects, strict=True)
    )
    return itertools.chain.from_iterable(parts)


def _check_columns(file: str, kind: str, names: Sequence[str], dialect: Dialect) -> None:
    if kind == "jsonl":
        return
    try:
        is_csv = kind == "csv"
        found = csv_names(file, dialect) if is_csv else ds.dataset(file, format=kind).schema.names
    except BROKEN:
        raise SourceError(f"{file} is not a readable {kind} file; it may be cut off") from None
    for name in names:
        if found.count(name) != 1:
            has = f"{found.count(name)} columns named" if name in found else "no column"
            raise DataError(f"{file} has {has} {name!r}, which the domain declares")


def _refuse(line: object) -> str:
    raise DataError("a line of the file is not a JSON object; correct or remove it")


def _batches_of(
    file: str, kind: str, names: list[str], bad_row: Handler | None, dialect: Dialect
) -> Iterator[pa.RecordBatch]:
    if kind == "csv":
        return csv_batches(file, names, dialect, bad_row)
    if kind == "jsonl":
        return json_batches(file, names, bad_row or _refuse)
    return ds.dataset(file, format=kind).to_batches(columns=names, batch_size=ROWS)
