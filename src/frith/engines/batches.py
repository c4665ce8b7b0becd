"""Raw records of files in their order: to predict from, or to check. Training reads by an engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds

from frith.engines.csv import Handler, csv_batches, csv_names
from frith.engines.files import list_files
from frith.errors import DataError, SourceError

ROWS = 65_536


def read_batches(
    path: str | Path, names: Sequence[str], bad_row: Handler | None = None
) -> Iterator[pa.RecordBatch]:
    """The named columns, batch by batch and in order; CSV cells are text, as in training.

    Names are checked before the first batch is asked for. `bad_row` is told of every CSV row with a
    wrong number of cells; without it such a row raises, and quoted cells may hold newlines.
    """
    files, kind = list_files(path)
    for file in files:
        _check_columns(file, kind, names, newlines_in_cells=bad_row is None)
    parts = (_batches_of(file, kind, list(names), bad_row) for file in files)
    return itertools.chain.from_iterable(parts)


def _check_columns(file: str, kind: str, names: Sequence[str], newlines_in_cells: bool) -> None:
    try:
        if kind == "csv":
            found = csv_names(file, newlines_in_cells)
        else:
            found = ds.dataset(file, format=kind).schema.names
    except (pa.ArrowException, OSError):
        raise SourceError(f"{file} is not a readable {kind} file; it may be cut off") from None
    for name in names:
        if found.count(name) != 1:
            has = f"{found.count(name)} columns named" if name in found else "no column"
            raise DataError(f"{file} has {has} {name!r}, which the domain declares")


def _batches_of(
    file: str, kind: str, names: list[str], bad_row: Handler | None
) -> Iterator[pa.RecordBatch]:
    if kind == "csv":
        return csv_batches(file, names, bad_row, newlines_in_cells=bad_row is None)
    return ds.dataset(file, format=kind).to_batches(columns=names, batch_size=ROWS)
