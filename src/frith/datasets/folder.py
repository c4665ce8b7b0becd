"""Tables from a folder of NAME.parquet files, each beside a NAME.json that states its domain."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow.parquet as pq

from frith.domain import Attribute, Categorical, Domain, Numeric
from frith.drafting import MISSING


def places() -> list[Path]:
    """The folder of FRITH_DATA alone where it is set; else the one beside a source checkout."""
    if chosen := os.environ.get("FRITH_DATA"):
        return [Path(chosen)]
    return [Path(__file__).resolve().parents[4] / "shared" / "data"]


def names() -> list[str]:
    """The classification tables of the folder."""
    found = [p for place in places() if place.is_dir() for p in place.glob("*.parquet")]
    return sorted(p.stem for p in found if _describes_classes(p.with_suffix(".json")))


def find(name: str) -> Path | None:
    paths = (place / f"{name}.parquet" for place in places())
    return next((p for p in paths if p.is_file() and p.with_suffix(".json").is_file()), None)


def read(path: Path) -> tuple[pd.DataFrame, Domain]:
    facts = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    if facts.get("task", "classification") != "classification":
        raise ValueError(f"{path.stem!r} is a {facts['task']} table; frith classifies")
    label = Categorical(facts["label"], tuple(facts["classes"]))
    attributes = tuple(_attribute(column) for column in facts["columns"])
    table = pq.read_table(path).to_pandas()
    return table, Domain(attributes, label, records=facts["rows"])


def _attribute(column: dict[str, Any]) -> Attribute:
    has_missing = bool(column.get("missing"))
    if column["kind"] == "numeric":
        return Numeric(column["name"], column["min"], column["max"], missing=has_missing)
    values = tuple(column["values"])
    if has_missing:
        return Categorical(column["name"], (*values, MISSING), missing=MISSING)
    return Categorical(column["name"], values)


def _describes_classes(path: Path) -> bool:
    if not path.is_file():
        return False
    return "classes" in json.loads(path.read_text(encoding="utf-8"))
