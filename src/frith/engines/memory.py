"""Records in memory: encoded once, the codes kept."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._threads import on_threads
from frith.domain import Domain
from frith.domain.encoding import (
    Batch,
    Columns,
    as_table,
    check_columns,
    chunked,
    columns_of,
    encode_records,
)
from frith.engines.base import LocalEngine, Raw, Task
from frith.engines.persons import bound_records, encode_with_persons
from frith.errors import DataError
from frith.kernels import ColumnKernel

_ROWS = 65_536
_LOOK_ROWS = 16_384  # a part of the raw table, for its holder


class MemoryEngine(LocalEngine):
    """A DataFrame, an Arrow table, or an array whose columns follow the domain.

    Labels come from `y`, or from the table's own label column. Nothing is encoded before the first
    question, and only the columns that the domain names are ever read.
    """

    def __init__(
        self,
        table: Any,
        domain: Domain,
        y: Any = None,
        threads: int | None = None,
        rows: int = _ROWS,
    ):
        super().__init__(domain, threads)
        self._rows = rows
        table = as_table(table, len(domain.names) + (y is None))
        labels = None if y is None else chunked(_flat(y), domain.label.name)
        self._raw: tuple[Any, pa.ChunkedArray | None] | None = (table, labels)
        self._columns, self._size = _with_labels(table, labels, domain)
        self._derived: dict[ColumnKernel, NDArray[Any]] = {}
        self._lock = threading.Lock()
        _check_columns(table, labels, domain)

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        with self._lock:
            whole, derived = self._encoded, dict(self._derived)
        for start in range(0, len(whole), self._rows):
            yield functools.partial(self._part, whole, derived, start)

    def derive(self, column: ColumnKernel) -> None:
        with self._lock:
            if column not in self._derived:
                values = self._compute(column)
                self._derived = {column: values}  # an earlier one is not asked for again

    def _compute(self, column: ColumnKernel) -> NDArray[Any]:
        whole, parts = self._encoded, dict[int, NDArray[Any]]()
        every = range(0, max(1, len(whole)), self._rows)
        starts = iter(every)

        def work() -> None:
            for start in starts:
                parts[start] = column.compute(self._part(whole, self._derived, start))

        on_threads(min(self.threads, len(every)), work)
        return np.concatenate([parts[start] for start in sorted(parts)])

    def _part(
        self, whole: Batch, derived: Mapping[ColumnKernel, NDArray[Any]], start: int
    ) -> Batch:
        rows = slice(start, start + self._rows)
        columns = {column: values[rows] for column, values in derived.items()}
        return Batch(whole.codes[rows], whole.labels[rows], columns)

    def peek(self) -> Raw | None:
        """Nothing once the raw table was let go, so ask before the first question."""
        raw = self._raw
        return None if raw is None else lambda: self._raw_parts(*raw)

    def _raw_parts(
        self, table: Any, labels: pa.ChunkedArray | None
    ) -> Iterator[tuple[Columns, int]]:
        for start in range(0, self._size, _LOOK_ROWS):
            of = None if labels is None else labels.slice(start, _LOOK_ROWS)
            yield _with_labels(_rows_of(table, start, start + _LOOK_ROWS), of, self.domain)

    @functools.cached_property
    def _encoded(self) -> Batch:
        if self.domain.person is not None:
            batch, digests = encode_with_persons(self._columns, self.domain)
            batch = bound_records(batch, digests, self.domain)
        else:
            batch, _ = encode_records(self._columns, self.domain, threads=self.threads)
        del self._columns
        self._raw = None  # it is not needed again
        return batch


def required_columns(domain: Domain) -> tuple[str, ...]:
    """Every column a pass may read."""
    person = () if domain.person is None else (domain.person.column,)
    return (*domain.names, domain.label.name, *person)


def _with_labels(table: Any, labels: pa.ChunkedArray | None, domain: Domain) -> tuple[Columns, int]:
    is_array = isinstance(table, np.ndarray)
    if is_array and domain.person is not None:
        raise DataError("an array has no person column; pass a DataFrame or an Arrow table")
    names = domain.names if labels is not None else (*domain.names, domain.label.name)
    columns, rows = columns_of(table, names if is_array else None)
    if labels is None:
        return columns, rows
    if len(labels) != rows:
        raise DataError("the table and y differ in their number of rows")
    return lambda name: labels if name == domain.label.name else columns(name), rows


def _rows_of(table: Any, start: int, stop: int) -> Any:
    return table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]


def _check_columns(table: Any, labels: pa.ChunkedArray | None, domain: Domain) -> None:
    """Check names and types, which are public, without reading a row."""
    of = None if labels is None else labels.slice(0, 0)
    columns, _ = _with_labels(_rows_of(table, 0, 0), of, domain)
    check_columns(columns, required_columns(domain))


def _flat(y: Any) -> Any:
    """One label per record; accepts a column vector or a one-column frame."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        return y.iloc[:, 0] if hasattr(y, "iloc") else np.asarray(y)[:, 0]
    return y
