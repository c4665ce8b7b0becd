"""CSV files, split into records the same way everywhere: cells are text, and no type is guessed.

A line is a record and is read by itself, whatever it holds. A quote protects the commas of its
line, never the line's end: if one stays open, that line is lost and the next is a record again.
Otherwise one quote in one record would swallow all records after it.
"""

from __future__ import annotations

import functools
import gzip
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from frith._jit import compiled
from frith.domain import Csv
from frith.domain.domain import DELIMITERS
from frith.engines import lines

_HEADER = 2**20
"""The header must end within this many bytes."""

_STEP = 2**12
"""Bytes of a header read at a time: opening a file goes no further than its first line."""

_LARGEST = 8
"""How many blocks Arrow gets at once, at most: a line and a block, each byte as up to four."""

Handler = Callable[[Any], str]
"""Called with each row that has a wrong number of cells; its result goes to pyarrow."""

_COMMA, _QUOTE, _LF, _CR, _FILL = b',"\n\r?'

_DECIMAL_COMMA = r"^([+-]?\d+),(\d+)$"
_NUMBER = r"^([+-]?\d+([.]\d+)?)?$"


def skip(row: Any) -> str:
    return "skip"


class Dialect(NamedTuple):
    """How one file is written: as the domain declares, or as its name says."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    newlines_in_cells: bool = False

    @classmethod
    def of(cls, file: str, csv: Csv | None, newlines_in_cells: bool = False) -> Dialect:
        delimiter = "\t" if bare_name(file).endswith(".tsv") else ","
        if csv is None:
            return cls(delimiter, newlines_in_cells=newlines_in_cells)
        if csv.delimiter != ",":
            delimiter = csv.delimiter
        return cls(delimiter, csv.encoding, csv.decimal, newlines_in_cells)

    @property
    def swap(self) -> bytes | None:
        """Swaps the delimiter and the comma, both ways; None if the delimiter is a comma.

        With it, Arrow and the rest of this module split cells at commas alone.
        """
        if self.delimiter == ",":
            return None
        other = self.delimiter.encode()
        return bytes.maketrans(b"," + other, other + b",")


def bare_name(file: str) -> str:
    """A file's name in lower case, without the ending of a compressed file."""
    return file.lower().removesuffix(".gz")


def open_bytes(file: str) -> BinaryIO:
    """The bytes of a file, decompressed if its name says that it is compressed."""
    return gzip.open(file) if file.lower().endswith(".gz") else open(file, "rb")  # type: ignore[return-value]


def csv_names(file: str, dialect: Dialect) -> list[str]:
    """The columns of the first line, in order; a name may occur twice. Reads no record."""
    with open_bytes(file) as opened:
        header = _Source(opened, dialect).read(0)
    with pyarrow.csv.open_csv(io.BytesIO(header)) as reader:
        return [_swapped_back(name, dialect) for name in reader.schema.names]


def _swapped_back(name: str, dialect: Dialect) -> str:
    return name if dialect.swap is None else name.encode().translate(dialect.swap).decode()


def header_hint(names: Sequence[str]) -> str:
    """What is probably wrong with a file whose first line lacks a column; empty if nothing is known."""
    first = names[0] if names else ""
    if first.startswith(("\\xff\\xfe", "\\xfe\\xff")):
        return "; it looks like UTF-16: save it as UTF-8"
    line = ",".join(names)
    separator = max(DELIMITERS, key=line.count)
    if separator == "," or line.count(separator) == 0:
        return ""
    name = json.dumps("tab" if separator == "\t" else separator)
    return (
        f"; its header has no comma but {separator!r} between the names: say so in the domain, as "
        f"`frith domain draft` does ([csv] delimiter = {name})"
    )


