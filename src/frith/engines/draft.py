"""A domain drafted from the records of files: for a curator to review, never for release."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import tomli_w

from frith.domain import Csv
from frith.domain.domain import DELIMITERS
from frith.domain.draft import Draft, draft_domain
from frith.domain.encoding import is_readable
from frith.engines.csv import Dialect, bare_name, open_bytes, read_csv
from frith.engines.files import BROKEN, list_files
from frith.engines.jsonl import read_json
from frith.errors import DataError, SourceError

REVIEW = (
    "Drafted from the records: its values and bounds are exact facts about people.",
    "Review every one, replace what is not public knowledge, then remove `learned = true`.",
)

PERSON = (
    "A person protects all its records together and only `records` of them are counted: 1 as drafted. "
    "With more, each gets more noise. Choose by what is known of the table, not by counting."
)


def draft_of_files(
    path: str | Path, label: str, person: str | None = None, leave_out: Iterable[str] = ()
) -> Draft:
    """A first draft, marked as learned from the records; the caller must show `REVIEW`.

    How CSV files are written is found here, and declared in the draft.
    """
    table, csv = read_table(path)
    draft = draft_domain(table, label, person, leave_out)
    return replace(draft, domain=replace(draft.domain, csv=csv))


def draft_text(draft: Draft) -> str:
    """TOML that carries its own warning, what was left out and why, and what to decide."""
    data = draft.domain.to_json()
    attributes = data.pop("attributes")
    lines = [
        *REVIEW,
        *([] if draft.domain.person is None else [PERSON]),
        *(f"Left out: {name!r}, {why}." for name, why in draft.left_out.items()),
    ]
    parts = [_comments(lines), tomli_w.dumps(data, multiline_strings=False)]
    for attribute in attributes:
        hints = _comments(draft.hints.get(attribute["name"], ()))
        fields = tomli_w.dumps(attribute, multiline_strings=False)
        parts.append(f"[[attributes]]\n{hints}{fields}")
    return "\n".join(parts)


def _comments(lines: Iterable[str]) -> str:
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)


def read_table(path: str | Path) -> tuple[pa.Table, Csv | None]:
    """A whole table with the types that its files declare or its cells suggest, and how CSV is written."""
    files, kind = list_files(path)
    try:
        if kind == "csv":
            found = [_find_dialect(file) for file in files]
            if len(set(found)) > 1:
                raise DataError(f"{path}: the files are written in several ways; make them alike")
            parts = [_read_csv(f, Dialect.of(f, found[0])) for f in files]
            return pa.concat_tables(parts, promote_options="permissive"), found[0]
        if kind == "jsonl":
            parts = [read_json(f) for f in files]
            return pa.concat_tables(parts, promote_options="permissive"), None
        return ds.dataset(files, format=kind).to_table(), None
    except BROKEN:
        raise SourceError(f"{path} cannot be read as {kind}; it may be cut off") from None


def _find_dialect(file: str) -> Csv | None:
    """What stands between cells, the encoding and the decimal sign; None where all are usual."""
    encoding, first = _find_encoding(file)
    usual = Csv("\t" if bare_name(file).endswith(".tsv") else ",")
    delimiter = usual.delimiter if usual != Csv() else max(DELIMITERS, key=first.count)
    csv = Csv(delimiter, encoding)
    if delimiter != ",":
        texts = [
            c for c in _read_csv(file, Dialect.of(file, csv)).columns if pa.types.is_string(c.type)
        ]
        if any(map(_has_decimal_commas, texts)):
            csv = replace(csv, decimal=",")
    return None if csv == usual else csv


def _find_encoding(file: str) -> tuple[str, str]:
    """The file's encoding, and its first line without what is in quotes."""
    decoder, first = codecs.getincrementaldecoder("utf-8")(), b""
    with open_bytes(file) as opened:
        try:
            while block := opened.read(2**20):
                first = first or block
                decoder.decode(block)
            decoder.decode(b"", final=True)
            encoding = "utf-8"
        except UnicodeDecodeError:
            encoding = "cp1252"
    if first.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise DataError(f"{file} is UTF-16; save it as UTF-8: iconv -f utf-16 -t utf-8")
    line = first.lstrip(b"\r\n").splitlines()[:1]
    return encoding, re.sub(r'"[^"]*"', "", b"".join(line).decode(encoding, errors="replace"))


def _has_decimal_commas(texts: pa.ChunkedArray) -> bool:
    cells = texts.drop_null()
    numbers = pc.match_substring_regex(cells, r"^[+-]?\d+(,\d+)?$")
    return len(cells) > 0 and bool(pc.all(numbers).as_py())


def _read_csv(file: str, dialect: Dialect) -> pa.Table:
    """A CSV file with guessed types; what a domain cannot describe stays the text that training sees.

    Rows with a wrong number of cells are skipped, as in training.
    """
    table = read_csv(file, dialect, {})
    others = {field.name: pa.string() for field in table.schema if not is_readable(field.type)}
    if others:
        table = read_csv(file, dialect, others)
    return pa.table([_empty_is_missing(c) for c in table.columns], names=table.column_names)


def _empty_is_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
