"""How each database computes which of some keys a cell is, or where a number is on a grid.

An expression is total: for any cell of its column it gives a whole number, and never fails. Texts are
compared by their bytes, whatever collation a column has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import numpy as np

from frith._arrays import Floats
from frith.domain.attributes import Numeric

Key = str | int
_MOST_CELLS = 4_096  # cells of a grid whose edges are written into a query
_FINE = 2.0**-46  # of the largest number: roundings are finer than 2^-50 of it
_FINEST = float(np.finfo(np.float64).tiny)  # smaller floats have fewer digits
_LINEAR = 8  # more keys are searched by bisection


class Dialect(ABC):
    """What differs between databases. A method returns None to have the column sent as it is."""

    @abstractmethod
    def among(self, cell: str, keys: Sequence[Key]) -> str | None:
        """The place of a cell among distinct keys, from 1; 0 if it is not a key, the next number if null."""

    def on_grid(self, cell: str, attribute: Numeric) -> str | None:
        """How many inner edges of a grid are at most a number; the number of cells if there is none."""
        return None

    @abstractmethod
    def shifted(self, sql: str, bits: int) -> str:
        """A position times 2^bits, as a whole number of 64 bits."""


class Postgres(Dialect):
    """Positions of PostgreSQL: chains of CASE, and `width_bucket`, which compares floats as they are.

    It counts NaN as the largest number and equal to itself, so NaN is the last edge, and a null is
    read as NaN.
    """

    def among(self, cell: str, keys: Sequence[Key]) -> str | None:
        literals = {key: _escaped(key) if isinstance(key, str) else f"'{key}'" for key in keys}
        no_key = f"CASE WHEN {cell} IS NULL THEN {len(keys) + 1} ELSE 0 END"
        return _search(cell, _numbered(keys), literals.__getitem__, no_key)

    def on_grid(self, cell: str, attribute: Numeric) -> str | None:
        if attribute.cells > _MOST_CELLS:
            return None
        number, numbers = f"{cell}::float8", ",".join(map(repr, attribute.edges.tolist()))
        edges = f"'{{{numbers},NaN}}'::float8[]"
        if _is_even(attribute.edges):
            return _near_and_next(number, attribute.edges, edges)
        return f"width_bucket(coalesce({number}, 'NaN'), {edges})"

    def shifted(self, sql: str, bits: int) -> str:
        return f"({sql}) * {1 << bits}::int8"


class DuckDB(Dialect):
    """Positions of DuckDB: texts by a cast to an enumeration, which compares bytes.

    Numbers are left as they are: DuckDB runs in this process, and hands them over without a copy.
    """

    def among(self, cell: str, keys: Sequence[Key]) -> str | None:
        if not keys or not isinstance(keys[0], str):
            return None
        values = ", ".join("'" + str(key).replace("'", "''") + "'" for key in keys)
        place = f"enum_code(TRY_CAST({cell} AS ENUM({values}))) + 1"
        return f"CASE WHEN {cell} IS NULL THEN {len(keys) + 1} ELSE coalesce({place}, 0) END"

    def shifted(self, sql: str, bits: int) -> str:
        return f"CAST({sql} AS BIGINT) * {1 << bits}"


class Spark(Dialect):
    """Positions of Spark: one short loop over an array of keys.

    A chain of CASE for every column makes methods that are too long for Java to compile. Numbers are
    left as they are: an executor and its Python worker are on one machine, and handing over a number
    costs less than placing it.
    """

    def among(self, cell: str, keys: Sequence[Key]) -> str | None:
        if not keys or not isinstance(keys[0], str):
            return None
        values = ", ".join(f"CAST(X'{str(key).encode().hex()}' AS STRING)" for key in keys)
        return f"coalesce(array_position(array({values}), {cell}), {len(keys) + 1}L)"

    def shifted(self, sql: str, bits: int) -> str:
        return f"CAST({sql} AS BIGINT) * {1 << bits}L"


def _near_and_next(number: str, edges: Floats, literal: str) -> str:
    """A place on an even grid of PostgreSQL, by one division and one comparison.

    Claim    The number of edges that are at most a number; their number + 1 for NaN and null.
    Proof    `width_bucket` with two bounds counts how many marks of an even grid are at most the
             number, up to a rounding that moves a mark by far less than a quarter of a cell. Mark i is
             at least a quarter of a cell above edge i and below edge i + 1 (`_is_even`). So it counts
             all edges up to the number, or all but one; whether it missed one, a comparison with the
             next edge tells. After the last edge comes NaN, which is above all numbers. `width_bucket`
             fails on NaN alone, and NaN and null are not at most infinity.
    Checked  tests/engines/test_packed.py
    """
    low, high = _marks(edges)[[0, -1]].tolist()
    marks = f"width_bucket({number}, '{low!r}'::float8, '{high!r}'::float8, {len(edges) - 1})"
    missed = f"({number} >= ({literal})[{marks} + 1])::int"
    return f"CASE WHEN {number} <= 'Infinity' THEN {marks} + {missed} ELSE {len(edges) + 1} END"


def _marks(edges: Floats) -> Floats:
    """As many numbers as edges, at even distances, each about half a cell above an edge."""
    half = (edges[-1] - edges[0]) / (len(edges) - 1) / 2
    return np.linspace(edges[0] + half, edges[-1] + half, len(edges))


def _is_even(edges: Floats) -> bool:
    """Whether each mark is well within the cell above its edge, and rounding is nothing to a cell."""
    width = float(edges[-1]) - float(edges[0]) if len(edges) > 1 else 0.0
    if not _FINEST < width * len(edges) < np.inf:  # no product may overflow in any version
        return False
    marks, quarter = _marks(edges), width / (len(edges) - 1) / 4
    if quarter <= max(_FINEST, _FINE * np.abs(edges).max()):
        return False
    return bool(np.all(edges + quarter <= marks) and np.all(marks[:-1] + quarter <= edges[1:]))


def _numbered(keys: Sequence[Key]) -> list[tuple[Key, int]]:
    """Keys with their places, in the order in which a database compares them: texts by bytes."""
    places = [(key, i + 1) for i, key in enumerate(keys)]
    return sorted(places, key=lambda pair: _comparable(pair[0]))


def _comparable(key: Key) -> tuple[bytes, int]:
    return (key.encode(), 0) if isinstance(key, str) else (b"", key)


def _search(
    cell: str, keys: list[tuple[Key, int]], literal: Callable[[Key], str], no_key: str
) -> str:
    """The place of the key that equals a cell, else `no_key`: by bisection, then one by one.

    A null is neither before a key nor equal to one, so it ends in a `no_key` as well.
    """
    if not keys:
        return no_key
    if len(keys) <= _LINEAR:
        cases = " ".join(f"WHEN {literal(key)} THEN {place}" for key, place in keys)
        return f"CASE {cell} {cases} ELSE {no_key} END"
    half = len(keys) // 2
    before = _search(cell, keys[:half], literal, no_key)
    after = _search(cell, keys[half:], literal, no_key)
    return f"CASE WHEN {cell} < {literal(keys[half][0])} THEN {before} ELSE {after} END"


def _escaped(text: str) -> str:
    """A text as PostgreSQL reads it whatever its settings are."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
