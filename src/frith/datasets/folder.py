"""Tables from a folder of NAME.parquet files, each beside a NAME.json that states its domain."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from frith._documents import read_file
from frith.domain import Attribute, Categorical, Domain, Numeric
from frith.domain.draft import MISSING


def places() -> list[Path]:
    """The folder that FRITH_DATA names, if set; otherwise the one beside a source checkout."""
    if chosen := os.environ.get("FRITH_DATA"):
        return [Path(chosen)]
    return [Path(__file__).resolve().parents[4] / "shared" / "data"]


def names(entry: str = "classes") -> list[str]:
    """The folder's tables whose description has an entry: classes, or a numeric target."""
    found = [p for place in places() if place.is_dir() for p in place.glob("*.parquet")]
    return sorted(p.stem for p in found if _describes(p.with_suffix(".json"), entry))


def find(name: str) -> Path | None:
    paths = (place / f"{name}.parquet" for place in places())
    return next((p for p in paths if p.is_file() and p.with_suffix(".json").is_file()), None)


def read(path: Path) -> tuple[pd.DataFrame, Domain]:
    facts = _facts(path.with_suffix(".json"))
    try:
        label = _label(facts)
        attributes = tuple(_attribute(column) for column in facts["columns"])
        domain = Domain(attributes, label, records=facts["rows"])
    except KeyError as error:
        raise ValueError(f"{path.with_suffix('.json')} has no entry {error}") from None
    table = pq.read_table(path).to_pandas()
    for name in (*domain.names, label.name):
        if name not in table.columns:
            raise ValueError(f"{path} has no column {name!r}, which {path.stem}.json declares")
    return table, domain


def _attribute(column: dict[str, Any]) -> Attribute:
    has_missing = bool(column.get("missing"))
    if column["kind"] == "numeric":
        return Numeric(column["name"], column["min"], column["max"], missing=has_missing)
    values = [v for v in column["values"] if not has_missing or v != MISSING]
    if has_missing:
        return Categorical(column["name"], (*values, MISSING), missing=MISSING)
    return Categorical(column["name"], tuple(values))


def _label(facts: dict[str, Any]) -> Attribute:
    if facts.get("task", "classification") == "classification":
        return Categorical(facts["label"], tuple(facts["classes"]))
    target = facts["target"]
    return Numeric(facts["label"], target["min"], target["max"])


def _describes(path: Path, entry: str) -> bool:
    try:
        return entry in _facts(path)
    except (OSError, ValueError):
        return False


def _facts(path: Path) -> dict[str, Any]:
    facts = read_file(path)
    if not isinstance(facts, dict):
        raise ValueError(f"{path} does not describe a table")
    return facts
