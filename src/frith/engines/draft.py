"""A domain drafted from the records of files: for a curator to review, never for release."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from frith.domain import Domain
from frith.domain.draft import draft_domain
from frith.domain.encoding import is_readable
from frith.engines.csv import read_csv
from frith.engines.files import list_files
from frith.errors import DataError

REVIEW = (
    "Drafted from the records: its values and bounds are exact facts about people.",
    "Review every one, replace what is not public knowledge, then remove `learned = true`.",
)


def draft_of_files(path: str | Path, label: str, person: str | None = None) -> Domain:
    """A first draft, marked as learned from the records; the caller must show `REVIEW`."""
    table = read_table(path)
    for role, name in (("label", label), ("person", person)):
        if name is not None and name not in table.column_names:
            has = ", ".join(table.column_names)
            raise DataError(f"{path} has no {role} column {name!r}; it has {has}")
    return draft_domain(table, label, person)


def draft_text(domain: Domain) -> str:
    """TOML that carries its own warning."""
    return "".join(f"# {line}\n" for line in REVIEW) + "\n" + domain.to_toml()


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
    table = read_csv(file, {})
    dates = {field.name: pa.string() for field in table.schema if not is_readable(field.type)}
    if dates:
        table = read_csv(file, dates)
    return pa.table([_empty_is_missing(c) for c in table.columns], names=table.column_names)


def _empty_is_missing(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if not pa.types.is_string(column.type):
        return column
    return pc.if_else(pc.equal(column, ""), pa.scalar(None, pa.string()), column)
