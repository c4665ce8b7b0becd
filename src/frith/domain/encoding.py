"""Raw Arrow columns in, small integer codes out, by the public domain alone.

Encoding is total: whatever a column holds, every record gets a code, because an exception on a
value would be an answer about a person. Only the *shape* of a table can raise: a missing column, or
one whose type (a list, a duration) a domain cannot describe. Each cell is encoded by itself: if one
record's value changed how another's is read, removing a record would change more counts than its
own.
"""

from __future__ import annotations

import functools
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from frith._jit import compiled
from frith._threads import on_threads
from frith.domain.attributes import Attribute, Categorical, Date, Numeric, Ordered, spelling
from frith.domain.columns import Columns, Matrix, is_readable, unreadable
from frith.domain.dates import DAY, is_moment, moments, parsed_moments, whole_seconds
from frith.domain.domain import Domain
from frith.domain.short_texts import NOT_FOUND, find_short
from frith.errors import DataError

CELL_BYTES = 2**20
"""The longest text that is read: a longer cell is a value outside the domain, whatever it holds.

Without a cap, the time of a pass would reveal which table holds one enormous cell.
"""
_TOO_LONG = b"?" * (CELL_BYTES + 1)
_BLOCK = 65_536  # rows that a thread encodes at a time
_ALONE = 10_000  # rows that one thread encodes faster than several

_SPACE = r"[ \t\n\v\f\r]*"
_NUMBER = (
    rf"^{_SPACE}[+-]?((\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
    rf"|inf|Inf|INF|infinity|Infinity|INFINITY){_SPACE}$"
)
_is_number = re.compile(_NUMBER, re.ASCII).fullmatch
_TRUTHS = {"false": 0, "False": 0, "FALSE": 0, "true": 1, "True": 1, "TRUE": 1}


@dataclass(slots=True)
class Batch:
    """Encoded records: one row of attribute codes and one label code each.

    `derived` maps a column kernel to the integer column that it makes; with `in_place`, an earlier
    column may be overwritten. Columns of attributes that nobody asked for are zero.
    """

    codes: NDArray[Any]
    labels: NDArray[Any]
    derived: dict[Any, NDArray[Any]] = field(default_factory=dict)
    in_place: bool = False

    def __len__(self) -> int:
        return len(self.labels)


def encode_records(
    columns: Columns, domain: Domain, attributes: Iterable[int] | None = None, threads: int = 1
) -> tuple[Batch, NDArray[np.bool_]]:
    """Encode the records with a known label; the mask says which those are."""
    labels = encode_label(columns(domain.label.name), domain.label, threads)
    known = labels >= 0
    keep = None if known.all() else known
    codes = encode_attributes(columns, domain, len(labels), attributes, keep, threads)
    kept = labels if keep is None else labels[keep]
    return Batch(codes, kept.astype(domain.label_type)), known


