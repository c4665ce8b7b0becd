"""Records in files: Parquet, CSV or Feather, streamed through pyarrow.dataset in bounded memory."""

from __future__ import annotations

import functools
import glob
import io
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds

from frith.domain import Categorical, Domain
from frith.encoding import Batch, columns_of, encode_records, readable, unreadable
from frith.engines.base import Engine, Task
from frith.engines.memory import required_columns
from frith.engines.persons import bound_records, encode_with_persons
from frith.errors import DataError, SourceError

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".feather": "feather",
    ".arrow": "feather",
}
_ROWS = 131_072
_CSV_BLOCK = 2**24  # Arrow reads CSV in blocks of so many bytes, and no row may be longer than one
_BUCKET_BYTES = 2**26  # of source file for each bucket of persons


class FileEngine(Engine):
    """A file, a folder of files, or a pattern such as `part-*.parquet`; all of one format.

    The list of files, their sizes and times are pinned when the engine is opened; a pass that
    finds anything changed fails. CSV cells are read as text and never guessed at: an empty one is
    missing, a row with a wrong number of cells is not counted.
    """

    def __init__(
        self, path: str | Path, domain: Domain, threads: int | None = None, rows: int = _ROWS
    ):
        super().__init__(domain, threads)
        self._rows = rows
        self._files = _list_files(path)
        self._pins = self._look()
        self._parts = [_open_part(f, _format_of(self._files), domain) for f in self._files]
        self._bounded: _BoundedCopy | None = None
        if _format_of(self._files) == "csv":
            most = f"{_CSV_BLOCK // 2**20} MB"
            self.assumptions = (f"the CSV file's quotes are balanced and its rows under {most}",)

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        if self.domain.person is not None:
            if self._bounded is None:
                self._bounded = self._bound_persons()
            yield from self._bounded.tasks(self._rows)
            return
        names = [self.domain.names[a] for a in attributes]
        for batch in self._scan([*names, self.domain.label.name]):
            yield functools.partial(_encode, batch, self.domain, attributes)

    def _scan(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """One pass over the raw records. Reader errors may quote a cell, so they are not shown."""
        self._check_pins()
        try:
            for part in self._parts:
                yield from part.to_batches(
                    columns=columns, batch_size=self._rows, batch_readahead=4, fragment_readahead=1
                )
        except (pa.ArrowException, OSError):
            raise SourceError(
                f"reading {_named(self._files)} failed part-way; check that every file is whole"
            ) from None
        self._check_pins()

    def _bound_persons(self) -> _BoundedCopy:
        """Deal records to buckets by person, then bound each bucket: one bucket is in memory."""
        n_buckets = 1 + sum(size for size, _, _ in self._pins) // _BUCKET_BYTES
        copy = _BoundedCopy(self.domain, n_buckets)
        for raw in self._scan(list(required_columns(self.domain))):
            copy.deal(*encode_with_persons(columns_of(raw)[0], self.domain))
        copy.bound()
        return copy

    def _look(self) -> list[tuple[int, int, int]]:
        try:
            stats = [Path(f).stat() for f in self._files]
        except OSError:
            raise SourceError(f"{_named(self._files)} can no longer be read") from None
        return [(s.st_size, s.st_mtime_ns, s.st_ino) for s in stats]

    def _check_pins(self) -> None:
        if self._look() != self._pins:
            raise SourceError(
                f"{_named(self._files)} changed while it was being read; open it again: a new "
                "reading is a new fit and a new charge"
            )


class _BoundedCopy:
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


def _list_files(path: str | Path) -> list[str]:
    """Absolute, so that no name is taken for a URI and a change of folder changes nothing."""
    try:
        exists = Path(path).exists()
        named = [Path(path)] if exists else map(Path, glob.glob(str(path), recursive=True))
        found = sorted({str(f.absolute()) for place in named for f in _files_at(place)})
    except (OSError, ValueError):  # not even a name that a file could have
        found = []
    if not found:
        raise SourceError(f"there is no Parquet, CSV or Feather file at {path}")
    return found


def _files_at(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place]
    return [f for f in place.rglob("*") if f.suffix.lower() in FORMATS and f.is_file()]


def _format_of(files: Sequence[str]) -> str:
    formats = {FORMATS.get(Path(f).suffix.lower(), f"{Path(f).suffix!r} files") for f in files}
    if len(formats) > 1 or not formats <= set(FORMATS.values()):
        raise SourceError(
            f"{_named(files)}: expected files of one format, Parquet (.parquet), CSV (.csv) or "
            f"Feather (.feather, .arrow), and found {', '.join(sorted(formats))}"
        )
    return formats.pop()


def _open_part(file: str, kind: str, domain: Domain) -> ds.Dataset:
    """One file, its names, types and footer checked before anything is asked or charged.

    Each file keeps its own types: one may hold text where another holds numbers.
    """
    try:
        empty = _header_alone(file) if kind == "csv" else None
        part = ds.dataset(file, format=_file_format(kind, domain)) if empty is None else empty
    except (pa.ArrowException, OSError):
        raise SourceError(
            f"{file} is not a readable {kind} file; it may be cut off, or name a column twice"
        ) from None
    for name in required_columns(domain):
        places = part.schema.get_all_field_indices(name)  # by bytes: other names may be no text
        if len(places) != 1:
            has = f"{len(places)} columns" if places else "no column"
            raise DataError(f"{file} has {has} {name!r}, which the domain declares")
        if not readable(part.schema.field(name).type):
            raise DataError(unreadable(name, part.schema.field(name).type))
    return part


def _header_alone(file: str) -> ds.Dataset | None:
    """The empty table of a CSV file that ends within its first line, which Arrow does not open.

    It is what some programs write when there are no records left.
    """
    with open(file, "rb") as opened:
        line = opened.readline(_CSV_BLOCK)
    if not line or b"\n" in line or b"\r" in line or len(line) == _CSV_BLOCK:
        return None
    return ds.dataset(pyarrow.csv.read_csv(io.BytesIO(line + b"\n")))


def _file_format(kind: str, domain: Domain) -> Any:
    names = required_columns(domain)
    if kind == "parquet":
        texts = [a.name for a in (*domain.attributes, domain.label) if isinstance(a, Categorical)]
        return ds.ParquetFileFormat(dictionary_columns=texts)
    if kind == "csv":
        return ds.CsvFileFormat(
            parse_options=pyarrow.csv.ParseOptions(
                newlines_in_values=True, invalid_row_handler=lambda row: "skip"
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.binary() for name in names},
                null_values=[""],
                strings_can_be_null=True,
            ),
            read_options=pyarrow.csv.ReadOptions(block_size=_CSV_BLOCK),
        )
    return ds.IpcFileFormat()


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more files"
