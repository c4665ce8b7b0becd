"""Records in a Spark table: a task counts its own partition, and only sums reach the driver.

A pass is one job of map and reduce. Spark encodes what it can (`frith.engines.packed`). Each map task
encodes the rest of the Arrow batches of its partition, lets the kernel count them into one array, and
sends that array on in slices; each reduce task adds up the slices it is sent; the driver adds up what
is left. The curator draws the noise once, for the whole sum, on the driver.

No record counts twice and none is lost, whatever fails on the way:

- A task's answer is a function of its partition. A task that fails, is killed, or is overtaken by
  a speculative copy of itself leaves nothing behind: Spark takes the output of exactly one
  successful attempt for every partition of a stage, also of those written before a failure.
- When an executor is lost with the output of tasks that had succeeded, Spark runs those again.
  They give the same sums, because a partition gives the same rows: files are pinned, and what
  else the plan does is an assumption. (If rows depend on `rand()`, on an unordered `limit` or on
  a source that changes, save them to a table first.)
- Slices go to reducers by their own number and that of their partition, which repeat with it;
  and the total does not depend on where a slice was added, since integers add up in any order.
- A partition without counted records sends nothing, and a table without any gives zeros.
"""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._version import __version__
from frith.domain import Domain
from frith.domain.columns import columns_of, unreadable
from frith.domain.encoding import Batch
from frith.engines import positions
from frith.engines.base import OTHER_TYPES, Engine, differ, needed_attributes
from frith.engines.memory import required_columns
from frith.engines.packed import Packing, Source
from frith.engines.persons import encode_with_persons, kept_records
from frith.engines.sql import row_by_row
from frith.errors import DataError, SourceError
from frith.kernels import Kernel, add_batch

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NEEDS_SPARK = "reading a Spark table needs pyspark: pip install 'frith[spark]'"
URLS = ("spark+parquet:", "spark+orc:", "spark+table:")

SLICE_CELLS = 2**15
"""The number of cells in a slice of sums: 256 KB."""
_WAYS = 64  # the most reducers among which the slices of small sums are divided
PERSON_ROWS = 2**18
"""How many rows of the table one task bounds, on average."""
_BLOCK_BYTES = 2**20  # of encoded records in one cell of a bounded copy
_GATHERED_ROWS = 65_536  # Spark's batches of 10,000 rows are joined before they are encoded

SUMS = "slice int, way int, sums binary"
ADDED = "slice int, sums binary"
PERSONS = "person binary, record binary"
RECORDS = "records binary"

_GONE = ("gone",)

T = TypeVar("T")

Batches = Iterator[pa.RecordBatch]
Work = Callable[[Batches], Batches]