def csv_batches(
    file: str, names: Sequence[str], dialect: Dialect, bad_row: Handler | None = skip
) -> Iterator[pa.RecordBatch]:
    """The named columns as bytes, an empty cell null. Without `bad_row` a bad row raises.

    With the dialect's `newlines_in_cells` a quote protects the ends of lines too, and a record is read
    by itself only if all quotes are balanced and no record is as long as a block.
    """
    swapped = [_swapped_back(name, dialect) for name in names]
    convert = pyarrow.csv.ConvertOptions(
        include_columns=swapped,
        column_types={name: pa.binary() for name in swapped},
        null_values=[""],
        strings_can_be_null=True,
    )
    options = _options(bad_row, dialect.newlines_in_cells)
    with open_bytes(file) as opened:
        source = _Source(opened, dialect)
        with pyarrow.csv.open_csv(source, convert_options=convert, **options) as reader:
            for batch in reader:
                columns = [_as_written(column, dialect) for column in batch.columns]
                yield pa.RecordBatch.from_arrays(columns, names=list(names))


def _as_written(cells: pa.Array, dialect: Dialect) -> pa.Array:
    """Cells as in their file, with swapped commas swapped back; decimal commas become points."""
    if dialect.swap is not None:
        valid, offsets, data = cells.buffers()
        mended = None if data is None else pa.py_buffer(data.to_pybytes().translate(dialect.swap))
        buffers = [valid, offsets, mended]
        cells = pa.Array.from_buffers(
            cells.type, len(cells), buffers, cells.null_count, cells.offset
        )
    if dialect.decimal == ",":
        cells = pc.replace_substring_regex(cells, _DECIMAL_COMMA, r"\1.\2")
    return cells


def read_csv(file: str, dialect: Dialect, column_types: dict[str, pa.DataType]) -> pa.Table:
    """The whole file, each column of the type its cells suggest unless one is given."""
    kinds = {_swapped_back(name, dialect): kind for name, kind in column_types.items()}
    convert = pyarrow.csv.ConvertOptions(column_types=kinds)
    with open_bytes(file) as opened:
        source = _Source(opened, dialect)
        table = pyarrow.csv.read_csv(source, convert_options=convert, **_options(skip))
    names = [_swapped_back(name, dialect) for name in table.column_names]
    return pa.table([_typed(column, dialect) for column in table.columns], names=names)


def _typed(column: pa.ChunkedArray, dialect: Dialect) -> pa.ChunkedArray:
    """Texts as written; numbers with a decimal comma as numbers."""
    if not pa.types.is_string(column.type):
        return column
    texts = pa.chunked_array([_as_written(c, dialect) for c in column.chunks], column.type)
    if dialect.decimal == "," and pc.all(pc.match_substring_regex(texts, _NUMBER)).as_py():
        return pc.if_else(pc.equal(texts, ""), None, texts).cast(pa.float64())
    return texts


def _options(bad_row: Handler | None, newlines_in_cells: bool = False) -> dict[str, Any]:
    return {
        "parse_options": pyarrow.csv.ParseOptions(
            newlines_in_values=newlines_in_cells, invalid_row_handler=bad_row
        ),
        "read_options": pyarrow.csv.ReadOptions(block_size=_LARGEST * lines.BLOCK),
    }


class _Source:
    """A file as Arrow gets it: the header, then whole lines that are UTF-8.

    Arrow decodes a row with a wrong number of cells before it asks whether to skip it, and stops
    the pass if the row is not UTF-8. So a byte that is not UTF-8 becomes the text \\xNN.
    """

    def __init__(self, file: BinaryIO, dialect: Dialect):
        self._file, self._dialect = file, dialect
        self._parts = self._read(dialect.newlines_in_cells)

    def read(self, size: int) -> bytes | bytearray:
        return next(self._parts, b"")

    @property
    def closed(self) -> bool:
        return self._file.closed

    def close(self) -> None:
        self._file.close()

    def _read(self, newlines_in_cells: bool) -> Iterator[bytes | bytearray]:
        file, encoding = _Swapped.of(self._file, self._dialect), self._dialect.encoding
        yield _as_utf8(_read_header(file, newlines_in_cells), encoding)
        if newlines_in_cells:  # a line may begin within quotes, so its cells are not cut
            blocks = lines.whole_lines(file, lines.BLOCK)  # Arrow wants a row within two of them
            yield from (_as_utf8(whole, encoding) for whole in blocks)
        else:
            yield from (_as_utf8(_lose_open_lines(cut), encoding) for cut in lines.cut_lines(file))


