"""Tables in Python's memory as Arrow columns: frames, Arrow data, arrays and lists of rows.

Only the *shape* of a table can raise: a missing column, or one whose type (a list, a duration) a
domain cannot describe. What a cell holds never does: with a domain, each row is read by itself.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith.domain.attributes import spelling
from frith.domain.dates import is_moment
from frith.errors import DataError

Columns = Callable[[str], pa.ChunkedArray]
"""Returns a column by name, or raises `DataError` if the table lacks it."""

Matrix = tuple[NDArray[Any], Mapping[str, int]]
_FLOATS = (np.dtype("f8"), np.dtype("f4"))
_TEXT = (str, bytes, bytearray, memoryview)
_NO_ROW = (*_TEXT, Mapping, Set)  # they have a length, but no cells in an order


def columns_of(table: Any, names: Sequence[str] | None = None) -> tuple[Columns, int]:
    """Column access to a DataFrame, an Arrow table or a 2-D array (whose columns are `names`)."""
    table = as_table(table)
    if isinstance(table, pa.Table):
        return _ArrowColumns(table), table.num_rows
    if not isinstance(table, np.ndarray):
        return _frame_columns(table), len(table)
    if names is not None and table.shape == (0, 0):  # an empty list has no width
        table = table.reshape(0, len(names))
    if table.ndim != 2 or names is None or table.shape[1] != len(names):
        expected = "a 2-D table" if names is None else f"{len(names)} columns"
        got = f"{table.ndim} dimensions" if table.ndim != 2 else f"{table.shape[1]} columns"
        raise DataError(f"expected {expected}, and got an array of {got}")
    place = {name: j for j, name in enumerate(names)}
    matrix = (table, place) if table.dtype in _FLOATS and table.flags.c_contiguous else None
    return _NumpyColumns(lambda name: table[:, place[name]], matrix), len(table)


@dataclass(frozen=True)
class _NumpyColumns:
    """Columns of an array or a DataFrame; float columns also without a copy.

    `matrix` is an array of floats whose rows are records, and the place of each column in it.
    """

    values: Callable[[str], Any]
    matrix: Matrix | None = None

    def __call__(self, name: str) -> pa.ChunkedArray:
        return chunked(self.values(name), name)

    def floats(self, name: str) -> NDArray[Any] | None:
        values = self.values(name)
        dtype = getattr(values, "dtype", None)
        if not isinstance(dtype, np.dtype) or dtype not in _FLOATS:
            return None
        return np.asarray(values)


@dataclass(frozen=True)
class WithLabels:
    """Columns of a table, and labels from elsewhere."""

    columns: Columns
    name: str
    labels: pa.ChunkedArray

    def __call__(self, name: str) -> pa.ChunkedArray:
        return self.labels if name == self.name else self.columns(name)

    def floats(self, name: str) -> NDArray[Any] | None:
        found = getattr(self.columns, "floats", None)
        return None if found is None or name == self.name else found(name)

    @property
    def matrix(self) -> Matrix | None:
        return getattr(self.columns, "matrix", None)

    @property
    def is_arrow(self) -> bool:
        return getattr(self.columns, "is_arrow", False)


@dataclass(frozen=True)
class _ArrowColumns:
    """Columns of an Arrow table, whose rows can be sliced without a copy."""

    table: pa.Table
    is_arrow = True

    def __call__(self, name: str) -> pa.ChunkedArray:
        _check_there(name, self.table.column_names)
        if not is_readable(self.table.schema.field(name).type):
            raise DataError(unreadable(name, self.table.schema.field(name).type))
        return self.table.column(name)


def check_columns(columns: Columns, names: Iterable[str]) -> None:
    """Raise one error that names every column that is missing or cannot be read."""
    problems = []
    for name in names:
        try:
            columns(name)
        except DataError as error:
            problems.append(str(error))
    if problems:
        raise DataError("; ".join(problems))


def as_table(table: Any, width: int | None = None) -> Any:
    """A DataFrame as it is, any Arrow data as a table, anything else as an array.

    A stream can be read only once, so keep the result. With `width`, no row of a list raises: if a row
    has another number of cells, all its cells count as missing.
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


def _array_of_rows(rows: Sequence[Any], width: int) -> NDArray[Any]:
    """Keeps each cell as it is: NumPy would convert all to one type and unpack lists in cells."""
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
    """How many cells each row has, when no domain declares it."""
    if any(isinstance(row, _NO_ROW) or not hasattr(row, "__len__") for row in rows):
        raise DataError("expected rows of cells, and got a list of something else")
    lengths = {len(row) for row in rows}
    if len(lengths) > 1:
        raise DataError("expected rows of one length, and got several")
    return max(lengths, default=0)


def _frame_columns(frame: Any) -> Columns:
    def values(name: str) -> Any:
        _check_there(name, list(frame.columns))
        return frame[name]

    return _NumpyColumns(values)


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
    """Python objects as one Arrow type, if the result equals converting them one by one."""
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
