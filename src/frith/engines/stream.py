"""What engines share that read a table batch by batch and keep no more than a copy bounded per person."""

from __future__ import annotations

import functools
import tempfile
import weakref
from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from frith.domain import Domain
from frith.domain.columns import columns_of
from frith.domain.encoding import Batch, encode_records
from frith.engines.base import LocalEngine, Task
from frith.engines.memory import required_columns
from frith.engines.persons import bound_records, encode_with_persons

BATCH_ROWS = 131_072
BUCKET_BYTES = 2**26  # bytes of raw records for each bucket of persons


class StreamEngine(LocalEngine):
    """Records streamed as Arrow batches: each pass encodes what it needs and discards it.

    If the domain names a person, the first pass writes an encoded copy, bounded per person, to
    private temporary files, and every question reads that copy.
    """

    def __init__(self, domain: Domain, threads: int | None = None, rows: int = BATCH_ROWS):
        super().__init__(domain, threads)
        self._rows = rows
        self._bounded: BoundedCopy | None = None

    @abstractmethod
    def scan(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """One pass over the raw records of the pinned source. No error quotes a cell."""

    @abstractmethod
    def raw_bytes(self) -> int:
        """Roughly how much a pass reads, to size the buckets of persons."""

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        if self.domain.person is not None:
            if self._bounded is None:
                self._bounded = self._bound_persons()
            yield from self._bounded.tasks(self._rows)
            return
        names = [self.domain.names[a] for a in attributes]
        for batch in self.scan([*names, self.domain.label.name]):
            yield functools.partial(_encode, batch, self.domain, attributes)

    def _bound_persons(self) -> BoundedCopy:
        """Deal records into buckets by person, then bound each bucket; one at a time is in memory."""
        copy = BoundedCopy(self.domain, 1 + self.raw_bytes() // BUCKET_BYTES)
        for raw in self.scan(list(required_columns(self.domain))):
            copy.deal(*encode_with_persons(columns_of(raw)[0], self.domain))
        copy.bound()
        return copy


class BoundedCopy:
    """Encoded records of bounded persons, in private temporary files of one bucket each."""

    def __init__(self, domain: Domain, n_buckets: int):
        self.domain = domain
        folder = tempfile.TemporaryDirectory(prefix="frith-")
        self._clean_up = weakref.finalize(self, folder.cleanup)
        self._paths = [Path(folder.name) / str(i) for i in range(n_buckets)]

    def deal(self, batch: Batch, digests: np.ndarray[Any, Any]) -> None:
        bucket = digests[:, 0] % np.uint64(len(self._paths))
        for i in np.unique(bucket):
            rows = bucket == i
            for part, values in (
                ("codes", batch.codes),
                ("labels", batch.labels),
                ("persons", digests),
            ):
                with self._file(int(i), part).open("ab") as file:
                    file.write(np.ascontiguousarray(values[rows]).tobytes())

    def bound(self) -> None:
        for i in range(len(self._paths)):
            digests = self._read(i, "persons", np.dtype("u8")).reshape(-1, 4)
            kept = bound_records(self._batch(i), digests, self.domain)
            self._file(i, "persons").unlink(missing_ok=True)
            kept.codes.tofile(self._file(i, "codes"))
            kept.labels.tofile(self._file(i, "labels"))

    def tasks(self, rows: int) -> Iterator[Task]:
        for i in range(len(self._paths)):
            whole = self._batch(i)
            for start in range(0, len(whole), rows):
                part = slice(start, start + rows)
                yield functools.partial(Batch, whole.codes[part], whole.labels[part])

    def _batch(self, i: int) -> Batch:
        codes = self._read(i, "codes", self.domain.code_type)
        labels = self._read(i, "labels", self.domain.label_type)
        return Batch(codes.reshape(-1, len(self.domain.attributes)), labels)

    def _read(self, i: int, part: str, kind: np.dtype[Any]) -> np.ndarray[Any, Any]:
        path = self._file(i, part)
        return np.fromfile(path, dtype=kind) if path.exists() else np.empty(0, dtype=kind)

    def _file(self, i: int, part: str) -> Path:
        return self._paths[i].with_suffix(f".{part}")


def _encode(batch: pa.RecordBatch, domain: Domain, attributes: tuple[int, ...]) -> Batch:
    return encode_records(columns_of(batch)[0], domain, attributes)[0]