def encode_attributes(
    columns: Columns,
    domain: Domain,
    rows: int,
    attributes: Iterable[int] | None = None,
    keep: NDArray[np.bool_] | None = None,
    threads: int = 1,
) -> NDArray[Any]:
    """The matrix of codes. A column that needs conversion is converted and encoded as a whole by one
    thread, others block by block, so that a thread holds at most one raw column.
    """
    wanted = list(range(len(domain.attributes)) if attributes is None else attributes)
    kept = rows if keep is None else int(keep.sum())
    make = np.empty if len(wanted) == len(domain.attributes) else np.zeros
    codes = make((kept, len(domain.attributes)), dtype=domain.code_type)
    grids = _Grids.of(columns, domain, wanted)
    as_they_are = {
        j: column
        for j in wanted
        if j not in grids.attributes
        and (column := _as_it_is(columns, domain.attributes[j])) is not None
    }
    starts = range(0, rows, _BLOCK)
    before = [0] * len(starts) if keep is None else [int(keep[:i].sum()) for i in starts]

    def whole(j: int) -> None:
        attribute = domain.attributes[j]
        encode_column(columns(attribute.name), attribute, codes[:, j], keep)

    def block(i: int) -> None:
        """Encode the rows of one block in all columns that need no conversion."""
        start, stop = starts[i], min(starts[i] + _BLOCK, rows)
        chosen = None if keep is None else keep[start:stop]
        first = start if keep is None else before[i]
        if len(grids.attributes):
            rows_here = grids.matrix[start:stop]
            grids.place(rows_here if chosen is None else rows_here[chosen], codes[first:])
        for j, column in as_they_are.items():
            attribute, out = domain.attributes[j], codes[first:, j]
            if isinstance(column, np.ndarray) and isinstance(attribute, Numeric):
                _place_on_grid(
                    column[start:stop] if chosen is None else column[start:stop][chosen],
                    attribute.edges, attribute.missing_code, out,
                )  # fmt: skip
            else:
                encode_column(column.slice(start, stop - start), attribute, out, chosen)

    by_block = {*as_they_are, *grids.attributes.tolist()}
    work = [functools.partial(whole, j) for j in wanted if j not in by_block]
    work += [functools.partial(block, i) for i in range(len(starts)) if by_block]
    waiting = iter(work)

    def run() -> None:
        for task in waiting:
            task()

    on_threads(min(threads, len(work)) if rows > _ALONE else 1, run)
    return codes


@dataclass(frozen=True)
class _Grids:
    """The numbers of a matrix whose rows are records, and the grid of each: encoded in one walk.

    Column by column, all of a block would come from memory once for each of them.
    """

    matrix: NDArray[Any]
    places: NDArray[np.int64]  # their columns in the matrix
    attributes: NDArray[np.int64]
    edges: NDArray[np.float64]
    begins: NDArray[np.int64]
    missing: NDArray[np.int64]

    @classmethod
    def of(cls, columns: Columns, domain: Domain, wanted: Iterable[int]) -> _Grids:
        found: Matrix | None = getattr(columns, "matrix", None)
        matrix, places = found or (np.empty((0, 0)), dict[str, int]())
        listed = [(j, domain.attributes[j]) for j in wanted if domain.attributes[j].name in places]
        numbers = [(j, a) for j, a in listed if type(a) is Numeric]
        lengths = [0, *(len(a.edges) for _, a in numbers)]
        return cls(
            matrix,
            np.array([places[a.name] for _, a in numbers], dtype=np.int64),
            np.array([j for j, _ in numbers], dtype=np.int64),
            np.concatenate([np.empty(0), *(a.edges for _, a in numbers)]),
            np.cumsum(lengths),
            np.array([a.missing_code for _, a in numbers], dtype=np.int64),
        )

    def place(self, rows: NDArray[Any], out: NDArray[Any]) -> None:
        _place_rows(
            rows, self.places, self.attributes, self.edges, self.begins, self.missing, out
        )  # fmt: skip


def _as_it_is(columns: Columns, attribute: Attribute) -> Any:
    """A column that can be sliced at no cost (floats of NumPy or Arrow), else None."""
    floats = getattr(columns, "floats", None)
    if (
        floats is not None
        and type(attribute) is Numeric
        and (found := floats(attribute.name)) is not None
    ):
        return found
    if not getattr(columns, "is_arrow", False):
        return None
    column = columns(attribute.name)
    return None if pa.types.is_dictionary(column.type) else column


def encode_column(
    column: pa.ChunkedArray,
    attribute: Attribute,
    out: NDArray[Any],
    keep: NDArray[np.bool_] | None = None,
) -> None:
    """Write the code of every kept record into `out`."""
    seen = written = 0
    for chunk in column.chunks:
        codes = (
            _categorical_codes(chunk, attribute, attribute.outside_code, attribute.missing_code)
            if isinstance(attribute, Categorical)
            else _numeric_codes(chunk, attribute)
        )
        if keep is not None:
            codes = codes[keep[seen : seen + len(chunk)]]
        out[written : written + len(codes)] = codes
        seen, written = seen + len(chunk), written + len(codes)


