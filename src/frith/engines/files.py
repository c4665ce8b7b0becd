"""Records in files: Parquet, CSV or Feather, streamed through pyarrow.dataset in bounded memory."""

from __future__ import annotations

import codecs
import functools
import glob
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from frith.domain import Categorical, Domain
from frith.encoding import readable, unreadable
from frith.engines.memory import required_columns
from frith.engines.stream import BATCH_ROWS, StreamEngine
from frith.errors import DataError, SourceError

FORMATS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".csv": "csv",
    ".feather": "feather",
    ".arrow": "feather",
}
CSV_ENCODING = "frith_utf8"
"""UTF-8 in which a byte that is none reads as the text \\xNN.

Arrow decodes a row with a wrong number of cells before it asks whether to skip it, and stops the
pass where the row is no UTF-8.
"""
_CSV_BLOCK = 2**24  # Arrow reads CSV in blocks of so many bytes, and no row may be longer than one


class FileEngine(StreamEngine):
    """A file, a folder of files, or a pattern such as `part-*.parquet`; all of one format.

    The list of files, their sizes and times are pinned when the engine is opened; a pass that
    finds anything changed fails. CSV cells are read as text and never guessed at: an empty one is
    missing, a row with a wrong number of cells is not counted.
    """

    def __init__(
        self, path: str | Path, domain: Domain, threads: int | None = None, rows: int = BATCH_ROWS
    ):
        super().__init__(domain, threads, rows)
        self._files = _list_files(path)
        self._pins = self._look()
        self._parts = [_open_part(f, _format_of(self._files), domain) for f in self._files]
        if _format_of(self._files) == "csv":
            most = f"{_CSV_BLOCK // 2**20} MB"
            self.assumptions = (f"the CSV file's quotes are balanced and its rows under {most}",)

    def scan(self, columns: list[str]) -> Iterator[pa.RecordBatch]:
        """One pass over the raw records. Reader errors may quote a cell, so they are not shown."""
        self._check_pins()
        try:
            for file, part in zip(self._files, self._parts, strict=True):
                yield from self._batches(file, part, columns)
        except (pa.ArrowException, OSError):
            raise SourceError(
                f"reading {_named(self._files)} failed part-way; check that every file is whole"
            ) from None
        self._check_pins()

    def _batches(self, file: str, part: ds.Dataset, columns: list[str]) -> Iterator[pa.RecordBatch]:
        if _format_of(self._files) != "parquet":
            yield from part.to_batches(
                columns=columns, batch_size=self._rows, batch_readahead=4, fragment_readahead=1
            )
            return
        # a dataset would decode whole row groups, and several of them ahead
        with pq.ParquetFile(file, read_dictionary=_categorical_names(self.domain)) as opened:
            yield from opened.iter_batches(batch_size=self._rows, columns=columns)

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


def _categorical_names(domain: Domain) -> list[str]:
    """What Parquet reads as a dictionary of few values, if it is text."""
    return [a.name for a in (*domain.attributes, domain.label) if isinstance(a, Categorical)]


def _file_format(kind: str, domain: Domain) -> Any:
    names = required_columns(domain)
    if kind == "parquet":
        return ds.ParquetFileFormat(dictionary_columns=_categorical_names(domain))
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
            read_options=pyarrow.csv.ReadOptions(block_size=_CSV_BLOCK, encoding=CSV_ENCODING),
        )
    return ds.IpcFileFormat()


def _find_codec(name: str) -> codecs.CodecInfo | None:
    if name != CSV_ENCODING:
        return None
    utf8 = codecs.lookup("utf-8")
    lenient = functools.partial(utf8.incrementaldecoder, errors="backslashreplace")
    return codecs.CodecInfo(
        utf8.encode, utf8.decode, None, None, utf8.incrementalencoder, lenient, name
    )


codecs.register(_find_codec)


def _named(files: Sequence[str]) -> str:
    return files[0] if len(files) == 1 else f"{files[0]} and {len(files) - 1} more files"
