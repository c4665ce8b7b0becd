"""What is public about a table: its attributes, its label, and how records are protected.

A domain is a file that a curator writes and reviews. Values, bounds and labels come from it and
never from the records, so an encoding made with it tells nothing about anyone.
"""

from __future__ import annotations

import codecs
import hashlib
import inspect
import json
import math
import tomllib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._cached import cached_property
from frith._documents import parsed, read_file, reading
from frith.domain.attributes import (
    KINDS,
    Attribute,
    Categorical,
    Date,
    LogTarget,
    Numeric,
    Ordered,
    Value,
    check_name,
    is_whole,
)
from frith.domain.notebook import SAVED, domain_html
from frith.errors import DomainError
from frith.privacy.guarantee import Guarantee
from frith.privacy.neighbors import neighbors_of

FORMAT = "frith-domain/1"


@dataclass(frozen=True, slots=True)
class Person:
    """The column that names the protected person, and the most records each may contribute."""

    column: str
    records: int

    def __post_init__(self) -> None:
        check_name(self.column, "the person's column")
        if not is_whole(self.records) or self.records < 1:
            raise DomainError(
                f"person {self.column!r}: records must be a whole number of at least 1"
            )


@dataclass(frozen=True, slots=True)
class Csv:
    """How the table's CSV files are written, if not with commas, in UTF-8 and with decimal points.

    A draft detects it; training never does, because then one byte of one record could change how all
    others are read. The encoding has one byte a character, so that a byte changes only its own cell.
    """

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."

    def __post_init__(self) -> None:
        if self.delimiter == "tab":
            object.__setattr__(self, "delimiter", "\t")
        if self.delimiter not in DELIMITERS:
            raise DomainError("csv: the delimiter is ',', ';', '|' or 'tab'")
        if self.decimal not in (".", ",") or self.decimal == self.delimiter:
            raise DomainError("csv: decimal is '.' or ',', and not the delimiter")
        if not _is_narrow(self.encoding):
            raise DomainError(
                f"csv: {self.encoding!r} is not utf-8, latin-1, cp1252 or another encoding of one byte "
                "a character; save the file as UTF-8"
            )

    def to_json(self) -> dict[str, str]:
        usual = Csv()
        data = {name: getattr(self, name) for name in self.__slots__}
        data = {name: said for name, said in data.items() if said != getattr(usual, name)}
        return data | (
            {"delimiter": "tab"} if self.delimiter == "\t" else {}
        )  # it shows in no file


DELIMITERS = (",", ";", "\t", "|")


def _is_narrow(encoding: object) -> bool:
    """Whether it is UTF-8, or has a character for each byte, those of ASCII first."""
    try:
        if codecs.lookup(str(encoding)).name == "utf-8":
            return True
        ascii = bytes(range(128)).decode(str(encoding), errors="replace")
        pairs = bytes(byte for a in range(128, 256) for b in range(256) for byte in (a, b))
        return ascii.isascii() and len(pairs.decode(str(encoding), errors="replace")) == len(pairs)
    except Exception:  # noqa: BLE001 - no encoding, or one that is not of texts
        return False