class SparkEngine(Engine):
    """A Spark DataFrame, of a session in this process or (Spark Connect) on a server.

    Every pass runs the table's plan again and reads the columns it needs. Files that the plan reads
    are pinned when the engine is opened, by size and time; a pass that finds one changed fails. (A
    DataFrame that was cached before reads no files; that Spark keeps it is an assumption then.)
    Derived columns are recomputed. What a task sends is at most the sums it was asked for, whatever
    the number of its records.

    Where the domain names a person, the first pass makes a copy of encoded records, bounded per
    person, that later passes read. To bring a person's records together they are shuffled between
    executors by a digest of the person, after each task has bounded its own; the copy is kept in
    the executors' memory and on their disks. This is the only case in which records travel, and
    none reaches the driver.

    With `types`, those that an earlier opening found, a column of another type fails the first pass
    and not the opening: whatever wrote the files may have taken their types from the records.

    Workers run the Python that `PYSPARK_PYTHON` names, with this version of frith installed.
    """

    def __init__(
        self,
        frame: DataFrame,
        domain: Domain,
        threads: int | None = None,
        types: Mapping[str, str] | None = None,
    ):
        super().__init__(domain, threads)
        self._places = _check_columns(frame, domain, types is None)
        fields = frame.schema.fields
        self.types = {name: fields[i].dataType.simpleString() for name, i in self._places.items()}
        self._differs = differ(self.types, types)
        self._sources = {
            name: Source("text" if _is_text(fields[i]) else None, f"c{i}", f"c{i}")
            for name, i in self._places.items()
        }
        # Own names: Spark's lookup ignores case and reads dots and quotes as syntax.
        self._frame = frame.toDF(*(f"c{i}" for i in range(len(frame.columns))))
        self._session = frame.sparkSession
        self._files = _input_files(frame)
        self._pins = self._look()
        if _GONE in self._pins:
            raise SourceError("a file behind the Spark table cannot be found")
        self._bounded: DataFrame | None = None
        self._lock = threading.Lock()
        # A DataFrame is a query; nothing shows whether it treats records one by one.
        same_rows = "the Spark table gives the same rows whenever it is read"
        self.assumptions = (same_rows, *row_by_row("Spark table"))
        _check_workers(self._session)

    def aggregate(self, kernel: Kernel) -> NDArray[np.int64]:
        n_slices = -(-math.prod(kernel.shape) // SLICE_CELLS)
        frame, records = self._source(needed_attributes(kernel))
        count = functools.partial(
            count_partition, kernel=kernel, records=records, ways=max(1, _WAYS // max(1, n_slices))
        )
        sums = self._map(frame, count, SUMS).repartition("slice", "way")
        parts = self._run(self._map(sums, add_slices, ADDED).toArrow)
        out = np.zeros(kernel.shape, dtype=np.int64)
        for batch in parts.to_batches():
            for place, part in _slices_in(batch):
                out.reshape(-1)[place * SLICE_CELLS :][: len(part)] += part
        return out

    def _map(self, frame: DataFrame, work: Work, schema: str) -> DataFrame:
        """The rows that `work` makes from each partition of `frame`; lazy, so nothing runs yet."""
        return frame.mapInArrow(work, schema)

    def _source(self, attributes: tuple[int, ...]) -> tuple[DataFrame, Callable[..., Batch]]:
        """What a pass reads, and how to make encoded records of its batches."""
        if self.domain.person is not None:
            with self._lock:
                if self._bounded is None:
                    self._bounded = self._bound_persons()
            return self._bounded, functools.partial(unpack_records, domain=self.domain)
        packing = Packing(self.domain, attributes, self._sources, positions.Spark())
        named = [f"{sql} AS s{i}" for i, sql in enumerate(packing.selected)]
        return self._frame.selectExpr(*named), packing.encode

    def _columns(self, names: list[str]) -> DataFrame:
        return self._frame.select(*(f"c{self._places[name]}" for name in names))

    def _bound_persons(self) -> DataFrame:
        from pyspark import StorageLevel

        names = list(required_columns(self.domain))
        deal = functools.partial(deal_persons, names=names, domain=self.domain)
        # A stated number of partitions, so that Spark neither splits nor merges them.
        shares = 1 + self._run(self._frame.count) // PERSON_ROWS
        dealt = self._map(self._columns(names), deal, PERSONS).repartition(shares, "person")
        bound = functools.partial(bound_partition, domain=self.domain)
        copy = self._map(dealt, bound, RECORDS)
        self._run(lambda: copy.persist(StorageLevel.MEMORY_AND_DISK))  # when a pass comes to it
        weakref.finalize(self, _let_go, copy).atexit = False
        return copy

    def _run(self, job: Callable[[], T]) -> T:
        """Run a Spark job. Its errors may quote a cell, so they are not shown."""
        if self._differs:
            raise SourceError(f"the Spark table cannot be read: {OTHER_TYPES}")
        self._check_pins()
        done = []
        with contextlib.suppress(Exception):  # a fault of the cluster, the plan or a file
            done.append(job())
        self._check_pins()
        if not done:
            raise SourceError(
                "a Spark job failed part-way; Spark's own log says why, and may quote records"
            )
        return done[0]

    # -- pins ----------------------------------------------------------------------------------

    def _look(self) -> list[tuple[Any, ...]]:
        if all(urlsplit(f).scheme == "file" for f in self._files) and not _is_remote(self._session):
            return [_stat(f) for f in self._files]
        return _list_remote(self._session, self._files)

    def _check_pins(self) -> None:
        if self._look() != self._pins:
            raise SourceError(
                "a file behind the Spark table changed while it was being read; open the table "
                "again: a new reading is a new fit and a new charge"
            )


def open_url(
    url: str, domain: Domain, threads: int | None = None, types: Mapping[str, str] | None = None
) -> SparkEngine:
    """A table of the active Spark session, or of one started with Spark's own settings."""
    kind, place = url.removeprefix("spark+").split(":", 1)
    session = _start()
    try:
        frame = getattr(session.read, kind)(place)
        frame.schema  # noqa: B018 - over Spark Connect, only this looks
    except Exception:  # noqa: BLE001 - whatever it is called, there is no such table
        raise SourceError(f"Spark finds no {kind} table at {place}") from None
    return SparkEngine(frame, domain, threads, types)


def _start() -> SparkSession:
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise ImportError(NEEDS_SPARK) from None
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    try:
        return SparkSession.builder.getOrCreate()
    except Exception:  # noqa: BLE001 - no Java, no cluster, settings that contradict each other
        raise SourceError(
            "Spark does not start; install Java 17 or later, and check that the cluster answers"
        ) from None


def is_frame(source: object) -> bool:
    """Whether `table` is a Spark DataFrame; does not import Spark."""
    names = [(kind.__module__, kind.__name__) for kind in type(source).__mro__]
    return any(m.startswith("pyspark.sql") and n == "DataFrame" for m, n in names)


# -- in the workers ----------------------------------------------------------------------------


def count_partition(
    batches: Batches, kernel: Kernel, records: Callable[..., Batch], ways: int
) -> Batches:
    """Map: the sums over one partition, in slices; slices of zeros are left out."""
    from pyspark import TaskContext

    out = np.zeros(kernel.shape, dtype=np.int64)
    for rows in _gathered(batches):
        add_batch(kernel, records(rows), out)
    task = TaskContext.get()
    way = task.partitionId() % ways if task is not None else 0
    flat = out.reshape(-1)
    for place in range(-(-len(flat) // SLICE_CELLS)):
        part = flat[place * SLICE_CELLS :][:SLICE_CELLS]
        if part.any():
            yield _batch(
                slice=pa.array([place], pa.int32()),
                way=pa.array([way], pa.int32()),
                sums=pa.array([part.astype("<i8").tobytes()], pa.binary()),
            )


def add_slices(batches: Batches) -> Batches:
    """Reduce: the sum of all slices with the same place."""
    sums: dict[int, NDArray[np.int64]] = {}
    for batch in batches:
        for place, part in _slices_in(batch):
            sums[place] = part + sums.get(place, 0)
    for place, part in sums.items():
        yield _batch(
            slice=pa.array([place], pa.int32()),
            sums=pa.array([part.astype("<i8").tobytes()], pa.binary()),
        )


def deal_persons(batches: Batches, names: list[str], domain: Domain) -> Batches:
    """Encoded records with the digests of their persons, bounded as far as one batch can tell."""
    for rows in _gathered(batches):
        batch, digests = encode_with_persons(columns_of(rows.rename_columns(names))[0], domain)
        kept = kept_records(batch, digests, domain)
        yield _batch(
            person=_cells(digests[kept].astype("<u8").view(np.uint8)),
            record=_cells(_packed(Batch(batch.codes[kept], batch.labels[kept]))),
        )


def bound_partition(batches: Batches, domain: Domain) -> Batches:
    """At most m records of each person, packed side by side; every person is in one partition."""
    arrived = list(batches)
    if not arrived:
        return
    rows = pa.Table.from_batches(arrived)
    persons = np.concatenate([_bytes(c) for c in rows.column("person").chunks])
    batch = unpack_records(rows.select(["record"]), domain)
    kept = kept_records(batch, persons.view("<u8").reshape(-1, 4), domain)
    packed = _packed(Batch(batch.codes[kept], batch.labels[kept]))
    step = max(1, _BLOCK_BYTES // packed.shape[1])
    for start in range(0, len(packed), step):
        block = packed[start : start + step].tobytes()
        yield _batch(records=pa.array([block], pa.binary()))


def unpack_records(rows: pa.Table, domain: Domain) -> Batch:
    """Records as `_packed` wrote them, one or many to a cell of the only column."""
    width = len(domain.attributes) * domain.code_type.itemsize
    chunks = [_bytes(chunk) for chunk in rows.column(0).chunks]
    flat = np.concatenate(chunks) if chunks else np.empty(0, dtype=np.uint8)
    packed = flat.reshape(-1, width + domain.label_type.itemsize)
    codes = np.ascontiguousarray(packed[:, :width]).view(domain.code_type.newbyteorder("<"))
    labels = np.ascontiguousarray(packed[:, width:]).view(domain.label_type.newbyteorder("<"))
    return Batch(codes, labels[:, 0])


def _packed(batch: Batch) -> NDArray[np.uint8]:
    """Each record as bytes: its codes, then its label."""
    codes = np.ascontiguousarray(batch.codes, dtype=batch.codes.dtype.newbyteorder("<"))
    labels = np.ascontiguousarray(batch.labels, dtype=batch.labels.dtype.newbyteorder("<"))
    width = codes.shape[1] * codes.itemsize
    return np.hstack(
        [
            codes.view(np.uint8).reshape(-1, width),
            labels.view(np.uint8).reshape(-1, labels.itemsize),
        ]
    )


def _gathered(batches: Batches) -> Iterator[pa.Table]:
    """Join batches into larger ones, since each batch has a fixed cost."""
    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(b.num_rows for b in waiting) >= _GATHERED_ROWS:
            yield pa.Table.from_batches(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting).combine_chunks()


def _slices_in(batch: pa.RecordBatch) -> Iterator[tuple[int, NDArray[np.int64]]]:
    places = batch.column("slice").to_pylist()
    for place, sums in zip(places, batch.column("sums"), strict=True):
        yield place, np.frombuffer(sums.as_buffer(), dtype="<i8")


def _batch(**columns: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))


def _cells(rows: NDArray[np.uint8]) -> pa.Array:
    """One binary cell a row."""
    cells = pa.FixedSizeBinaryArray.from_buffers(
        pa.binary(rows.shape[1]), len(rows), [None, pa.py_buffer(np.ascontiguousarray(rows))]
    )
    return cells.cast(pa.binary())


def _bytes(cells: pa.Array) -> NDArray[np.uint8]:
    """All cells of a binary array, one after the other."""
    cells = cells.cast(pa.large_binary())
    _, offsets, values = cells.buffers()
    ends = np.frombuffer(offsets, dtype=np.int64)[cells.offset : cells.offset + len(cells) + 1]
    if len(cells) == 0 or values is None:
        return np.empty(0, dtype=np.uint8)
    return np.frombuffer(values, dtype=np.uint8)[ends[0] : ends[-1]]


# -- when opening -------------------------------------------------------------------------------


def _check_columns(frame: DataFrame, domain: Domain, check_types: bool) -> dict[str, int]:
    """Where each declared column is; names and types only, no record."""
    from pyspark.sql import types as t

    if frame.isStreaming:
        raise DataError("a streaming table never ends; save it to a table and open that")
    readable = (
        t.StringType, t.CharType, t.VarcharType, t.BinaryType, t.BooleanType, t.ByteType,
        t.ShortType, t.IntegerType, t.LongType, t.FloatType, t.DoubleType, t.DecimalType,
        t.NullType, t.DateType, t.TimestampType, t.TimestampNTZType,
    )  # fmt: skip
    fields = frame.schema.fields
    places = {}
    for name in required_columns(domain):
        found = [i for i, field in enumerate(fields) if field.name == name]
        if len(found) != 1:
            has = f"{len(found)} columns" if found else "no column"
            raise DataError(f"the Spark table has {has} {name!r}, which the domain declares")
        if check_types and not isinstance(fields[found[0]].dataType, readable):
            raise DataError(unreadable(name, fields[found[0]].dataType.simpleString()))
        places[name] = found[0]
    return places


def _is_text(field: Any) -> bool:
    """Whether Spark compares the column's cells by their bytes: no collation, and no char(n)."""
    return field.dataType.simpleString() == "string" and not field.metadata


_checked: weakref.WeakSet[SparkSession] = weakref.WeakSet()


def _check_workers(session: SparkSession) -> None:
    """Check once a session, before anything is charged, that workers have this frith."""
    if session in _checked:
        return
    if not _is_remote(session) and "PYSPARK_PYTHON" not in os.environ:
        context = session.sparkContext
        if str(context.master).startswith("local") and context.pythonExec == "python3":
            context.pythonExec = sys.executable  # workers of this machine, in this environment
    try:
        probe = session.range(0, 1, 1, 1).mapInArrow(_installed, "version string").toArrow()
        versions = probe.column(0).to_pylist()
    except Exception:  # noqa: BLE001 - no Python there, or no frith for it
        versions = []
    if versions != [_version()]:
        raise SourceError(
            f"Spark's workers cannot run frith {_version()}; install it there and let "
            "PYSPARK_PYTHON name that Python, of this version, before the session starts"
        )
    _checked.add(session)


def _installed(batches: Batches) -> Batches:
    for _ in batches:
        yield _batch(version=pa.array([_version()]))


def _version() -> str:
    return f"{__version__} (Python {sys.version_info[0]}.{sys.version_info[1]})"


def _is_remote(session: SparkSession) -> bool:
    """Whether it is Spark Connect: a client without a Java process of its own."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _input_files(frame: DataFrame) -> list[str]:
    try:
        return sorted(set(frame.inputFiles()))
    except Exception:  # noqa: BLE001 - whatever is wrong with the plan
        raise SourceError(
            "Spark cannot plan a reading of the table; Spark's log says why"
        ) from None


def _stat(uri: str) -> tuple[Any, ...]:
    try:
        stat = Path(unquote(urlsplit(uri).path)).stat()
    except OSError:
        return _GONE
    return stat.st_size, stat.st_mtime_ns, stat.st_ino


def _list_remote(session: SparkSession, files: list[str]) -> list[tuple[Any, ...]]:
    """Sizes and times as Spark sees them; reads no file's content."""
    if not files:
        return []
    reader = session.read.format("binaryFile").option("recursiveFileLookup", "true")
    try:
        paths = [re.sub(r"([\\*?\[\]{}])", r"\\\1", unquote(f)) for f in files]  # no patterns
        listed = reader.load(paths).select("path", "length", "modificationTime").collect()
    except Exception:  # noqa: BLE001 - a file is gone, or its store out of reach
        return [_GONE]
    return sorted(tuple(row) for row in listed)


def _let_go(copy: DataFrame) -> None:
    with contextlib.suppress(Exception):  # the session may have ended before
        copy.unpersist()
