"""A first draft of a domain, read off the records: for a curator's desk, never for release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from frith.domain import MAX_VALUES, Attribute, Categorical, Domain, Numeric, Person
from frith.encoding import Columns, columns_of, readable, unreadable
from frith.errors import DataError, DomainError

MISSING = "(missing)"


def draft_domain(table: Any, label: str, person: str | None = None) -> Domain:
    """Text and booleans become categorical, numbers numeric with the bounds seen."""
    columns, _ = columns_of(table)
    names = [str(n) for n in getattr(table, "column_names", table.columns)]
    if label not in names:
        raise DataError(f"the table has no label column {label!r}")
    return Domain(
        draft_attributes(columns, [n for n in names if n not in (label, person)]),
        Categorical(label, draft_values(columns(label), label)),
        person=None if person is None else Person(person, 1),
        learned=True,
    )


def draft_attributes(columns: Columns, names: Sequence[str]) -> tuple[Attribute, ...]:
    return tuple(_draft_attribute(name, columns) for name in names)


def draft_values(column: pa.ChunkedArray, name: str) -> tuple[Any, ...]:
    """The distinct values that occur, sorted; floats that are whole stay numbers."""
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    found = [v for v in pc.unique(column).to_pylist() if v is not None and v == v]
    found = [v.decode(errors="replace") if isinstance(v, bytes) else v for v in found]
    if not found:
        raise DomainError(f"column {name!r} holds no value; declare its values or leave it out")
    if len(found) > MAX_VALUES:
        raise DomainError(
            f"attribute {name!r} has {len(found):,} values; at most {MAX_VALUES:,} are possible: "
            "leave it out, or group rare ones under 'other'"
        )
    return tuple(sorted(found))


def _draft_attribute(name: str, columns: Columns) -> Attribute:
    column = columns(name)
    kind = column.type.value_type if pa.types.is_dictionary(column.type) else column.type
    if not readable(kind):
        raise DataError(unreadable(name, kind))
    if not pa.types.is_dictionary(column.type) and _is_number(kind):
        return _draft_numeric(name, column)
    if column.null_count == len(column):
        return Categorical(name, (MISSING,), missing=MISSING)
    values = draft_values(column, name)
    if column.null_count and isinstance(values[0], str):
        return Categorical(name, (*values, MISSING), missing=MISSING)
    return Categorical(name, values)


def _draft_numeric(name: str, column: pa.ChunkedArray) -> Numeric:
    numbers = column.cast(pa.float64(), safe=False)
    finite = pc.filter(numbers, pc.fill_null(pc.is_finite(numbers), False))
    missing = len(column) > 0 and bool(pc.any(pc.is_null(numbers, nan_is_null=True)).as_py())
    if len(finite) == 0:
        return Numeric(name, 0.0, 1.0, missing=missing)
    low, high = pc.min(finite).as_py(), pc.max(finite).as_py()
    if not low < high:
        high = low + max(1.0, abs(low) * 1e-6)
    if not math.isfinite(high - low):
        low, high = low / 2, high / 2
    return Numeric(name, low, high, missing=missing)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
