"""How each database computes which of some keys a cell is, or where a number is on a grid.

An expression is total: for any cell of its column it gives a whole number, and never fails. Texts are
compared by their bytes, whatever collation a column has.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

from frith.domain.attributes import Numeric

Key = str | int
_MOST_CELLS = 4_096  # cells of a grid whose edges are written into a query
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
    """Positions of PostgreSQL: chains of CASE, and `width_bucket` by an array of edges.

    `width_bucket` compares floats as they are. It counts NaN as the largest number and equal to
    itself, so NaN is the last edge, and a null is read as NaN.
    """

    def among(self, cell: str, keys: Sequence[Key]) -> str | None:
        literals = {key: _escaped(key) if isinstance(key, str) else f"'{key}'" for key in keys}
        inner = _search(cell, _numbered(keys), literals.__getitem__)
        return f"CASE WHEN {cell} IS NULL THEN {len(keys) + 1} ELSE {inner} END"

    def on_grid(self, cell: str, attribute: Numeric) -> str | None:
        if attribute.cells > _MOST_CELLS:
            return None
        edges = ",".join(map(repr, attribute.edges.tolist()))
        return f"width_bucket(coalesce({cell}::float8, 'NaN'), '{{{edges},NaN}}'::float8[])"

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


def _numbered(keys: Sequence[Key]) -> list[tuple[Key, int]]:
    """Keys with their places, in the order in which a database compares them: texts by bytes."""
    places = [(key, i + 1) for i, key in enumerate(keys)]
    return sorted(places, key=lambda pair: _comparable(pair[0]))


def _comparable(key: Key) -> tuple[bytes, int]:
    return (key.encode(), 0) if isinstance(key, str) else (b"", key)


def _search(cell: str, keys: list[tuple[Key, int]], literal: Callable[[Key], str]) -> str:
    """The place of the key that equals a cell, else 0: by bisection, then one by one."""
    if not keys:
        return "0"
    if len(keys) <= _LINEAR:
        cases = " ".join(f"WHEN {literal(key)} THEN {place}" for key, place in keys)
        return f"CASE {cell} {cases} ELSE 0 END"
    half = len(keys) // 2
    before, after = _search(cell, keys[:half], literal), _search(cell, keys[half:], literal)
    return f"CASE WHEN {cell} < {literal(keys[half][0])} THEN {before} ELSE {after} END"


def _escaped(text: str) -> str:
    """A text as PostgreSQL reads it whatever its settings are."""
    return "E'" + text.replace("\\", "\\\\").replace("'", "''") + "'"
