"""Records in memory: encoded once, the codes kept."""

from __future__ import annotations

import functools
import threading
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._cached import cached_property
from frith._threads import on_threads
from frith.domain import Domain
from frith.domain.columns import Columns, WithLabels, as_table, check_columns, chunked, columns_of
from frith.domain.encoding import Batch, encode_records
from frith.engines.base import LocalEngine, Raw, Task
from frith.engines.persons import bound_records, encode_with_persons
from frith.errors import DataError
from frith.kernels import ColumnKernel, Kernel, add_batch
from frith.kernels.gradients import ScoreColumn
from frith.kernels.pairs import PairedBins

_ROWS = 65_536
_PARTS = 3  # of a pass for each thread, so that none waits long for the last one
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
        labels = None if y is None else chunked(flat(y), domain.label.name)
        self._raw: tuple[Any, pa.ChunkedArray | None] | None = (table, labels)
        self._columns, self._size = with_labels(table, labels, domain)
        self._derived: dict[ColumnKernel, NDArray[Any]] = {}  # one column, and one helper
        self._pending: ColumnKernel | None = None
        self._is_lent = False  # whether batches that show the kept column may be in use elsewhere
        self._lock = threading.Lock()
        check_table(table, labels, domain)

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        with self._lock:
            self._settle()
            whole, derived = self._encoded, dict(self._derived)
            self._is_lent = True
        for start in range(0, len(whole), self._rows):
            yield functools.partial(self._part, whole, derived, start)

    def derive(self, column: ColumnKernel) -> None:
        """Keep a column. If it adds to a kept column, the next pass makes it and replaces that one."""
        with self._lock:
            self._settle()
            if column in self._derived:
                return
            if isinstance(column, ScoreColumn) and column.before in self._derived:
                self._pending = column
            else:
                self._keep(column)

    def aggregate(self, kernel: Kernel) -> NDArray[np.int64]:
        with self._lock:  # a pass may write over what another would read
            for helper in getattr(kernel, "helpers", ()):
                self._keep_helper(helper)
            if kernel.derived != (self._pending,) or self._is_lent:
                self._settle()
            return self._pass(kernel)

    def _pass(self, kernel: Kernel) -> NDArray[np.int64]:
        """Each thread takes one part after another, brings its kept column up to date, and counts it."""
        whole, derived, column = self._encoded, self._derived, self._pending
        if column is not None:
            self._derived = {}  # if a part fails, nothing half-done is kept
        threads = min(self.threads, max(1, -(-len(whole) // self._rows)))
        rows = max(self._rows, -(-len(whole) // (_PARTS * threads)))
        starts = iter(range(0, len(whole), rows))
        make = getattr(kernel, "adder", None)
        add = None if make is None else make(whole.labels, derived, column is not None)

        def add_part(start: int, stop: int, out: NDArray[np.int64]) -> None:
            batch = self._part(whole, derived, start, stop - start)
            batch.in_place = column is not None
            add_batch(kernel, batch, out)

        add = add or add_part

        def work() -> NDArray[np.int64]:
            out = np.zeros(kernel.shape, dtype=np.int64)
            for start in starts:
                add(start, min(start + rows, len(whole)), out)
            return out

        sums = np.asarray(np.sum(on_threads(threads, work), axis=0, dtype=np.int64))
        if column is not None:
            assert isinstance(column, ScoreColumn)
            self._derived = {column if c is column.before else c: v for c, v in derived.items()}
            self._pending = None
        return sums

    def _settle(self) -> None:
        """Make a column that no pass has made yet."""
        column, self._pending = self._pending, None
        if column is not None:
            self._keep(column)

    def _keep(self, column: ColumnKernel) -> None:
        """Overwrites an earlier column that nobody will ask for again."""
        helpers = {c: v for c, v in self._derived.items() if isinstance(c, PairedBins)}
        self._derived = helpers | {column: self._compute(column)}
        self._is_lent = False

    def _keep_helper(self, helper: PairedBins) -> None:
        if helper not in self._derived:
            others = {c: v for c, v in self._derived.items() if not isinstance(c, PairedBins)}
            self._derived = others | {helper: self._compute(helper)}

    def _compute(self, column: ColumnKernel) -> NDArray[Any]:
        whole = self._encoded
        first = column.compute(self._part(whole, self._derived, 0, 0))
        values = np.empty((len(whole), *first.shape[1:]), first.dtype)
        every = range(0, len(whole), self._rows)
        starts = iter(every)

        def work() -> None:
            for start in starts:
                part = self._part(whole, self._derived, start)
                values[start : start + self._rows] = column.compute(part)

        on_threads(max(1, min(self.threads, len(every))), work)
        return values

    def _part(
        self,
        whole: Batch,
        derived: Mapping[ColumnKernel, NDArray[Any]],
        start: int,
        length: int | None = None,
    ) -> Batch:
        rows = slice(start, start + (self._rows if length is None else length))
        columns = {column: values[rows] for column, values in derived.items()}
        return Batch(whole.codes[rows], whole.labels[rows], columns)

    def peek(self) -> Raw | None:
        """None after the raw table was dropped, so call this before the first question."""
        raw = self._raw
        return None if raw is None else lambda: self._raw_parts(*raw)

    def _raw_parts(
        self, table: Any, labels: pa.ChunkedArray | None
    ) -> Iterator[tuple[Columns, int]]:
        for start in range(0, self._size, _LOOK_ROWS):
            of = None if labels is None else labels.slice(start, _LOOK_ROWS)
            yield with_labels(rows_of(table, start, start + _LOOK_ROWS), of, self.domain)

    @cached_property
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


def with_labels(table: Any, labels: pa.ChunkedArray | None, domain: Domain) -> tuple[Columns, int]:
    """The columns of a table, its labels (its own or `y`), and its number of rows."""
    is_array = isinstance(table, np.ndarray)
    if is_array and domain.person is not None:
        raise DataError("an array has no person column; pass a DataFrame or an Arrow table")
    names = domain.names if labels is not None else (*domain.names, domain.label.name)
    columns, rows = columns_of(table, names if is_array else None)
    if labels is None:
        return columns, rows
    if len(labels) != rows:
        raise DataError("the table and y differ in their number of rows")
    return WithLabels(columns, domain.label.name, labels), rows


def rows_of(table: Any, start: int, stop: int) -> Any:
    return table.iloc[start:stop] if hasattr(table, "iloc") else table[start:stop]


def check_table(table: Any, labels: pa.ChunkedArray | None, domain: Domain) -> None:
    """Check names and types, which are public, without reading a row."""
    of = None if labels is None else labels.slice(0, 0)
    columns, _ = with_labels(rows_of(table, 0, 0), of, domain)
    check_columns(columns, required_columns(domain))


def flat(y: Any) -> Any:
    """One label per record; accepts a column vector or a one-column frame."""
    if getattr(y, "ndim", 1) == 2 and y.shape[1] == 1:
        return y.iloc[:, 0] if hasattr(y, "iloc") else np.asarray(y)[:, 0]
    return y
