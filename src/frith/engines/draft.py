"""A domain drafted from records or files of them: for a curator to review, never for release."""

from __future__ import annotations

import codecs
import re
import warnings
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from frith.domain import Csv, Domain
from frith.domain.columns import is_readable
from frith.domain.domain import DELIMITERS
from frith.domain.draft import draft_table
from frith.domain.drafted import Draft
from frith.engines.csv import Dialect, bare_name, open_bytes, read_csv
from frith.engines.files import BROKEN, list_files
from frith.engines.jsonl import read_json
from frith.engines.urls import is_url
from frith.errors import DataError, PrivacyLeakWarning, SourceError


def draft_domain(
    table: Any, label: str, person: str | None = None, leave_out: Iterable[str] = ()
) -> Draft:
    """A first domain for a table, with what its curator must decide: `domain`, `left_out` and `hints`.

    Text and booleans become categorical; numbers and dates get rounded bounds. Columns that look like
    identifiers or that a domain cannot describe are left out, with the reason. The draft finds and
    declares how CSV files are written. It holds facts about the records and is private until you have
    reviewed it: `print` it, or `save` it, review the file and load that. A notebook shows it as a table.

    Parameters
    ----------
    table : DataFrame, Arrow table or path
        The records, or a Parquet, CSV, JSON lines or Feather file, folder or pattern.
    label : str
        The column to predict.
    person : str or None, default=None
        The column that names the protected person.
    leave_out : iterable of str, default=()
        Columns to leave out.
    """
    if not isinstance(table, str | Path):
        return draft_table(table, label, person, leave_out)
    if is_url(str(table)):
        raise SourceError(
            "a database cannot be drafted from; read records of it into a DataFrame and draft from that, "
            "or write the domain"
        )
    records, csv = read_table(table)
    draft = draft_table(records, label, person, leave_out)
    return replace(draft, domain=replace(draft.domain, csv=csv))


def learn_domain(
    table: Any, label: str, *, person: str | None = None, leave_out: Iterable[str] = ()
) -> Domain:
    """Draft a domain from the records themselves, with a `PrivacyLeakWarning`.

    A draft is for the curator to review: its values and bounds are exact facts about people.
    Clear `learned` once every value is public knowledge. Columns named in `leave_out` are not in
    it, nor are columns that look like identifiers.
    """
    warnings.warn(
        "the domain is learned from the records: its values and bounds are not private; "
        "review it and declare it instead",
        PrivacyLeakWarning,
        stacklevel=2,
    )
    return draft_domain(table, label, person, leave_out).domain


def read_table(path: str | Path) -> tuple[pa.Table, Csv | None]:
    """A whole table, typed as its files declare or its cells suggest, and how its CSV is written."""
    files, kind = list_files(path)
    try:
        if kind == "csv":
            found = [_find_dialect(file) for file in files]
            if len(set(found)) > 1:
                raise DataError(f"{path}: the files are not written alike; rewrite them alike")
            parts = [_read_csv(f, Dialect.of(f, found[0])) for f in files]
            return pa.concat_tables(parts, promote_options="permissive"), found[0]
        if kind == "jsonl":
            parts = [read_json(f) for f in files]
            return pa.concat_tables(parts, promote_options="permissive"), None
        return ds.dataset(files, format=kind).to_table(), None
    except BROKEN:
        raise SourceError(f"{path} cannot be read as {kind}; it may be cut off") from None


def _find_dialect(file: str) -> Csv | None:
    """The delimiter, the encoding and the decimal sign; None if all three are the usual ones."""
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
    """The file's encoding, and its first line without its quoted parts."""
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
    """A CSV file with guessed types; a column that a domain cannot describe stays text, as in training.

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
