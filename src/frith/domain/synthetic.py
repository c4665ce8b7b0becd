"""Synthetic records from a domain only: the shape of a table, and nothing about anyone in it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith.domain.attributes import Attribute, Categorical, Date, Numeric, Ordered, Value, spelling
from frith.domain.domain import Domain

_NUMBERS = (pa.int64(), pa.float64())


def synthetic_table(domain: Domain, n: int, rng: np.random.Generator) -> pa.Table:
    """`n` records; every cell is drawn independently and uniformly from its attribute's codes.

    A categorical cell is one of the declared values. A number lies anywhere in a cell of the grid, a
    date at its start; either may be missing if missing values have a code of their own. Labels are drawn
    the same way, so there is nothing to learn. If the domain names a person, every record has its own.

    Privacy
    -------
    Reads the domain, which is public, and no record.

    >>> domain = Domain([Categorical("a", ("x", "y"))], Categorical("ill", (False, True)))
    >>> synthetic_table(domain, 3, np.random.default_rng(0)).column_names
    ['a', 'ill']
    """
    drawn = {a.name: _column(a, n, rng) for a in (*domain.attributes, domain.label)}
    person = {} if domain.person is None else {domain.person.column: pa.array(np.arange(n))}
    return pa.table(drawn | person)


def _column(attribute: Attribute, n: int, rng: np.random.Generator) -> pa.Array:
    codes = rng.integers(0, attribute.size, n)
    if isinstance(attribute, Categorical):
        return _declared(attribute).take(pa.array(codes))
    if isinstance(attribute, Ordered):
        return _declared(attribute.listed).take(pa.array(codes, mask=codes == attribute.cells))
    if isinstance(attribute, Date):
        starts = [attribute.value_of(number) for number in (attribute.low, *attribute.edges)]
        return pa.array(starts).take(pa.array(codes, mask=codes == attribute.cells))
    return pa.array(_inside(attribute, codes, rng.random(n)), mask=codes == attribute.cells)


def _inside(
    attribute: Numeric, codes: NDArray[np.int64], place: NDArray[np.float64]
) -> NDArray[np.float64]:
    """A number in the cell of each code; `place` says where in the cell, from 0 to 1."""
    bounds = np.array([attribute.low, *attribute.edges, attribute.high])
    cell = np.minimum(codes, attribute.cells - 1)
    low, high = bounds[cell], bounds[cell + 1]
    return np.minimum(low + place * (high - low), np.nextafter(high, low))  # rounding may reach it


def _declared(attribute: Categorical) -> pa.Array:
    """The values as numbers if one numeric type spells them all, else as booleans or as texts."""
    if attribute.kind == "number":
        for kind, make in zip(_NUMBERS, (int, float), strict=True):
            if all(_is_spelled(value, make) for value in attribute.values):
                return pa.array([make(value) for value in attribute.values], kind)
    if attribute.kind == "boolean":
        return pa.array(attribute.values, pa.bool_())
    return pa.array([spelling(value) for value in attribute.values], pa.string())


def _is_spelled(value: Value, make: type[int] | type[float]) -> bool:
    """Whether a number of that type reads as `value` does."""
    is_held = make is float or -(2**63) <= float(value) < 2**63
    return is_held and spelling(make(value)) == spelling(value)
