"""What is public about a table: its attributes, its label, and how records are protected.

A domain is a file that a curator writes and reviews. Values, bounds and labels come from it and
never from the records, so an encoding made with it tells nothing about anyone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import math
import sys
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import MISSING, dataclass, field, fields, replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import frozen
from frith._documents import parsed, read_file, reading
from frith.domain.short_texts import Table, make_table
from frith.errors import DomainError

FORMAT = "frith-domain/1"
MAX_VALUES = 65_535
DEFAULT_CELLS = 1_024
_LOG_DECADES = 2.0**16  # a log grid resolves magnitudes down to the largest bound / this
_TRUTHS = (("true", "True", "TRUE"), ("false", "False", "FALSE"))

Value = str | int | float | bool


def spelling(value: object) -> str:
    """A categorical value as the text by which it is compared, the same in every file format.

    >>> spelling("a"), spelling(1), spelling(1.0), spelling(Decimal("1.00")), spelling(True)
    ('a', '1', '1', '1', 'true')
    """
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    if isinstance(value, Decimal) and (not value or abs(value.adjusted()) < 400):
        digits = format(value, "f") if value else "0"  # never a million of them
        return digits.rstrip("0").rstrip(".") if "." in digits else digits
    value = _native(value)
    return repr(value) if isinstance(value, float) else str(value)


def _native(value: Any) -> Any:
    """A NumPy scalar as Python's own number or text."""
    return value.item() if isinstance(value, np.generic) else value


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
        unordered = isinstance(self.values, str | bytes | Set | Mapping)
        if unordered or not isinstance(self.values, Iterable):
            raise DomainError(f"attribute {self.name!r}: values are a list, in order")
        object.__setattr__(self, "values", tuple(map(_native, self.values)))
        object.__setattr__(self, "other", _native(self.other))
        object.__setattr__(self, "missing", _native(self.missing))
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
        for role, special in (("other", self.other), ("missing", self.missing)):
            if special is not None and _kind(special, self.name) and spelling(special) not in seen:
                raise DomainError(
                    f"attribute {self.name!r}: {role} = {special!r} is not among its values; add it"
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
        """The code of each spelling, including the capitalized booleans that some writers use.

        A text such as "True" among the values stands for the boolean too: CSV files hold the one
        and Parquet files the other. Where a list tells "true" from "True", so does this.
        """
        codes = {spelling(v): i for i, v in enumerate(self.values)}
        for forms in _TRUTHS if self.kind != "number" else ():
            declared = [codes[form] for form in forms if form in codes]
            if len(declared) == 1:
                codes |= dict.fromkeys(forms, declared[0])
        return codes

    @property
    def kind(self) -> str:
        """What the values are: text, number or boolean."""
        return _kind(self.values[0], self.name)

    @functools.cached_property
    def short_codes(self) -> Table:
        """A table that finds the codes of short spellings by their bytes."""
        return make_table(self.codes)

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
        for side in ("low", "high"):
            bound = _native(getattr(self, side))
            if not _is_finite(bound):
                raise DomainError(f"attribute {self.name!r}: bounds must be finite numbers")
            object.__setattr__(self, side, float(bound))
        if not self.low < self.high or not math.isfinite(self.high - self.low):
            raise DomainError(
                f"attribute {self.name!r} has empty bounds: low = {self.low:g} must be under "
                f"high = {self.high:g}"
            )
        if self.scale not in ("linear", "log"):
            raise DomainError(
                f"attribute {self.name!r}: scale is 'linear' or 'log', not {self.scale!r}"
            )
        if not isinstance(self.missing, bool):
            raise DomainError(
                f"attribute {self.name!r}: missing is true or false, not {self.missing!r}"
            )
        if not isinstance(self.cells, int) or not 2 <= self.cells <= MAX_VALUES - self.missing:
            raise DomainError(
                f"attribute {self.name!r}: cells are a whole number between 2 and "
                f"{MAX_VALUES - self.missing:,}"
            )
        if not np.all(np.diff([self.low, *self.edges, self.high]) > 0):
            raise DomainError(
                f"attribute {self.name!r}: bounds {self.low!r} and {self.high!r} are too close to "
                f"tell {self.cells:,} cells apart; declare fewer cells or wider bounds"
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
        """The inner edges of the grid, ascending: a number's code counts the edges up to it.

        A log grid is even in sign(x) log(1 + |x| / unit), so bounds may include zero.
        """
        steps = [i / self.cells for i in range(1, self.cells)]
        if self.scale == "linear":
            return frozen([self.low + s * (self.high - self.low) for s in steps], np.float64)
        unit = max(abs(self.low), abs(self.high)) / _LOG_DECADES or sys.float_info.min
        low, high = (math.copysign(math.log1p(abs(b) / unit), b) for b in (self.low, self.high))
        even = [low + s * (high - low) for s in steps]
        return frozen([math.copysign(unit * math.expm1(abs(t)), t) for t in even], np.float64)

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
        _check_name(self.column, "the person's column")
        if not _is_whole(self.records) or self.records < 1:
            raise DomainError(
                f"person {self.column!r}: records must be a whole number of at least 1"
            )


@dataclass(frozen=True, eq=False)
class Domain:
    """Attributes in order, the label, and optionally the number of records and the person.

    The kind of the label is the task: declared values are classes, a number between public bounds
    is predicted by a regressor. `records` is a public constant: declare it only when the size of
    the table is no secret, and do not update it from the table. `learned` marks a domain drafted
    from the records themselves.

    >>> domain = Domain([Categorical("smokes", ("no", "yes"))], Categorical("ill", ("no", "yes")))
    >>> Domain.from_toml(domain.to_toml()) == domain
    True
    """

    attributes: tuple[Attribute, ...]
    label: Attribute
    records: int | None = None
    person: Person | None = None
    learned: bool = field(default=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not self.attributes:
            raise DomainError("a domain needs at least one attribute")
        for attribute in self.attributes:
            if type(attribute) not in (Categorical, Numeric):  # another may count other codes
                raise DomainError(f"an attribute is Categorical or Numeric, not {attribute!r}")
        if type(self.label) not in (Categorical, Numeric):
            raise DomainError(f"the label is Categorical or Numeric, not {self.label!r}")
        if not isinstance(self.person, Person | None):
            raise DomainError(f"the person is a Person, not {self.person!r}")
        names = [a.name for a in self.attributes]
        for name, times in Counter(names).items():
            if times > 1:
                raise DomainError(f"attribute {name!r} is declared twice")
        if self.label.name in names:
            raise DomainError(f"attribute {self.label.name!r} is also the label; declare it once")
        _check_label(self.label)
        if self.person is not None and self.person.column in (*names, self.label.name):
            raise DomainError(
                f"attribute {self.person.column!r} is also the person; declare it once"
            )
        if self.records is not None and (not _is_whole(self.records) or self.records < 0):
            raise DomainError("records must be a whole number of at least 0, or left out")
        if not isinstance(self.learned, bool):
            raise DomainError(f"learned is true or false, not {self.learned!r}")

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(a.name for a in self.attributes)

    @property
    def has_target(self) -> bool:
        """Whether the label is a number to predict, and not a class."""
        return isinstance(self.label, Numeric)

    @property
    def label_values(self) -> tuple[Value, ...]:
        """The values of a label that has some; a number has bounds instead."""
        if isinstance(self.label, Numeric):
            raise DomainError(
                f"label {self.label.name!r} is a number between {self.label.low:g} and "
                f"{self.label.high:g}, and what was asked needs a label with declared values"
            )
        return self.label.values

    @property
    def n_labels(self) -> int:
        return len(self.label_values)

    @property
    def target(self) -> Numeric:
        """The label, if it is a number to predict."""
        if isinstance(self.label, Categorical):
            raise DomainError(
                f"label {self.label.name!r} has declared values, and what was asked needs a number "
                "with public bounds, low and high"
            )
        return self.label

    @property
    def n_outputs(self) -> int:
        """How many numbers a forest holds at each node: one for every label, or one for a number."""
        return 1 if self.has_target else self.n_labels

    @functools.cached_property
    def code_type(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every attribute's codes."""
        return np.min_scalar_type(max(a.size for a in self.attributes) - 1)

    @functools.cached_property
    def label_type(self) -> np.dtype[Any]:
        return np.min_scalar_type(self.label.size - 1)

    @functools.cached_property
    def fingerprint(self) -> str:
        """A hash of everything declared: equal domains have equal fingerprints on every machine."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def same_codes(self, other: Domain) -> bool:
        """Whether records have the same codes in both: the same attributes and label."""
        if self is other:
            return True
        return Domain(self.attributes, self.label) == Domain(other.attributes, other.label)

    def __eq__(self, other: object) -> bool:  # Python's own would hold True, 1 and 1.0 for equal
        if not isinstance(other, Domain):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    def view(self, names: Iterable[str]) -> Domain:
        """The same domain with only these attributes, in the domain's order.

        >>> domain = Domain([Numeric("age", 0, 99), Numeric("pay", 0, 9)], Categorical("ill", (0, 1)))
        >>> domain.view(["pay"]).names
        ('pay',)
        """
        wanted = [names] if isinstance(names, str) else list(names)
        for name in wanted:
            if name not in self.names:
                raise DomainError(
                    f"the domain has no attribute {name!r}; it has {', '.join(self.names)}"
                )
        if not wanted:
            raise DomainError(f"a view of no attribute; name some of {', '.join(self.names)}")
        return replace(self, attributes=tuple(a for a in self.attributes if a.name in wanted))

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
        with reading(data, "domain", FORMAT):
            data = {k: v for k, v in data.items() if k != "format"}
            _check_keys(cls, data, "the domain")
            if not isinstance(data["attributes"], list | tuple):
                raise DomainError("the domain's attributes are a list of tables")
            person = data.get("person")
            return cls(
                tuple(_attribute(a) for a in data["attributes"]),
                _label(data["label"]),
                data.get("records"),
                None if person is None else _part(Person, person, "the person"),
                data.get("learned", False),
            )

    def to_toml(self) -> str:
        import tomli_w

        return tomli_w.dumps(self.to_json(), multiline_strings=False)

    @classmethod
    def from_toml(cls, text: str) -> Domain:
        return cls.from_json(parsed(text, "the domain", tomllib.loads, "TOML"))

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
        if path.suffix == ".json":
            return cls.from_json(read_file(path))
        return cls.from_json(parsed(path.read_bytes(), str(path), tomllib.loads, "TOML"))


def _attribute(data: Any) -> Attribute:
    kind = Categorical if isinstance(data, Mapping) and "values" in data else Numeric
    attribute: Attribute = _part(kind, data, "attribute")
    return attribute


def _label(data: Any) -> Attribute:
    has_bounds = isinstance(data, Mapping) and "low" in data and "values" not in data
    kind = Numeric if has_bounds else Categorical
    label: Attribute = _part(kind, data, "the label")
    return label


def _check_label(label: Attribute) -> None:
    if isinstance(label, Categorical):
        if label.other is not None or label.missing is not None:
            raise DomainError(
                f"label {label.name!r}: a record whose label is unknown is not counted, so a "
                "label has no 'other' and no 'missing'"
            )
        return
    if label.missing:
        raise DomainError(
            f"label {label.name!r}: a record whose label is missing is not counted; leave 'missing' out"
        )
    if label.scale != "linear":
        raise DomainError(
            f"label {label.name!r}: a number to predict has a linear scale; to predict its "
            "logarithm, declare bounds of the logarithm and take it before training"
        )


def _part(kind: type[Any], data: Any, what: str) -> Any:
    """An attribute, label or person, from a table whose keys are its fields."""
    if not isinstance(data, Mapping):
        raise DomainError(f"{what} must be a table, not {data!r}")
    _check_keys(kind, data, f"{what} {data['name']!r}" if "name" in data else what)
    return kind(**data)


def _check_keys(kind: type[Any], data: Mapping[str, Any], what: str) -> None:
    legal = {f.name: f.default is MISSING for f in fields(kind)}
    for key in data:
        if key not in legal:
            raise DomainError(f"{what} has an unknown entry {key!r}; known are {', '.join(legal)}")
    for key, is_required in legal.items():
        if is_required and key not in data:
            raise DomainError(f"{what} has no entry {key!r}; declare it")


def _check_name(name: object, what: str = "an attribute's name") -> None:
    if not isinstance(name, str) or not name or not _is_unicode(name):
        raise DomainError(f"{what} is a non-empty string of valid characters, not {name!r}")


def _kind(value: object, name: str) -> str:
    if isinstance(value, bool):
        return "boolean"
    if type(value) is str and _is_unicode(value):
        return "text"
    if _is_finite(value):
        return "number"
    raise DomainError(
        f"attribute {name!r}: {_shown(value)} is not text, a finite number or a boolean"
    )


def _is_finite(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_unicode(text: str) -> bool:
    """Whether the text can be written to a file; half a surrogate pair cannot."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _shown(value: object) -> str:
    return "this number" if isinstance(value, int) else repr(value)  # it may be too long to print


def class_array(values: Sequence[Value]) -> NDArray[Any]:
    """Declared values as an array of their natural type if it can hold all of them."""
    array = np.array(values)
    return array if array.tolist() == list(values) else np.array(values, dtype=object)
