"""Files that a command reads and writes."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from frith.errors import DataError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa

    from frith.engines.csv import Handler

ROWS = 65_536


def check_output(path: Path, *inputs: Path) -> None:
    """Raise where `path` cannot be written: before a budget is spent, not after."""
    folder = path.parent
    if path.is_dir():
        raise SourceError(f"{path} is a folder; name a file")
    if not folder.is_dir():
        raise SourceError(f"there is no folder {folder} to write {path.name} to; make it first")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise SourceError(f"{path} cannot be written; choose another place")
    if path.exists() and any(i.exists() and path.samefile(i) for i in inputs):
        raise SourceError(f"{path} would be written over while it is read; choose another name")


def read_batches(
    path: Path, names: Sequence[str], bad_row: Handler | None = None
) -> Iterator[pa.RecordBatch]:
    """The named columns, batch by batch and in order; CSV cells are text, as in training.

    Names are checked before the first batch is asked for. `bad_row` is told of every CSV row with a
    wrong number of cells; without it such a row raises, and quoted cells may hold newlines.
    """
    from frith.engines.files import list_files

    files, kind = list_files(path)
    for file in files:
        _check_columns(file, kind, names, newlines_in_cells=bad_row is None)
    parts = (_batches_of(file, kind, list(names), bad_row) for file in files)
    return itertools.chain.from_iterable(parts)


def _check_columns(file: str, kind: str, names: Sequence[str], newlines_in_cells: bool) -> None:
    import pyarrow as pa
    import pyarrow.dataset as ds

    from frith.engines.csv import csv_names

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
    import pyarrow.dataset as ds

    from frith.engines.csv import csv_batches

    if kind == "csv":
        return csv_batches(file, names, bad_row, newlines_in_cells=bad_row is None)
    return ds.dataset(file, format=kind).to_batches(columns=names, batch_size=ROWS)
