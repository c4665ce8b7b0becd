"""Raw Arrow columns in, small integer codes out, by the public domain alone.

Encoding is total: whatever a column holds, every record gets a code, because an exception on a
value would be an answer about a person. Only the *shape* of a table can raise: a missing column, or
one whose type (a list, a duration) a domain cannot describe. Each cell is encoded by itself: if one
record's value changed how another's is read, removing a record would change more counts than its
own.
"""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from frith._jit import compiled
from frith.domain.attributes import Attribute, Categorical, Date, Numeric, Ordered, spelling
from frith.domain.dates import DAY, is_moment, moments, parsed_moments, whole_seconds
from frith.domain.domain import Domain
from frith.domain.short_texts import NOT_FOUND, find_short
from frith.errors import DataError

Columns = Callable[[str], pa.ChunkedArray]
"""Returns a column by name, or raises `DataError` if the table lacks it."""

CELL_BYTES = 2**20
"""The longest text that is looked at: a longer cell is a value outside the domain, whatever it holds.

Without a cap, the time that a pass takes would tell which table holds one enormous cell.
"""
_TOO_LONG = b"?" * (CELL_BYTES + 1)

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

    `derived` holds further integer columns, by the column kernel that makes them. Columns of
    attributes that were not asked for are zero.
    """

    codes: NDArray[Any]
    labels: NDArray[Any]
    derived: dict[Any, NDArray[Any]] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.labels)


def encode_records(
    columns: Columns, domain: Domain, attributes: Iterable[int] | None = None, threads: int = 1
) -> tuple[Batch, NDArray[np.bool_]]:
    """Encode the records with a known label; the mask says which those are."""
    labels = encode_label(columns(domain.label.name), domain.label)
    known = labels >= 0
    keep = None if known.all() else known
    codes = encode_attributes(columns, domain, len(labels), attributes, keep, threads)
    return Batch(codes, labels[known].astype(domain.label_type)), known


def encode_attributes(
    columns: Columns,
    domain: Domain,
    rows: int,
    attributes: Iterable[int] | None = None,
    keep: NDArray[np.bool_] | None = None,
    threads: int = 1,
) -> NDArray[Any]:
    """The matrix of codes, one column at a time, so that each thread holds one raw column."""
    wanted = list(range(len(domain.attributes)) if attributes is None else attributes)
    kept = rows if keep is None else int(keep.sum())
    make = np.empty if len(wanted) == len(domain.attributes) else np.zeros
    codes = make((kept, len(domain.attributes)), dtype=domain.code_type)

    def fill(j: int) -> None:
        attribute = domain.attributes[j]
        encode_column(columns(attribute.name), attribute, codes[:, j], keep)

    if threads > 1 and kept > 10_000:
        with ThreadPoolExecutor(threads) as pool:
            list(pool.map(fill, wanted))
    else:
        for j in wanted:
            fill(j)
    return codes


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


def encode_label(column: pa.ChunkedArray, label: Attribute) -> NDArray[np.int32]:
    """Label codes, and -1 where the label is missing or unknown, or no number if it should be one."""
    parts = [
        _categorical_codes(chunk, label, -1, -1)
        if isinstance(label, Categorical)
        else _target_codes(chunk, label)
        for chunk in column.chunks
    ]
    return np.concatenate(parts) if parts else np.empty(0, dtype=np.int32)


def person_digests(
    column: pa.ChunkedArray, key: bytes
) -> tuple[NDArray[np.uint64], NDArray[np.bool_]]:
    """A 256-bit keyed digest of each record's person, and whether there is one.

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
    """Dates as the days, or seconds, since 1970; a number is no date, since nobody knows its unit."""
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
    """Cells of the target's grid, -1 where there is no number; beyond the bounds it is clamped."""
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
    """Texts as numbers, null for other texts: filtered first, so that no cast can fail."""
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
    """Texts, with one that is too long in the place of every other that is."""
    too_long = pc.greater(pc.binary_length(texts), CELL_BYTES)
    if not pc.any(too_long).as_py():
        return texts
    return pc.if_else(too_long, pa.scalar(_TOO_LONG, texts.type), texts)


def is_readable(kind: pa.DataType) -> bool:
    """Whether columns of this Arrow type can be encoded."""
    t = pa.types
    if t.is_dictionary(kind):
        return is_readable(kind.value_type)
    tests = (
        t.is_null, t.is_boolean, t.is_integer, t.is_floating, t.is_decimal, t.is_string,
        t.is_large_string, t.is_string_view, t.is_binary, t.is_large_binary, t.is_binary_view,
        t.is_fixed_size_binary, is_moment,
    )  # fmt: skip
    return any(test(kind) for test in tests)


def unreadable(name: str, kind: object) -> str:
    return (
        f"column {name!r} has type {kind}, which a domain cannot describe; "
        "turn it into text, a number or a date first"
    )


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


# -- tables that Python users hold -------------------------------------------------------------


def columns_of(table: Any, names: Sequence[str] | None = None) -> tuple[Columns, int]:
    """Column access to a DataFrame, an Arrow table or a 2-D array (whose columns are `names`)."""
    table = as_table(table)
    if isinstance(table, pa.Table):
        return _arrow_columns(table), table.num_rows
    if not isinstance(table, np.ndarray):
        return _frame_columns(table), len(table)
    if names is not None and table.shape == (0, 0):  # a list of no rows has no width either
        table = table.reshape(0, len(names))
    if table.ndim != 2 or names is None or table.shape[1] != len(names):
        expected = "a 2-D table" if names is None else f"{len(names)} columns"
        got = f"{table.ndim} dimensions" if table.ndim != 2 else f"{table.shape[1]} columns"
        raise DataError(f"expected {expected}, and got an array of {got}")
    place = {name: j for j, name in enumerate(names)}
    return lambda name: chunked(table[:, place[name]], name), len(table)


