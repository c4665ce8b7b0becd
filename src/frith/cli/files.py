"""Files a command reads and writes, on the desk of whoever runs it."""

from __future__ import annotations

import io
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frith.errors import DataError, SourceError

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 65_536
_CSV_BLOCK = 2**24  # bytes; no row may be longer

Handler = Callable[[Any], str]
"""Told of a CSV row with a wrong number of cells; what it returns is pyarrow's business."""


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


def read_table(path: Path) -> pa.Table:
    """A whole table with the types its files state, or that its CSV cells suggest."""
    import pyarrow as pa
    import pyarrow.dataset as ds

    files, kind = _files_of(path)
    if kind == "csv":
        return pa.concat_tables([_read_csv(f) for f in files], promote_options="permissive")
    return ds.dataset(files, format=kind).to_table()


def read_batches(
    path: Path, names: Sequence[str], skip: Handler | None = None
) -> Iterator[pa.RecordBatch]:
    """The named columns, batch by batch and in order; CSV cells are text, as in training.

    Names are checked before the first batch is asked for. `skip` is told of every CSV row with a
    wrong number of cells; without it such a row raises.
    """
    files, kind = _files_of(path)
    for file in files:
        _check_columns(file, kind, names)
    parts = (_batches_of(file, kind, list(names), skip) for file in files)
    return itertools.chain.from_iterable(parts)


def _files_of(path: Path) -> tuple[list[str], str]:
    """The files that `frith.open_table` would read at this path, and their format."""
    from frith.engines.files import _format_of, _list_files

    files = _list_files(path)
    return files, _format_of(files)


def _check_columns(file: str, kind: str, names: Sequence[str]) -> None:
    import pyarrow as pa

    try:
        found = _names_in(file, kind)
    except (pa.ArrowException, OSError):
        raise SourceError(f"{file} is not a readable {kind} file; it may be cut off") from None
    for name in names:
        if found.count(name) != 1:
            has = f"{found.count(name)} columns named" if name in found else "no column"
            raise DataError(f"{file} has {has} {name!r}, which the domain declares")


def _names_in(file: str, kind: str) -> list[str]:
    import pyarrow.csv
    import pyarrow.dataset as ds

    if kind != "csv":
        return ds.dataset(file, format=kind).schema.names
    with pyarrow.csv.open_csv(_csv_source(file), **_csv_options(_skip)) as reader:
        return reader.schema.names


def _batches_of(
    file: str, kind: str, names: list[str], skip: Handler | None
) -> Iterator[pa.RecordBatch]:
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.dataset as ds

    if kind != "csv":
        return ds.dataset(file, format=kind).to_batches(columns=names, batch_size=ROWS)
    convert = pyarrow.csv.ConvertOptions(
        include_columns=names,
        column_types={name: pa.binary() for name in names},
        null_values=[""],
        strings_can_be_null=True,
    )
    options = _csv_options(skip)
    return iter(pyarrow.csv.open_csv(_csv_source(file), convert_options=convert, **options))


def _read_csv(file: str) -> pa.Table:
    """A CSV file with guessed types; what looks like a date stays the text that training sees.

    Rows with a wrong number of cells are skipped, as in training.
    """
    import pyarrow as pa
    import pyarrow.csv

    from frith.encoding import readable

    table = pyarrow.csv.read_csv(_csv_source(file), **_csv_options(_skip))
    dates = {field.name: pa.string() for field in table.schema if not readable(field.type)}
    if dates:
        convert = pyarrow.csv.ConvertOptions(column_types=dates)
        options = _csv_options(_skip)
        table = pyarrow.csv.read_csv(_csv_source(file), convert_options=convert, **options)
    return pa.table([_empty_is_missing(c) for c in table.columns], names=table.column_names)


def _empty_is_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)


def _csv_options(skip: Handler | None) -> dict[str, Any]:
    """How training cuts a CSV file into rows."""
    import pyarrow.csv

    return {
        "parse_options": pyarrow.csv.ParseOptions(
            newlines_in_values=True, invalid_row_handler=skip
        ),
        "read_options": pyarrow.csv.ReadOptions(block_size=_CSV_BLOCK),
    }


def _csv_source(file: str) -> str | io.BytesIO:
    """The file, or a header without an end of line as the empty table that it is."""
    with open(file, "rb") as opened:
        line = opened.readline(_CSV_BLOCK)
    ends = not line or b"\n" in line or b"\r" in line or len(line) == _CSV_BLOCK
    return file if ends else io.BytesIO(line + b"\n")


def _skip(row: Any) -> str:
    return "skip"
