"""Records in memory: encoded once, the codes kept."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
        self._columns = _with_labels(table, y, domain)
        self._derived: dict[ColumnKernel, NDArray[Any]] = {}
        self._lock = threading.Lock()
        _check_columns(table, y, domain)

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        with self._lock:
            whole, derived = self._encoded, dict(self._derived)
        for start in range(0, len(whole), self._rows):
            rows = slice(start, start + self._rows)
            columns = {column: values[rows] for column, values in derived.items()}
            yield functools.partial(Batch, whole.codes[rows], whole.labels[rows], columns)

    def derive(self, column: ColumnKernel) -> None:
        with self._lock:
            if column not in self._derived:
                whole = self._encoded
                values = column.compute(Batch(whole.codes, whole.labels, self._derived))
                self._derived = {column: values}  # an earlier one is not asked for again

    def peek(self) -> Raw | None:
        """Nothing once the raw table was let go, so ask before the first question."""
        columns = self.__dict__.get("_columns")
        if columns is None:
            return None
        return lambda: iter([(columns, len(columns(self.domain.label.name)))])

    @functools.cached_property
    def _encoded(self) -> Batch:
        if self.domain.person is not None:
            batch, digests = encode_with_persons(self._columns, self.domain)
            batch = bound_records(batch, digests, self.domain)
        else:
            batch, _ = encode_records(self._columns, self.domain, threads=self.threads)
        del self._columns  # the raw table is not needed again
        return batch


def required_columns(domain: Domain) -> tuple[str, ...]:
    """Every column a pass may read."""
    person = () if domain.person is None else (domain.person.column,)
    return (*domain.names, domain.label.name, *person)


def _with_labels(table: Any, y: Any, domain: Domain) -> Columns:
    is_array = isinstance(table, np.ndarray)
    if is_array and domain.person is not None:
        raise DataError("an array has no person column; pass a DataFrame or an Arrow table")
    names = domain.names if y is not None else (*domain.names, domain.label.name)
    columns, rows = columns_of(table, names if is_array else None)
    if y is None:
        return columns
    labels = chunked(_flat(y), domain.label.name)
    if len(labels) != rows:
        raise DataError("the table and y differ in their number of rows")
    return lambda name: labels if name == domain.label.name else columns(name)


def _check_columns(table: Any, y: Any, domain: Domain) -> None:
    """Check names and types, which are public, without reading a row."""
    nothing = table.iloc[:0] if hasattr(table, "iloc") else table[:0]
    columns = _with_labels(nothing, None if y is None else [], domain)
    check_columns(columns, required_columns(domain))


def _flat(y: Any) -> Any:
    """One label per record; accepts a column vector or a one-column frame."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        return y.iloc[:, 0] if hasattr(y, "iloc") else np.asarray(y)[:, 0]
    return y
