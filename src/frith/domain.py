"""What is public about a table: its attributes, its label, and how records are protected.

A domain is a file that a curator writes and reviews. Values, bounds and labels come from it and
never from the records, so an encoding made with it tells nothing about anyone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import tomllib
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.errors import DomainError, FormatError, PrivacyLeakWarning

FORMAT = "frith-domain/1"
MAX_VALUES = 65_535
DEFAULT_CELLS = 1_024
_LOG_DECADES = 2.0**16  # a log grid resolves magnitudes down to the largest bound / this

Value = str | int | float | bool


def spelling(value: object) -> str:
    """How a categorical value is compared: as text, the same in every file format.

    >>> spelling("a"), spelling(1), spelling(1.0), spelling(True)
    ('a', '1', '1', 'true')
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, np.generic):
        value = value.item()
    return repr(value) if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Categorical:
    """An attribute with a declared list of legal values.

    A value outside the list counts as `other` (else as the first declared value); a missing one
    counts as `missing` (else as a value outside the list). Both are among `values`.
    """

    name: str
    values: tuple[Value, ...]
    other: Value | None = None
    missing: Value | None = None

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "values", tuple(self.values))
        if not self.values:
            raise DomainError(f"attribute {self.name!r} has no values; declare at least one")
        if len(self.values) > MAX_VALUES:
            raise DomainError(
                f"attribute {self.name!r} has {len(self.values):,} values; at most {MAX_VALUES:,} "
                "are possible: group rare ones under 'other'"
            )
        if len({_kind(v, self.name) for v in self.values}) > 1:
            raise DomainError(f"attribute {self.name!r} mixes text, numbers and booleans")
        seen = set()
        for value in self.values:
            if spelling(value) in seen:
                raise DomainError(f"attribute {self.name!r} declares the value {value!r} twice")
            seen.add(spelling(value))
        for role, value in (("other", self.other), ("missing", self.missing)):
            if value is not None and spelling(value) not in seen:
                raise DomainError(
                    f"attribute {self.name!r}: {role} = {value!r} is not among its values; add it"
                )

    @property
    def size(self) -> int:
        """How many codes there are."""
        return len(self.values)

    @property
    def branches(self) -> int:
        """How many children a split on this attribute has."""
        return self.size

    @functools.cached_property
    def codes(self) -> dict[str, int]:
        """The code of each spelling; booleans also in the capitals that some writers use."""
        codes = {spelling(v): i for i, v in enumerate(self.values)}
        if self.kind == "boolean":
            codes |= {form(s): i for s, i in codes.items() for form in (str.title, str.upper)}
        return codes

    @property
    def kind(self) -> str:
        """What the values are: text, number or boolean."""
        return _kind(self.values[0], self.name)

    @property
    def outside_code(self) -> int:
        return 0 if self.other is None else self.codes[spelling(self.other)]

    @property
    def missing_code(self) -> int:
        return self.outside_code if self.missing is None else self.codes[spelling(self.missing)]

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"name": self.name, "values": list(self.values)}
        data |= {} if self.other is None else {"other": self.other}
        return data | ({} if self.missing is None else {"missing": self.missing})


@dataclass(frozen=True)
class Numeric:
    """A number between public bounds, on a fine public grid.

    Values beyond a bound are clamped to it. With `missing=True` missing numbers have a code of
    their own, above all cells; otherwise they count as the lower bound.
    """

    name: str
    low: float
    high: float
    scale: str = "linear"
    cells: int = DEFAULT_CELLS
    missing: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        for bound in (self.low, self.high):
            if isinstance(bound, bool) or not isinstance(bound, int | float) or not math.isfinite(bound):
                raise DomainError(f"attribute {self.name!r}: bounds must be finite numbers")
        object.__setattr__(self, "low", float(self.low))
        object.__setattr__(self, "high", float(self.high))
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            raise DomainError(
                f"attribute {self.name!r} has empty bounds: low = {self.low:g} must be under "
                f"high = {self.high:g}"
            )
        if self.scale not in ("linear", "log"):
            raise DomainError(f"attribute {self.name!r}: scale is 'linear' or 'log', not {self.scale!r}")
        if not isinstance(self.cells, int) or not 2 <= self.cells <= MAX_VALUES - self.missing:
            raise DomainError(
                f"attribute {self.name!r} has {self.cells!r} cells; between 2 and {MAX_VALUES:,} "
                "are possible"
            )

    @property
    def size(self) -> int:
        return self.cells + self.missing

    @property
    def branches(self) -> int:
        return 2

    @property
    def missing_code(self) -> int:
        return self.cells if self.missing else 0

    @functools.cached_property
    def edges(self) -> NDArray[np.float64]:
        """The inner edges of the grid, ascending: a number's code is how many are at most it.

        A log grid is even in sign(x) log(1 + |x| / unit), so bounds may include zero.
        """
        steps = [i / self.cells for i in range(1, self.cells)]
        if self.scale == "linear":
            return np.array([self.low + s * (self.high - self.low) for s in steps])
        unit = max(abs(self.low), abs(self.high)) / _LOG_DECADES
        low, high = (math.copysign(math.log1p(abs(b) / unit), b) for b in (self.low, self.high))
        even = [low + s * (high - low) for s in steps]
        return np.array([math.copysign(unit * math.expm1(abs(t)), t) for t in even])

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"name": self.name, "low": self.low, "high": self.high}
        data |= {} if self.scale == "linear" else {"scale": self.scale}
        data |= {} if self.cells == DEFAULT_CELLS else {"cells": self.cells}
        return data | ({"missing": True} if self.missing else {})