def check_columns(columns: Columns, names: Iterable[str]) -> None:
    """Raise one error that names every column which is missing or cannot be read."""
    problems = []
    for name in names:
        try:
            columns(name)
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("; ".join(problems))


def as_table(table: Any, width: int | None = None) -> Any:
    """A DataFrame as it is, any Arrow data as a table, all else as an array.

    A stream can be read only once, so keep what was read from it. If `width` is given, no row of a
    list raises: if a row has another number of cells, all its cells count as missing.
    """
    if hasattr(table, "columns") and hasattr(table, "iloc"):
        return table
    if isinstance(table, pa.RecordBatch):
        return pa.Table.from_batches([table])
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    if not isinstance(table, Sequence) or isinstance(table, _TEXT):
        return np.asarray(table)
    return _array_of_rows(table, _common_width(table) if width is None else width)


_TEXT = (str, bytes, bytearray, memoryview)
_NO_ROW = (*_TEXT, Mapping, Set)  # they have a length, but no cells in an order


def _array_of_rows(rows: Sequence[Any], width: int) -> NDArray[Any]:
    """Keep each cell as it is: NumPy would give all one type and unpack cells that are lists."""
    array = np.full((len(rows), width), None, dtype=object)
    for i, row in enumerate(rows):
        for j, cell in enumerate(_cells(row, width)):
            array[i, j] = cell
    return array


def _cells(row: Any, width: int) -> list[Any]:
    """The cells of a row if there are `width` of them, else none. Depends on this row only."""
    try:
        is_row = not isinstance(row, _NO_ROW) and len(row) == width
        cells = list(itertools.islice(row, width)) if is_row else []
    except Exception:  # noqa: BLE001 - whatever an object does when it is looked at
        return []
    return cells if len(cells) == width else []


def _common_width(rows: Sequence[Any]) -> int:
    """How many cells each row has, if no domain declares it."""
    if any(isinstance(row, _NO_ROW) or not hasattr(row, "__len__") for row in rows):
        raise DataError("expected rows of cells, and got a list of something else")
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise DataError("expected rows of one length, and got several")
    return max(lengths, default=0)


def _arrow_columns(table: pa.Table) -> Columns:
    def column(name: str) -> pa.ChunkedArray:
        _check_there(name, table.column_names)
        if not is_readable(table.schema.field(name).type):
            raise DataError(unreadable(name, table.schema.field(name).type))
        return table.column(name)

    return column


def _frame_columns(frame: Any) -> Columns:
    def column(name: str) -> pa.ChunkedArray:
        _check_there(name, list(frame.columns))
        return chunked(frame[name], name)

    return column


def _check_there(name: str, names: Sequence[Any]) -> None:
    times = sum(n == name for n in names)
    if times != 1:
        has = "has no column" if times == 0 else f"has {times} columns named"
        raise DataError(f"the table {has} {name!r}; it has {_shortened(names)}")


def _shortened(names: Sequence[Any], shown_names: int = 12) -> str:
    shown = ", ".join(repr(n) for n in names[:shown_names])
    return shown + (f" and {len(names) - shown_names} more" if len(names) > shown_names else "")


def chunked(values: Any, name: str) -> pa.ChunkedArray:
    """A Series or 1-D array as an Arrow column; Python objects become text."""
    array = values if isinstance(values, pa.Array | pa.ChunkedArray) else _converted(values, name)
    if not is_readable(array.type):
        raise DataError(unreadable(name, array.type))
    return array if isinstance(array, pa.ChunkedArray) else pa.chunked_array([array])


def _converted(values: Any, name: str) -> pa.Array | pa.ChunkedArray:
    dtype: Any = getattr(values, "dtype", np.dtype(object))
    categories = getattr(dtype, "categories", None)
    if dtype == np.dtype(object):
        return _objects(values)
    if categories is not None and categories.dtype == np.dtype(object):
        codes = np.asarray(getattr(values, "cat", values).codes)
        indices = pa.array(codes, mask=codes < 0)
        return pa.DictionaryArray.from_arrays(indices, _objects(categories), ordered=dtype.ordered)
    try:
        return pa.array(values, from_pandas=True)
    except UnicodeError:  # half a surrogate pair, which Python's texts may hold and Arrow's may not
        return _objects(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError):
        raise DataError(unreadable(name, dtype)) from None


def _objects(values: Any) -> pa.Array:
    """Python objects in one Arrow type if that equals converting them one by one."""
    kinds = [pa.binary(), pa.bool_()]
    if {type(v) for v in values} <= {int, float, np.int64, np.float64, type(None)}:
        kinds = [pa.float64()]
    for kind in kinds:
        try:
            return pa.array(np.asarray(values, dtype=object), kind, from_pandas=True)
        except Exception:  # noqa: BLE001 - it may quote an object; and they need not be of one kind
            continue
    return pa.array([_object_bytes(v) for v in values], pa.binary())


def _object_bytes(value: Any) -> bytes | None:
    """One object as text; None where pandas and Arrow see a missing value."""
    try:
        return pa.scalar(value, pa.binary(), from_pandas=True).as_py()
    except Exception:  # noqa: BLE001 - not text
        pass
    try:
        text = str.__str__(value) if isinstance(value, str) else spelling(value)
        return None if value != value else text.encode("utf-8", errors="surrogatepass")
    except Exception:  # noqa: BLE001 - an object that cannot be compared or printed is no one's value
        return b""
