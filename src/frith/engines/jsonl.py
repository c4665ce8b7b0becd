"""JSON lines: each line is an object and a record, read by itself; any other line is lost.

A file has no header, so its columns are those that the domain names. If an object lacks one, its value
is missing. Cells are text, as in CSV files: numbers by their digits, and all objects and lists as one text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from frith.engines.csv import open_bytes
from frith.engines.lines import whole_lines

_ROWS = 16_384
_NESTED = b"{...}"


def json_batches(
    file: str, names: Sequence[str], bad_row: Callable[[Any], str] | None = None
) -> Iterator[pa.RecordBatch]:
    """The named cells of each object as bytes, null where missing."""
    cells: list[list[bytes | None]] = [[] for _ in names]
    for line in _lines(file):
        record = _record(line, parse_int=str, parse_float=str, parse_constant=str)
        if record is None:
            if bad_row is not None:
                bad_row(line)
            continue
        for column, name in zip(cells, names, strict=True):
            column.append(_bytes(record.get(name)))
        if len(cells[0]) == _ROWS:
            yield _batch(cells, names)
            cells = [[] for _ in names]
    yield _batch(cells, names)


def read_json(file: str) -> pa.Table:
    """The whole file, each column of the type that its cells suggest, else of text."""
    records = [r for r in (_record(line) for line in _lines(file)) if r is not None]
    names = dict.fromkeys(name for record in records for name in record)
    columns = {name: [record.get(name) for record in records] for name in names}
    return pa.table({name: _column(cells) for name, cells in columns.items()})


def _lines(file: str) -> Iterator[bytes]:
    with open_bytes(file) as opened:
        for lines in whole_lines(opened):
            yield from (line for line in lines.splitlines() if line.strip())


def _record(line: bytes, **options: Any) -> dict[str, Any] | None:
    try:
        record = json.loads(line.decode(errors="replace"), **options)
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _bytes(cell: Any) -> bytes | None:
    if cell is None:
        return None
    if isinstance(cell, str):
        return cell.encode(errors="surrogatepass")
    return _NESTED if isinstance(cell, dict | list) else json.dumps(cell).encode()


def _batch(cells: list[list[bytes | None]], names: Sequence[str]) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([pa.array(c, pa.binary()) for c in cells], names=list(names))


def _column(cells: list[Any]) -> pa.Array:
    try:
        return pa.array(cells)
    except (pa.ArrowException, OverflowError, UnicodeError):
        return pa.array([_bytes(c) for c in cells], pa.binary())
