"""What database engines share: one connection, one transaction, one pass at a time."""

from __future__ import annotations

import contextlib
import functools
import threading
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith.domain import Domain
from frith.domain.columns import unreadable
from frith.engines.base import OTHER_TYPES, Task, differ
from frith.engines.memory import required_columns
from frith.engines.packed import Packing, Source
from frith.engines.positions import Dialect
from frith.engines.stream import BATCH_ROWS, StreamEngine
from frith.errors import DataError, FrithError, SourceError
from frith.kernels import Kernel

AGAIN = "a new reading is a new fit and a new charge"
_CELL_BYTES = 16  # roughly, for a raw cell
_SHOWN = ("42", "55", "57")  # classes about names, rights and types; locks; cancelled statements


class Found(NamedTuple):
    """A column of the source: its name, its type, and how to select it, None if frith cannot.

    `compared` says what the database can compare its cells as (text, integer, float), and how.
    """

    name: str
    kind: str
    form: str | None
    compared: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Timeouts:
    """How many seconds to wait for a database; 0 waits forever.

    `connect` is for connecting and for each look at names and types, `statement` for one pass.
    """

    connect: float = 30
    statement: float = 0


USUAL = Timeouts()


class DatabaseEngine(StreamEngine):
    """A table, a view or a query of a database.

    One transaction reads everything, from the columns' names to the last pass. Columns
    are selected by position: a database may not distinguish `Age` from `age`, but a domain does.
    One pass runs at a time. A driver's own error is never shown, since it may quote a cell or a
    password. An engine that failed stays failed: it does not connect again.

    With `types`, those that an earlier opening found, a column of another type is refused: a
    catalogue's types follow from what was declared, never from records.

    Each pass has the database encode what it can encode as Python does (`frith.engines.packed`).
    """

    dialect: Dialect

    def __init__(
        self,
        url: str,
        domain: Domain,
        threads: int | None = None,
        rows: int = BATCH_ROWS,
        types: Mapping[str, str] | None = None,
        timeouts: Timeouts = USUAL,
    ):
        super().__init__(domain, threads, rows)
        self._fixed_types, self._timeouts = types, timeouts
        self._named = ""
        self._from = ""
        self._sources: dict[str, Source] = {}
        self._packings: dict[tuple[int, ...], Packing] = {}
        self._one_pass = threading.Lock()
        self._reading = contextlib.ExitStack()
        self.connect(url)

    @abstractmethod
    def connect(self, url: str) -> None:
        """Connect, begin the transaction, and look at the columns; called once."""

    @abstractmethod
    def read(self, sql: str, until: contextlib.ExitStack) -> pa.RecordBatchReader:
        """Run a SELECT in the engine's transaction; `until` holds what is open until it is read."""

    @abstractmethod
    def close(self) -> None:
        """Close the connection, and with it the transaction, after the last read."""

    def aggregate(self, kernel: Kernel) -> NDArray[np.int64]:
        with self._one_pass:
            return super().aggregate(kernel)

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        if self.domain.person is not None:  # its raw cells are copied, once
            yield from super().tasks(attributes)
            return
        packing = self._packing(attributes)
        for batch in self.select(packing.selected):
            yield functools.partial(packing.encode, batch)

    def scan(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        for batch in self.select([self._sources[name].form for name in columns]):
            yield pa.RecordBatch.from_arrays(batch.columns, names=columns)

    def select(self, forms: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """One pass over the rows, by SQL expressions."""
        for batch in self._batches(self._query(forms)):
            for start in range(0, len(batch), self._rows):
                yield batch.slice(start, self._rows)

    def _packing(self, attributes: tuple[int, ...]) -> Packing:
        if attributes not in self._packings:
            packing = Packing(self.domain, attributes, self._sources, self.dialect)
            self._packings[attributes] = packing
        return self._packings[attributes]

    def _query(self, forms: Sequence[str]) -> str:
        named = ", ".join(f"{form} AS s{i}" for i, form in enumerate(forms))
        return f"SELECT {named} FROM {self._from}"

    def raw_bytes(self) -> int:
        rows = sum(b[0][0].as_py() for b in self._batches(f"SELECT count(*) FROM {self._from}"))
        return rows * len(self._sources) * _CELL_BYTES

    def select_from(self, relation: str, found: Sequence[Found]) -> None:
        """Fix what passes select; check names and types against the domain."""
        places = ", ".join(f"c{i}" for i in range(len(found)))
        for name in required_columns(self.domain):
            which = [i for i, column in enumerate(found) if column.name == name]
            if len(which) != 1:
                has = f"{len(which)} columns" if which else "no column"
                raise DataError(f"{self._named} has {has} {name!r}, which the domain declares")
            column, place = found[which[0]], f"c{which[0]}"
            if column.form is None:
                raise DataError(unreadable(name, column.kind))
            kind, cell = column.compared or (None, "{}")
            self._sources[name] = Source(kind, cell.format(place), column.form.format(place))
            self.types = {**self.types, name: column.kind}
        if differ(self.types, self._fixed_types):
            raise SourceError(f"{self._named} cannot be read: {OTHER_TYPES}")
        self._from = f"{relation} AS t({places})"
        refused = f"{self._named} cannot be read; this user may not have the right to"
        every = self._packing(tuple(range(len(self.domain.attributes))))
        for forms in ([source.form for source in self._sources.values()], every.selected):
            with self.quietly(refused), self._start() as reading:
                self.read(f"{self._query(forms)} LIMIT 0", reading).read_all()

    @contextlib.contextmanager
    def quietly(self, problem: str) -> Iterator[None]:
        """Raise `problem` for whatever a driver raises, and close the engine."""
        try:
            yield
        except FrithError:
            self.close()
            raise
        except Exception as error:  # noqa: BLE001 - of any class, and it may quote a cell
            self.close()
            code = str(getattr(error, "sqlstate", None))
            raise SourceError(problem + f" (SQLSTATE {code})" * code.startswith(_SHOWN)) from None

    def _batches(self, sql: str) -> Iterator[pa.RecordBatch]:
        failed = f"reading {self._named} failed part-way and cannot be resumed; {AGAIN}"
        with self.quietly(failed), self._start() as reading:
            yield from self.read(sql, reading)

    def _start(self) -> contextlib.ExitStack:
        """Begin a reading; end an earlier one that was abandoned half-way."""
        self._reading.close()
        self._reading = contextlib.ExitStack()
        return self._reading


ONE_RECORD = "depends on one protected record alone"


def row_by_row(what: str) -> tuple[str, ...]:
    """What must be true of a query or a view, and only its curator can know."""
    return (
        f"each row of the {what}'s result {ONE_RECORD}",
        f"no value of a record makes the {what} fail",
    )


def quoted(name: str) -> str:
    """A name as a quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def bare(query: str) -> str:
    """A query without the semicolon that people end it with."""
    return query.strip().removesuffix(";")