class _Swapped:
    """A file read with commas between its cells, whatever its delimiter is."""

    def __init__(self, file: BinaryIO, swap: bytes):
        self._file, self._swap = file, swap

    @classmethod
    def of(cls, file: BinaryIO, dialect: Dialect) -> Any:
        return file if dialect.swap is None else cls(file, dialect.swap)

    def read(self, size: int) -> bytes:
        return self._file.read(size).translate(self._swap)

    def seek(self, place: int) -> int:
        return self._file.seek(place)


def _read_header(file: BinaryIO, newlines_in_cells: bool) -> bytes:
    """The first line that is not blank; `file` is left where the records begin."""
    start, found = b"", None
    while (found is None or found.end() == len(start)) and (more := file.read(_STEP)):
        start += more
        if len(start) > _HEADER:
            break
        found = _header(newlines_in_cells).match(start)
    if found is None or len(start) > _HEADER:
        raise pa.ArrowInvalid("the header has a quote that is not closed, or is too long")
    file.seek(found.end())
    return found[1] + b"\n"


@functools.cache
def _header(newlines_in_cells: bool) -> re.Pattern[bytes]:
    text = rb'[^"]*' if newlines_in_cells else rb'[^"\r\n]*'
    quoted = rb'"' + text + rb'(?:""' + text + rb')*"(?!")'
    cell = rb"(?:" + quoted + rb'|(?!"))[^,\r\n]*'
    names = rb"(" + cell + rb"(?:," + cell + rb")*)"
    return re.compile(rb"(?:\xef\xbb\xbf)?[\r\n]*" + names + rb"(?:\r\n|[\r\n]|\Z)")


def _lose_open_lines(text: bytes) -> bytes | bytearray:
    """`text`, with every line overwritten that leaves a quote open. Every line has an end."""
    if b'"' not in text:
        return text
    kept = bytearray(text)
    _fill_open_lines(np.frombuffer(kept, dtype=np.uint8))
    return kept


def _as_utf8(text: bytes | bytearray, encoding: str = "utf-8") -> bytes | bytearray:
    if text.isascii():
        return text
    if encoding != "utf-8":
        return text.decode(encoding, errors="backslashreplace").encode()
    try:
        text.decode()
    except UnicodeDecodeError:
        return text.decode(errors="backslashreplace").encode()
    return text


@compiled
def _fill_open_lines(data):  # type: ignore[no-untyped-def]
    """Overwrite every line in which a quote is not closed. Every line has an end.

    Splits cells as Arrow's parser does: a quote counts only at the start of a cell, two within
    quotes stand for one, and what follows the closing quote is text up to the comma. Most bytes
    are greater than every byte that matters, and unsigned indices need no check for negatives.
    """
    one = np.uint64(1)
    i = line = np.uint64(0)
    while i < np.uint64(len(data)):
        byte = data[i]
        if byte == _QUOTE:
            i = _end_of_quotes(data, i + one)
            byte = data[i]
            if byte != _QUOTE:
                data[line:i] = _FILL
        while byte > _COMMA or (byte != _COMMA and byte != _LF and byte != _CR):
            i += one
            byte = data[i]
        i += one
        if byte != _COMMA:
            line = i


@compiled
def _end_of_quotes(data, i):  # type: ignore[no-untyped-def]
    """The index of the closing quote, or of the end of the line if there is none."""
    one = np.uint64(1)
    while True:
        byte = data[i]
        while byte > _QUOTE or (byte != _QUOTE and byte != _LF and byte != _CR):
            i += one
            byte = data[i]
        if byte != _QUOTE or data[i + one] != _QUOTE:
            return i
        i += one + one