@dataclass(frozen=True, eq=False, repr=False)
class Domain:
    """Attributes in order, the label, and optionally the number of records and the person.

    The kind of the label is the task: declared values are classes, a number between public bounds
    is predicted by a regressor, through its logarithm if its scale is "log". `records` is a public
    constant: declare it only when the size of the table is no secret, and do not update it from the
    table. `learned` marks a domain drafted from the records themselves. `paid` is the guarantee of a
    private draft, which is added to that of every forest. `csv` says how CSV files are written.

    >>> domain = Domain([Categorical("smokes", ("no", "yes"))], Categorical("ill", ("no", "yes")))
    >>> Domain.from_toml(domain.to_toml()) == domain
    True
    """

    attributes: tuple[Attribute, ...]
    label: Attribute
    records: int | None = None
    person: Person | None = None
    learned: bool = field(default=False)
    csv: Csv | None = None
    paid: Guarantee | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "attributes", tuple(self.attributes))
        if not self.attributes:
            raise DomainError("a domain needs at least one attribute")
        for attribute in self.attributes:
            if type(attribute) not in KINDS:  # another may count other codes
                known = ", ".join(kind.__name__ for kind in KINDS)
                raise DomainError(f"an attribute is one of {known}, not {attribute!r}")
        if type(self.label) not in (Categorical, Numeric, LogTarget):
            raise DomainError(f"the label is Categorical or Numeric, not {self.label!r}")
        object.__setattr__(self, "label", _as_label(self.label))
        if not isinstance(self.person, Person | None):
            raise DomainError(f"the person is a Person, not {self.person!r}")
        if not isinstance(self.csv, Csv | None):
            raise DomainError(f"csv is a Csv, not {self.csv!r}")
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
        if self.records is not None and (not is_whole(self.records) or self.records < 0):
            raise DomainError("records must be a whole number of at least 0, or left out")
        if not isinstance(self.learned, bool):
            raise DomainError(f"learned is true or false, not {self.learned!r}")
        if self.paid is not None:
            _check_paid(
                self.paid, neighbors_of(None if self.person is None else self.person.records)
            )

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
        """What trees add up to, if the label is a number: the label, or its logarithm on a log scale.

        Its cells are those of the label: sums, distances and scores of numbers are in its unit.
        """
        if isinstance(self.label, Categorical):
            raise DomainError(
                f"label {self.label.name!r} has declared values, and what was asked needs a number "
                "with public bounds, low and high"
            )
        return self.label.logarithm if isinstance(self.label, LogTarget) else self.label

    @property
    def has_log_target(self) -> bool:
        """Whether trees add up to the logarithm of the label."""
        return isinstance(self.label, LogTarget)

    @property
    def target_unit(self) -> str:
        """What trees add up to, in words."""
        return f"log({self.label.name})" if self.has_log_target else self.label.name

    def to_target(self, number: float) -> float:
        """A number within the label's bounds, in the unit of `target`."""
        return math.log(number) if self.has_log_target else number

    def from_target(self, numbers: NDArray[np.float64]) -> NDArray[np.float64]:
        """Numbers in the unit of `target` brought to the label's own; a logarithm's within its bounds."""
        if not isinstance(self.label, LogTarget):
            return numbers
        with np.errstate(over="ignore"):  # the largest float, rounded up, is clipped again
            return np.clip(np.exp(numbers), self.label.low, self.label.high)

    @property
    def n_outputs(self) -> int:
        """How many numbers a forest holds at each node: one a label, or one for a number to predict."""
        return 1 if self.has_target else self.n_labels

    @cached_property
    def code_type(self) -> np.dtype[Any]:
        """The smallest unsigned type that holds every attribute's codes."""
        return np.min_scalar_type(max(a.size for a in self.attributes) - 1)

    @cached_property
    def label_type(self) -> np.dtype[Any]:
        return np.min_scalar_type(self.label.size - 1)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything declared: equal domains have equal fingerprints on every machine."""
        text = json.dumps(self.to_json(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    def same_codes(self, other: Domain) -> bool:
        """Whether records have the same codes in both domains: same attributes, same label."""
        if self is other:
            return True
        return Domain(self.attributes, self.label) == Domain(other.attributes, other.label)

    def __eq__(self, other: object) -> bool:  # Python's own would treat True, 1 and 1.0 as equal
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

    def __repr__(self) -> str:
        many = len(self.attributes)
        return (
            f"<Domain: {many} attribute{'s' if many != 1 else ''}, label {self.label.name!r}, "
            f"{self.fingerprint[:12]}>"
        )

    def _repr_html_(self) -> str:
        facts = [*self.facts, *([SAVED] if self.learned else [])]
        return domain_html("Domain", self.label, self.attributes, facts)

    @property
    def facts(self) -> list[str]:
        """What is declared about the whole table, in words."""
        facts = [
            "number of records: "
            + ("not declared" if self.records is None else f"{self.records:,}")
        ]
        if self.person is not None:
            most = f"at most {self.person.records} records each"
            facts.append(f"protects persons, by the column {self.person.column!r}, {most}")
        if self.learned:
            facts.append(
                "drafted from the records: replace what is not public knowledge, then set learned to False"
            )
        if self.paid is not None:
            facts.append(f"paid for: {self.paid}")
        return facts

    # -- files ---------------------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"format": FORMAT}
        data |= {} if self.records is None else {"records": self.records}
        data |= {"learned": True} if self.learned else {}
        data |= {} if self.csv is None else {"csv": self.csv.to_json()}
        data["label"] = self.label.to_json()
        if self.person is not None:
            data["person"] = {"column": self.person.column, "records": self.person.records}
        if self.paid is not None:
            claim = self.paid.to_json()
            data["paid"] = {name: claim[name] for name in _CLAIM}
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
                _part(Csv, data["csv"], "csv") if "csv" in data else None,
                _paid(data["paid"]) if "paid" in data else None,
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
    if not isinstance(data, Mapping) or not data.keys() & {"values", "first", "last"}:
        return _part(Numeric, data, "attribute")
    if "values" not in data:
        return _part(Date, data, "attribute")
    if not data.get("ordered", False):
        return _part(Categorical, data, "attribute")
    return _part(Ordered, {k: v for k, v in data.items() if k != "ordered"}, "attribute")


def _label(data: Any) -> Attribute:
    has_bounds = isinstance(data, Mapping) and "low" in data and "values" not in data
    kind = Numeric if has_bounds else Categorical
    label: Attribute = _part(kind, data, "the label")
    return label


def _as_label(label: Attribute) -> Attribute:
    if not isinstance(label, Numeric) or label.scale != "log" or isinstance(label, LogTarget):
        return label
    return LogTarget(label.name, label.low, label.high, cells=label.cells, missing=label.missing)


_LARGEST_TARGET = 1e140
"""Of a label's bounds: forests keep variances in its unit squared."""


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
    if not isinstance(label, LogTarget) and max(abs(label.low), abs(label.high)) > _LARGEST_TARGET:
        raise DomainError(
            f"label {label.name!r}: its bounds are at most {_LARGEST_TARGET:g} either way, so that squares "
            "of targets are numbers; declare it in a larger unit"
        )


