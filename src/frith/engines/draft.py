"""A domain drafted from the records of files: for a curator to review, never for release."""

from __future__ import annotations

import codecs
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import tomli_w

from frith.domain.draft import Draft, draft_domain
from frith.domain.encoding import is_readable
from frith.engines.csv import csv_names, header_hint, read_csv
from frith.engines.files import list_files
from frith.errors import DataError

REVIEW = (
    "Drafted from the records: its values and bounds are exact facts about people.",
    "Review every one, replace what is not public knowledge, then remove `learned = true`.",
)


def draft_of_files(
    path: str | Path, label: str, person: str | None = None, leave_out: Iterable[str] = ()
) -> Draft:
    """A first draft, marked as learned from the records; the caller must show `REVIEW`."""
    table = read_table(path)
    hint = header_hint(table.column_names)
    if hint and label not in table.column_names:
        raise DataError(f"{path} has no label column {label!r}{hint}")
    return draft_domain(table, label, person, leave_out)


def draft_text(draft: Draft) -> str:
    """TOML that carries its own warning, what was left out and why, and what to decide."""
    data = draft.domain.to_json()
    attributes = data.pop("attributes")
    lines = [*REVIEW, *(f"Left out: {name!r}, {why}." for name, why in draft.left_out.items())]
    parts = [_comments(lines), tomli_w.dumps(data, multiline_strings=False)]
    for attribute in attributes:
        hints = _comments(draft.hints.get(attribute["name"], ()))
        fields = tomli_w.dumps(attribute, multiline_strings=False)
        parts.append(f"[[attributes]]\n{hints}{fields}")
    return "\n".join(parts)


def _comments(lines: Iterable[str]) -> str:
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)


def read_table(path: str | Path) -> pa.Table:
    """A whole table, with the types that its files declare or its CSV cells suggest."""
    files, kind = list_files(path)
    if kind == "csv":
        return pa.concat_tables([_read_csv(f) for f in files], promote_options="permissive")
    return ds.dataset(files, format=kind).to_table()


def _read_csv(file: str) -> pa.Table:
    """A CSV file with guessed types; what looks like a date stays the text that training sees.

    Rows with a wrong number of cells are skipped, as in training.
    """
    if not header_hint(csv_names(file)):
        _check_utf8(file)
    table = read_csv(file, {})
    dates = {field.name: pa.string() for field in table.schema if not is_readable(field.type)}
    if dates:
        table = read_csv(file, dates)
    return pa.table([_empty_is_missing(c) for c in table.columns], names=table.column_names)


def _check_utf8(file: str) -> None:
    """Training reads a byte that is not UTF-8 as the text \\xNN, which nobody wants to declare."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    with open(file, "rb") as opened:
        try:
            while block := opened.read(2**20):
                decoder.decode(block)
        except UnicodeDecodeError:
            raise DataError(
                f"{file} is not UTF-8; save it so, or if it is Latin-1: iconv -f latin1 -t utf-8"
            ) from None


def _empty_is_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