Attribute = Categorical | Numeric


@dataclass(frozen=True, slots=True)
class Person:
    """The column that names the protected person, and the most records each may contribute."""

    column: str
    records: int

    def __post_init__(self) -> None:
        if isinstance(self.records, bool) or not isinstance(self.records, int) or self.records < 1:
            raise DomainError(f"person {self.column!r}: records must be a whole number of at least 1")


@dataclass(frozen=True)
class Domain:
    """Attributes in order, the label, and optionally the number of records and the person.

    `records` is a public constant: declare it only when the size of the table is no secret, and do
    not refresh it from the table. `learned` marks a domain drafted from the records themselves.

    >>> domain = Domain([Categorical("smokes", ("no", "yes"))], Categorical("ill", ("no", "yes")))
    >>> Domain.from_toml(domain.to_toml()) == domain
    True
    """

    attributes: tuple[Attribute, ...]
    label: Categorical
    records: int | None = None
    person: Person | None = None
    learned: bool = field(default=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not self.attributes:
            raise DomainError("a domain needs at least one attribute")
        names = [a.name for a in self.attributes]
        for name, times in Counter(names).items():
            if times > 1:
                raise DomainError(f"attribute {name!r} is declared twice")
        if self.label.name in names:
            raise DomainError(f"attribute {self.label.name!r} is also the label; declare it once")
        if self.label.other is not None or self.label.missing is not None:
            raise DomainError(
                f"label {self.label.name!r}: a record whose label is unknown is not counted, so a "
                "label has no 'other' and no 'missing'"
            )
        if self.person is not None and self.person.column in (*names, self.label.name):
            raise DomainError(f"attribute {self.person.column!r} is also the person; declare it once")
        if self.records is not None and (
            isinstance(self.records, bool) or not isinstance(self.records, int) or self.records < 0
        ):
            raise DomainError("records must be a whole number of at least 0, or left out")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    @property
    def n_labels(self) -> int:
        return self.label.size

    @functools.cached_property
    def code_type(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every attribute's codes."""
        return np.min_scalar_type(max(a.size for a in self.attributes) - 1)

    @functools.cached_property
    def label_type(self) -> np.dtype[Any]:
        return np.min_scalar_type(self.n_labels - 1)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of everything declared: the same for equal domains, wherever they are."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    # -- files ---------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"format": FORMAT}
        data |= {} if self.records is None else {"records": self.records}
        data |= {"learned": True} if self.learned else {}
        data["label"] = self.label.to_json()
        if self.person is not None:
            data["person"] = {"column": self.person.column, "records": self.person.records}
        return data | {"attributes": [a.to_json() for a in self.attributes]}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Domain:
        if not isinstance(data, Mapping) or data.get("format") != FORMAT:
            raise FormatError(f"this is not a frith domain: it must say format = {FORMAT!r}")
        try:
            person = data.get("person")
            return cls(
                tuple(_attribute(a) for a in data["attributes"]),
                Categorical(**data["label"]),
                data.get("records"),
                Person(**person) if person else None,
                data.get("learned", False),
            )
        except (TypeError, KeyError) as error:
            raise DomainError(f"the domain is incomplete or has an unknown entry: {error}") from None

    def to_toml(self) -> str:
        import tomli_w

        return tomli_w.dumps(self.to_json(), multiline_strings=False)

    @classmethod
    def from_toml(cls, text: str) -> Domain:
        try:
            return cls.from_json(tomllib.loads(text))
        except tomllib.TOMLDecodeError as error:
            raise FormatError(f"the domain is not valid TOML: {error}") from None

    def save(self, path: str | Path) -> None:
        """Write TOML, or JSON when the name ends in .json."""
        path = Path(path)
        text = (
            json.dumps(self.to_json(), indent=2, ensure_ascii=False) + "\n"
            if path.suffix == ".json"
            else self.to_toml()
        )
        path.write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Domain:
        path = Path(path)
        text = path.read_text(encoding="utf-8")
        if path.suffix != ".json":
            return cls.from_toml(text)
        try:
            return cls.from_json(json.loads(text))
        except json.JSONDecodeError as error:
            raise FormatError(f"{path} is not valid JSON: {error}") from None

    @classmethod
    def from_table(cls, table: Any, label: str, *, person: str | None = None) -> Domain:
        """Draft a domain from the records themselves, with a `PrivacyLeakWarning`.

        A draft is for the curator to review: its values and bounds are exact facts about people.
        Clear `learned` once every value is public knowledge.
        """
        from frith.drafting import draft_domain

        warnings.warn(
            "the domain is learned from the records: its values and bounds are not private; "
            "review it and declare it instead",
            PrivacyLeakWarning,
            stacklevel=2,
        )
        return draft_domain(table, label, person)


def _attribute(data: Mapping[str, Any]) -> Attribute:
    return Categorical(**data) if "values" in data else Numeric(**data)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise DomainError(f"an attribute's name is a non-empty string, not {name!r}")


def _kind(value: object, name: str) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "text"
    if isinstance(value, int | float) and math.isfinite(value):
        return "number"
    raise DomainError(f"attribute {name!r}: {value!r} is not text, a finite number or a boolean")


def class_array(values: Sequence[Value]) -> NDArray[Any]:
    """Declared values as an array of their natural type."""
    kinds = {type(v) for v in values}
    return np.array(values, dtype=None if kinds != {str} else np.str_)
