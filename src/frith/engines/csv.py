"""CSV files, cut into rows in one way everywhere: cells are text and never guessed at."""

from __future__ import annotations

import codecs
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.csv

BLOCK = 2**24
"""Arrow reads CSV in blocks of so many bytes, and no row may be longer than one."""

Handler = Callable[[Any], str]
"""Told of a row with a wrong number of cells; what it returns is pyarrow's business."""

_ENCODING = "frith_utf8"
"""UTF-8 in which a byte that is none reads as the text \\xNN.

Arrow decodes a row with a wrong number of cells before it asks whether to skip it, and stops the
pass where the row is no UTF-8.
"""


def skip(row: Any) -> str:
    return "skip"


def csv_names(file: str) -> list[str]:
    """The columns of the first line, in order; a name may occur twice."""
    with _open(file, pyarrow.csv.ConvertOptions(), skip) as reader:
        return reader.schema.names


def csv_batches(
    file: str, names: Sequence[str], bad_row: Handler | None = skip
) -> Iterator[pa.RecordBatch]:
    """The named columns as bytes, an empty cell null. Without `bad_row` a bad row raises."""
    convert = pyarrow.csv.ConvertOptions(
        include_columns=list(names),
        column_types={name: pa.binary() for name in names},
        null_values=[""],
        strings_can_be_null=True,
    )
    with _open(file, convert, bad_row) as reader:
        yield from reader


def read_csv(file: str, column_types: dict[str, pa.DataType]) -> pa.Table:
    """The whole file, each column of the type its cells suggest unless one is given."""
    convert = pyarrow.csv.ConvertOptions(column_types=column_types)
    with _source(file) as source:
        return pyarrow.csv.read_csv(source, convert_options=convert, **_options(skip))


def _open(
    file: str, convert: pyarrow.csv.ConvertOptions, bad_row: Handler | None
) -> pyarrow.csv.CSVStreamingReader:
    return pyarrow.csv.open_csv(_source(file), convert_options=convert, **_options(bad_row))


def _options(bad_row: Handler | None) -> dict[str, Any]:
    return {
        "parse_options": pyarrow.csv.ParseOptions(
            newlines_in_values=True, invalid_row_handler=bad_row
        ),
        "read_options": pyarrow.csv.ReadOptions(block_size=BLOCK),
    }


def _source(file: str) -> Any:
    """The decoded file; a header without an end of line is the empty table that it is.

    Each stream has a decoder of its own. The `encoding` of Arrow's read options would share one
    between all streams of a dataset, so that half a character from one ends up in another.
    """
    with open(file, "rb") as opened:
        line = opened.readline(BLOCK)
    is_whole = not line or b"\n" in line or b"\r" in line or len(line) == BLOCK
    raw = pa.OSFile(file) if is_whole else pa.BufferReader(line + b"\n")
    return pa.transcoding_input_stream(raw, _ENCODING, "utf-8")


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != _ENCODING:
        return None
    utf8 = codecs.lookup("utf-8")
    lenient = functools.partial(utf8.incrementaldecoder, errors="backslashreplace")
    return codecs.CodecInfo(
        utf8.encode, utf8.decode, None, None, utf8.incrementalencoder, lenient, name
    )


codecs.register(_find_codec)
