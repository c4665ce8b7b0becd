"""A first draft of a domain, read from the records: for a curator to review, never for release."""

from __future__ import annotations

import math
import sys
import warnings
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from frith.domain.domain import MAX_VALUES, Attribute, Categorical, Domain, Numeric, Person
from frith.domain.encoding import CELL_BYTES, Columns, _numbers, columns_of, distinct
from frith.errors import DataError, DomainError, PrivacyLeakWarning

MISSING = "(missing)"


def draft_domain(table: Any, label: str, person: str | None = None) -> Domain:
    """Text and booleans become categorical, numbers numeric with the bounds seen."""
    columns, _ = columns_of(table)
    names = [str(n) for n in getattr(table, "column_names", table.columns)]
    for role, name in (("label", label), ("person", person)):
        if name is not None and name not in names:
            raise DataError(f"the table has no {role} column {name!r}")
    return Domain(
        draft_attributes(columns, [n for n in names if n not in (label, person)]),
        Categorical(label, draft_values(columns(label), label)),
        person=None if person is None else Person(person, 1),
        learned=True,
    )


def learn_domain(table: Any, label: str, *, person: str | None = None) -> Domain:
    """Draft a domain from the records themselves, with a `PrivacyLeakWarning`.

    A draft is for the curator to review: its values and bounds are exact facts about people.
    Clear `learned` once every value is public knowledge.
    """
    warnings.warn(
        "the domain is learned from the records: its values and bounds are not private; "
        "review it and declare it instead",
        PrivacyLeakWarning,
        stacklevel=2,
    )
    return draft_domain(table, label, person)


def draft_attributes(columns: Columns, names: Sequence[str]) -> tuple[Attribute, ...]:
    return tuple(_draft_attribute(name, columns(name)) for name in names)


def draft_values(column: pa.ChunkedArray, name: str) -> tuple[Any, ...]:
    """The distinct values of a column, sorted; whole floats stay numbers."""
    found = set(_values(column, name)) - {None}
    if not found:
        raise DomainError(f"column {name!r} holds no value; declare its values or leave it out")
    if len(found) > MAX_VALUES:
        raise DomainError(
            f"attribute {name!r} has {len(found):,} values; at most {MAX_VALUES:,} are possible: "
            "leave it out, or group rare ones under 'other'"
        )
    return tuple(sorted(found))


def _draft_attribute(name: str, column: pa.ChunkedArray) -> Attribute:
    if _is_number(column.type):
        return _draft_numeric(name, column)
    found = set(_values(column, name))
    if found <= {None}:
        return Categorical(name, (MISSING,), missing=MISSING)
    values = draft_values(column, name)
    if None in found and isinstance(values[0], str):
        return Categorical(name, (*(v for v in values if v != MISSING), MISSING), missing=MISSING)
    return Categorical(name, values)


def _values(column: pa.ChunkedArray, name: str) -> Iterator[Any]:
    """The column's values in a form that can be declared; None if one cannot be."""
    for chunk in column.chunks:
        places, values = distinct(chunk, name)
        cells = [*values.to_pylist(), None]
        yield from (_value(cells[place]) for place in np.unique(places))


def _value(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.decode(errors="replace") if len(cell) <= CELL_BYTES else None
    cell = float(cell) if isinstance(cell, Decimal) else cell
    return cell if cell is not None and math.isfinite(cell) else None


def _draft_numeric(name: str, column: pa.ChunkedArray) -> Numeric:
    numbers = np.concatenate([[], *(_numbers(chunk, name) for chunk in column.chunks)])
    finite, missing = numbers[np.isfinite(numbers)], bool(np.isnan(numbers).any())
    if len(finite) == 0:
        return Numeric(name, 0.0, 1.0, missing=missing)
    largest = sys.float_info.max / 4  # so that the bounds' difference is a number too
    low, high = (float(x) for x in np.clip([finite.min(), finite.max()], -largest, largest))
    size = max(abs(low), abs(high))
    if high - low <= 1e-12 * max(size, 1e-290):  # too close to tell the cells of a grid apart
        high = low + max(1.0, 1e-6 * size)
    return Numeric(name, low, high, missing=missing)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