def encode_label(column: pa.ChunkedArray, label: Attribute, threads: int = 1) -> NDArray[np.int32]:
    """Label codes, and -1 where the label is missing, unknown, or not the number that it should be."""
    codes = np.empty(len(column), dtype=np.int32)
    step = max(1, len(column)) if pa.types.is_dictionary(column.type) else _BLOCK
    every = range(0, len(column), step)
    starts = iter(every)

    def run() -> None:
        for start in starts:
            written = start
            for chunk in column.slice(start, step).chunks:
                codes[written : written + len(chunk)] = (
                    _categorical_codes(chunk, label, -1, -1)
                    if isinstance(label, Categorical)
                    else _target_codes(chunk, label)
                )
                written += len(chunk)

    on_threads(max(1, min(threads, len(every))), run)
    return codes


def person_digests(
    column: pa.ChunkedArray, key: bytes
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """A 256-bit keyed digest of each record's person, and whether the record names one.

    Equal digests mean equal persons: a collision would take some 2^128 tries. A text longer than
    `CELL_BYTES` names nobody.
    """
    digests, known = [], []
    for chunk in column.chunks:
        indices, values = distinct(chunk, "the person")
        table = np.zeros((len(values) + 1, 4), dtype=np.uint64)
        named = np.zeros(len(values) + 1, dtype=np.bool_)
        for i, value in enumerate(values.to_pylist()):
            # Hash the raw bytes: decoding invalid ones could merge two persons into one.
            name = value if isinstance(value, bytes) else (_text(value) or "").encode()
            if 0 < len(name) <= CELL_BYTES:
                digest = hashlib.blake2b(name, digest_size=32, key=key[:64])
                table[i] = np.frombuffer(digest.digest(), dtype="<u8")
                named[i] = True
        digests.append(table.take(indices, axis=0, mode="clip"))
        known.append(named.take(indices, mode="clip"))
    if not digests:
        return np.empty((0, 4), dtype=np.uint64), np.empty(0, dtype=np.bool_)
    return np.concatenate(digests), np.concatenate(known)


# -- one chunk of one column -------------------------------------------------------------------


def _categorical_codes(
    chunk: pa.Array, attribute: Categorical, outside: int, missing: int
) -> NDArray[np.int32]:
    if not (pa.types.is_string(chunk.type) or pa.types.is_binary(chunk.type)):
        return _codes_by_value(chunk, attribute, outside, missing)
    codes = np.full(len(chunk), missing, dtype=np.int32)
    valid = chunk.is_valid().to_numpy(zero_copy_only=False)
    _, offsets, data = chunk.buffers()
    begins = np.frombuffer(offsets, dtype=np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
    texts = np.frombuffer(data or b"", dtype=np.uint8)
    if len(chunk) and find_short(begins, texts, valid, *attribute.short_codes, codes):
        rest = codes == NOT_FOUND
        codes[rest] = _codes_by_value(chunk.filter(pa.array(rest)), attribute, outside, missing)
    return codes


def _codes_by_value(
    chunk: pa.Array, attribute: Categorical, outside: int, missing: int
) -> NDArray[np.int32]:
    indices, values = distinct(chunk, attribute.name)
    table = np.full(len(values) + 1, missing, dtype=np.int32)
    for i, value in enumerate(values.to_pylist()):
        text = _text(value)
        if text is not None:
            table[i] = attribute.codes.get(_as_declared(text, attribute), outside)
    return table.take(indices, mode="clip")


def distinct(chunk: pa.Array, name: str) -> tuple[NDArray[np.intp], pa.Array]:
    """Indices into the distinct values; a null gets the index after the last.

    A damaged file can hold indices beyond its values: take with mode="clip", which cannot fail.
    """
    if not pa.types.is_dictionary(chunk.type):
        chunk = _plain(chunk, name)
        chunk = pa.nulls(len(chunk), pa.string()) if pa.types.is_null(chunk.type) else chunk
        chunk = chunk.dictionary_encode()
    values = _plain(chunk.dictionary, name)
    indices = chunk.indices.cast(pa.int64()) if chunk.null_count else chunk.indices
    places = pc.fill_null(indices, len(values)).to_numpy(zero_copy_only=False)
    return places.astype(np.intp, copy=False), values


def _as_declared(text: str, attribute: Categorical) -> str:
    """If the declared values are numbers, read the texts '1.0' and 'true' as the number 1."""
    if attribute.kind != "number" or text in attribute.codes:
        return text
    if text in _TRUTHS:
        return str(_TRUTHS[text])
    return spelling(float(text)) if _is_number(text) else text


def _text(value: object) -> str | None:
    """A value's spelling; None for a missing one."""
    if value is None or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, bytes):
        return value.decode("utf-8", errors="replace")
    return spelling(value)


def numbers_of(chunk: pa.Array, attribute: Numeric) -> NDArray[np.float64]:
    """The number of each record on the attribute's grid, NaN where there is none."""
    if isinstance(attribute, Date):
        return _moments(chunk, attribute)
    if isinstance(attribute, Ordered):
        places = _categorical_codes(chunk, attribute.listed, -1, -1).astype(np.float64)
        places[places < 0] = np.nan
        return places
    return _numbers(chunk, attribute.name)


def _moments(chunk: pa.Array, attribute: Date) -> NDArray[np.float64]:
    """Dates as days or seconds since 1970; a number is not a date, because its unit is unknown."""
    if pa.types.is_dictionary(chunk.type):
        values = _moments(chunk.dictionary, attribute)
        indices, _ = distinct(chunk, attribute.name)
        return np.append(values, np.nan).take(indices, mode="clip")
    if is_moment(chunk.type):
        seconds = moments(chunk)
    else:
        chunk = _plain(chunk, attribute.name)
        if not (pa.types.is_binary(chunk.type) or pa.types.is_large_binary(chunk.type)):
            return np.full(len(chunk), np.nan)
        seconds = parsed_moments(chunk)
    return seconds if attribute.has_time else np.floor(seconds / DAY)


def _numeric_codes(chunk: pa.Array, attribute: Numeric) -> NDArray[np.uint16]:
    numbers = numbers_of(chunk, attribute)
    codes = np.empty(len(numbers), dtype=np.uint16)
    _place_on_grid(numbers, attribute.edges, attribute.missing_code, codes)
    return codes


def _target_codes(chunk: pa.Array, target: Numeric) -> NDArray[np.int32]:
    """Cells of the target's grid, -1 where there is no number; numbers beyond the bounds are clamped."""
    numbers = _numbers(chunk, target.name)
    codes = np.empty(len(numbers), dtype=np.int32)
    _place_on_grid(numbers, target.edges, -1, codes)
    return codes


def _numbers(chunk: pa.Array, name: str) -> NDArray[np.float64]:
    """Any supported array as floats, NaN where there is no number."""
    if pa.types.is_dictionary(chunk.type):
        values = _numbers(chunk.dictionary, name)
        indices, _ = distinct(chunk, name)
        return np.append(values, np.nan).take(indices, mode="clip")
    chunk = _plain(chunk, name)
    if pa.types.is_binary(chunk.type) or pa.types.is_large_binary(chunk.type):
        chunk = _parse(chunk)
    elif pa.types.is_boolean(chunk.type):
        chunk = chunk.cast(pa.uint8())
    elif pa.types.is_decimal(chunk.type):  # by its digits: Arrow's own cast is often one bit off
        chunk = chunk.cast(pa.string())
    numbers = chunk.cast(pa.float64(), safe=False)
    return numbers.to_numpy(zero_copy_only=False)


def _parse(texts: pa.Array) -> pa.Array:
    """Texts as numbers, null for other texts; filters first, so that no cast can fail."""
    numeric = pc.match_substring_regex(texts, _NUMBER)
    digits = pc.if_else(numeric, texts, None).cast(pa.large_string())
    numbers = pc.ascii_trim_whitespace(digits).cast(pa.float64())
    words = pc.index_in(texts, pa.array([*_TRUTHS], pa.binary()).cast(texts.type))
    return pc.coalesce(numbers, pa.array([*_TRUTHS.values()], pa.float64()).take(words))


def _plain(array: pa.Array, name: str) -> pa.Array:
    """The array cast to one of six types: null, boolean, integer, decimal256, float64, binary.

    Text becomes unchecked bytes: a file may declare as text what is not UTF-8. Dates and times become
    the texts 2024-01-31 and 2024-01-31 12:30:00.
    """
    kind = array.type
    t = pa.types
    if t.is_null(kind) or t.is_boolean(kind) or t.is_integer(kind) or t.is_float64(kind):
        return array
    if t.is_floating(kind):
        return array.cast(pa.float64())
    if t.is_decimal(kind):  # exact, where a float would make two persons' long numbers one
        return array.cast(pa.decimal256(kind.precision, kind.scale))
    if is_moment(kind):
        whole = array.cast(pa.date32(), safe=False) if t.is_date(kind) else whole_seconds(array)
        return whole.cast(pa.string()).cast(pa.binary())
    if t.is_string(kind) or t.is_binary(kind) or t.is_fixed_size_binary(kind):
        return _capped(array.cast(pa.binary()))
    if is_readable(kind):
        return _capped(array.cast(pa.large_binary()))
    raise DataError(unreadable(name, kind))


def cells_of(chunk: pa.Array, name: str) -> list[Any]:
    """Cells as Python has them; dates as texts, since Python's calendar ends at the year 9999."""
    chunk = chunk.dictionary_decode() if pa.types.is_dictionary(chunk.type) else chunk
    return (_plain(chunk, name) if is_moment(chunk.type) else chunk).to_pylist()


def _capped(texts: pa.Array) -> pa.Array:
    """Texts, with every text that is too long replaced by one such text."""
    too_long = pc.greater(pc.binary_length(texts), CELL_BYTES)
    if not pc.any(too_long).as_py():
        return texts
    return pc.if_else(too_long, pa.scalar(_TOO_LONG, texts.type), texts)


@compiled
def _place_rows(rows, places, attributes, edges, begins, missing, out):  # type: ignore[no-untyped-def]
    """So many rows at a time that they are still in a core's cache when the last column is read."""
    for start in range(0, len(rows), 1024):
        here, codes = rows[start : start + 1024], out[start : start + 1024]
        for k in range(len(places)):
            grid = edges[begins[k] : begins[k + 1]]
            _place_on_grid(here[:, places[k]], grid, missing[k], codes[:, attributes[k]])


@compiled
def _place_on_grid(numbers, edges, missing_code, out):  # type: ignore[no-untyped-def]
    """How many edges do not exceed each number: guessed from an even grid, then by bisection."""
    count = len(edges)
    width = (edges[count - 1] - edges[0]) / max(1, count - 1)
    for i in range(len(numbers)):
        x = numbers[i]
        if x != x:
            out[i] = missing_code
            continue
        low, high = 0, count
        if edges[0] <= x < edges[count - 1]:
            guess = min(int((x - edges[0]) / width) + 1, count - 1)
            if edges[guess - 1] <= x:
                low = guess
            if x < edges[guess]:
                high = guess
        while low < high:
            middle = (low + high) >> 1
            if edges[middle] <= x:
                low = middle + 1
            else:
                high = middle
        out[i] = low
