"""Records in files: Parquet, CSV, JSON lines or Feather, streamed in bounded memory."""

from __future__ import annotations

import glob
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from frith.domain import Categorical, Domain
from frith.domain.columns import columns_of, is_readable, unreadable
from frith.engines import csv, lines
from frith.engines.base import OTHER_TYPES, Raw, differ
from frith.engines.csv import Dialect
from frith.engines.jsonl import json_batches
from frith.engines.memory import required_columns
from frith.engines.stream import BATCH_ROWS, StreamEngine
from frith.errors import DataError, SourceError

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".feather": "feather",
    ".arrow": "feather",
}
BY_LINES = ("csv", "jsonl")
"""The formats whose records are lines of text, and which may be compressed."""
BROKEN = (pa.ArrowException, OSError, EOFError, zlib.error)
"""What reading a damaged, truncated or missing file may raise."""


class FileEngine(StreamEngine):
    """A file, a folder of files, or a pattern such as `part-*.parquet`, all in one format.

    The list of files, their sizes and times are pinned when the engine is opened; a pass that
    finds anything changed fails. CSV cells are read as text; no type is guessed, and an empty
    cell is missing. Each line of a CSV file is a record, read by itself; a line with a wrong number
    of cells or an unclosed quote is not counted. With `newlines_in_cells` a quoted cell may span
    several lines, and the guarantee assumes that all quotes are balanced. The domain declares the
    delimiter and the encoding; a `.tsv` file has tabs. A `.gz` file is decompressed.

    With `types`, those that an earlier opening found, a column of another type fails the first pass
    and not the opening: whatever wrote the file may have taken its types from the records.
    """

    def __init__(
        self,
        path: str | Path,
        domain: Domain,
        threads: int | None = None,
        rows: int = BATCH_ROWS,
        newlines_in_cells: bool = False,
        types: Mapping[str, str] | None = None,
    ):
        super().__init__(domain, threads, rows)
        self._files, self._kind = list_files(path)
        self._pins = self._look()
        self._newlines = newlines_in_cells
        found = [
            _types(file, self._kind, domain, Dialect.of(file, domain.csv, newlines_in_cells))
            for file in self._files
        ]
        if types is None:
            _check_readable(found)
        self.types = {name: _spelled([kinds[name] for kinds in found]) for name in found[0]}
        self._differs = differ(self.types, types)
        if self._kind == "csv":
            self.assumptions = (_assumption(newlines_in_cells),)
        elif self._kind == "jsonl":
            self.assumptions = ("each line of the JSON lines file is one record",)

    def scan(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """One pass over the raw records. Reader errors may quote a cell, so they are not shown."""
        if self._differs:
            raise SourceError(f"{_named(self._files)} cannot be read: {OTHER_TYPES}")
        self._check_pins()
        try:
            for file in self._files:
                yield from self._batches(file, columns)
        except BROKEN:
            raise SourceError(
                f"reading {_named(self._files)} failed part-way; check that every file is whole"
            ) from None
        self._check_pins()

    def _batches(self, file: str, columns: list[str]) -> Iterator[pa.RecordBatch]:
        if self._kind == "csv":
            dialect = Dialect.of(file, self.domain.csv, self._newlines)
            yield from csv.csv_batches(file, columns, dialect)
        elif self._kind == "jsonl":
            yield from json_batches(file, columns)
        elif self._kind == "feather":
            yield from ds.dataset(file, format="feather").to_batches(
                columns=columns, batch_size=self._rows, batch_readahead=4, fragment_readahead=1
            )
        else:  # a dataset would decode whole row groups, and several of them ahead
            with pq.ParquetFile(file, read_dictionary=_categorical_names(self.domain)) as opened:
                yield from opened.iter_batches(batch_size=self._rows, columns=columns)

    def peek(self) -> Raw | None:
        names = list(required_columns(self.domain))
        return lambda: (columns_of(batch) for batch in self.scan(names))

    def raw_bytes(self) -> int:
        return sum(size for size, _, _ in self._pins)

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


def list_files(path: str | Path) -> tuple[list[str], str]:
    """The files at a path and their one format.

    Names are absolute, so that none is read as a URI and a later chdir changes nothing.
    """
    try:
        exists = Path(path).exists()
        named = [Path(path)] if exists else map(Path, glob.glob(str(path), recursive=True))
        found = sorted({str(f.absolute()) for place in named for f in _files_at(place)})
    except (OSError, ValueError):  # a name that no file can have
        found = []
    if not found:
        raise SourceError(f"there is no Parquet, CSV, JSON lines or Feather file at {path}")
    return found, _format_of(found)


def _files_at(place: Path) -> list[Path]:
    if not place.is_dir():
        return [place] if place.is_file() else []  # a pipe may never be written to
    return [f for f in place.rglob("*") if _format(str(f)) and f.is_file()]


def _format(file: str) -> str | None:
    """The format by a file's name; only text formats may be compressed."""
    kind = FORMATS.get(Path(csv.bare_name(file)).suffix)
    return kind if kind in BY_LINES or not file.lower().endswith(".gz") else None


def _format_of(files: Sequence[str]) -> str:
    formats = {_format(f) or f"{Path(f).suffix!r} files" for f in files}
    if len(formats) > 1 or not formats <= set(FORMATS.values()):
        raise SourceError(
            f"{_named(files)}: expected files of one format, Parquet (.parquet), CSV (.csv, .tsv), JSON "
            "lines (.jsonl), both also as .gz, or Feather (.feather, .arrow), and found "
            f"{', '.join(sorted(formats))}"
        )
    return formats.pop()


def _types(file: str, kind: str, domain: Domain, dialect: Dialect) -> dict[str, pa.DataType]:
    """The types of the declared columns, from the file's footer or header line.

    Each file keeps its own types: one may hold text where another holds numbers. JSON lines have no
    header, so nothing of them is read.
    """
    if kind == "jsonl":
        return {name: pa.binary() for name in required_columns(domain)}
    try:
        schema = _schema(file, kind, dialect)
    except BROKEN:
        raise SourceError(
            f"{file} is not a readable {kind} file; it may be cut off, or name a column twice"
        ) from None
    found = {}
    for name in required_columns(domain):
        places = schema.get_all_field_indices(name)  # by bytes: other names may not be text
        if not places:
            spelled = _spelled_otherwise(name, schema)
            hint = spelled or (csv.header_hint(schema.names) if kind == "csv" else "")
            raise DataError(f"{file} has no column {name!r}, which the domain declares{hint}")
        found[name] = schema.field(places[0]).type
    return found


def _spelled_otherwise(name: str, schema: pa.Schema) -> str:
    """Names are tried, not listed: the first line of a file without a header is a record."""
    for other in (name.strip(), name.lower(), name.upper(), name.capitalize(), name.title()):
        if schema.get_all_field_indices(other):
            return f"; it has {other!r}, and capitals and spaces count"
    return ""


def _check_readable(files: Sequence[Mapping[str, pa.DataType]]) -> None:
    kinds = dict.fromkeys(pair for types in files for pair in types.items())
    problems = [unreadable(name, kind) for name, kind in kinds if not is_readable(kind)]
    if problems:
        raise DataError("; ".join(problems))


def _spelled(kinds: Sequence[pa.DataType]) -> str:
    """The types of one column in all files, apart from how each file numbers the column's values."""
    plain = (k.value_type if pa.types.is_dictionary(k) else k for k in kinds)
    return " or ".join(sorted({str(kind) for kind in plain}))


def _schema(file: str, kind: str, dialect: Dialect) -> pa.Schema:
    """Raise if a name occurs twice, even one that the domain leaves out."""
    if kind == "csv":
        names = csv.csv_names(file, dialect)
        if len(set(names)) < len(names):
            raise pa.ArrowInvalid
        return pa.schema([(name, pa.binary()) for name in names])
    return ds.dataset(file, format=kind).schema


def _assumption(newlines_in_cells: bool) -> str:
    """What the guarantee assumes about records in a CSV file."""
    if newlines_in_cells:
        limit = f"{lines.BLOCK // 2**20} MB"
        return f"the CSV file's quotes are balanced and its rows under {limit}"
    return "each line of the CSV file is one record"


def _categorical_names(domain: Domain) -> list[str]:
    """The columns that Parquet reads as dictionaries of few values if they are text."""
    return [a.name for a in (*domain.attributes, domain.label) if isinstance(a, Categorical)]


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more files"