_CLAIM = ("epsilon", "delta", "neighbors", "assumptions")


def _paid(data: Any) -> Guarantee:
    if not isinstance(data, Mapping) or {*data} != {*_CLAIM}:
        raise DomainError(f"what was paid for a domain is a table of {', '.join(_CLAIM)}")
    texts = data["assumptions"]
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise DomainError("what was paid for a domain: assumptions are a list of texts")
    return Guarantee.from_json({**data, "asked": []})


def _check_paid(paid: object, neighbors: str) -> None:
    if not isinstance(paid, Guarantee) or paid.asked or paid.parties:
        raise DomainError("what was paid for a domain is a Guarantee, without what was asked")
    if not paid.holds or paid.epsilon < 0 or not 0 <= paid.delta < 1:
        raise DomainError("what was paid for a domain is a finite epsilon and a delta under 1")
    if paid.neighbors != neighbors:
        raise DomainError(
            f"the domain was paid for with other neighbors ({paid.neighbors}) than it declares "
            f"({neighbors}): amounts do not add; draft it again, or keep its person"
        )


def _part(kind: type[Any], data: Any, what: str) -> Any:
    """An attribute, label or person, from a table whose keys are its fields."""
    if not isinstance(data, Mapping):
        raise DomainError(f"{what} must be a table, not {data!r}")
    _check_keys(kind, data, f"{what} {data['name']!r}" if "name" in data else what)
    return kind(**data)


def _check_keys(kind: type[Any], data: Mapping[str, Any], what: str) -> None:
    parameters = inspect.signature(kind).parameters
    legal = {name: p.default is inspect.Parameter.empty for name, p in parameters.items()}
    for key in data:
        if key not in legal:
            raise DomainError(f"{what} has an unknown entry {key!r}; known are {', '.join(legal)}")
    for key, is_required in legal.items():
        if is_required and key not in data:
            raise DomainError(f"{what} has no entry {key!r}; declare it")


def class_array(values: Sequence[Value]) -> NDArray[Any]:
    """Declared values as an array of their natural type if it can hold all of them."""
    array = np.array(values)
    return array if array.tolist() == list(values) else np.array(values, dtype=object)
