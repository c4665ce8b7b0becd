"""The attributes of a domain: listed values, numbers, dates and values in an order."""

from __future__ import annotations

import datetime
import math
import re
import sys
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import frozen
from frith._cached import cached_property
from frith.domain.short_texts import Table, make_table
from frith.errors import DomainError

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
        check_name(self.name)
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

    @cached_property
    def codes(self) -> dict[str, int]:
        """The code of each spelling, including the capitalized booleans that some programs write.

        A text such as "True" among the values stands for the boolean too: CSV files hold the text
        and Parquet files the boolean. If the values list both "true" and "True", they stay apart.
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

    @cached_property
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
        check_name(self.name)
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
        self._check_missing()
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

    def _check_missing(self) -> None:
        if not isinstance(self.missing, bool):
            raise DomainError(
                f"attribute {self.name!r}: missing is true or false where values have an order (numbers, "
                f"dates, `ordered = true`), not {self.missing!r}"
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

    @cached_property
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

    def text_of(self, number: float, digits: int = 6) -> str:
        """A number of the grid as text for people."""
        return f"{number:.{digits}g}"

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"name": self.name, "low": self.low, "high": self.high}
        data |= {} if self.scale == "linear" else {"scale": self.scale}
        data |= {} if self.cells == DEFAULT_CELLS else {"cells": self.cells}
        return data | ({"missing": True} if self.missing else {})


@dataclass(frozen=True)
class LogTarget(Numeric):
    """A number to predict on a log scale: what a domain makes of a label `Numeric(..., scale="log")`.

    Its grid is even in log(x), so both bounds are above 0, and zero and negative targets are clamped to
    the lower one. (The log grid of an attribute may include zero, and is even in another function.)
    """

    scale: str = "log"

    def __post_init__(self) -> None:
        if _is_finite(low := _native(self.low)) and low <= 0:
            raise DomainError(
                f"label {self.name!r}: a number to predict on a log scale has bounds above 0, and low is "
                f"{low:g}; declare the smallest number that matters"
            )
        super().__post_init__()

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        low, high = math.log(self.low), math.log(self.high)
        steps = [i / self.cells for i in range(1, self.cells)]
        return frozen([math.exp(low + s * (high - low)) for s in steps], np.float64)

    @cached_property
    def logarithm(self) -> Numeric:
        """The natural logarithm as a number with bounds and an even grid: of the same codes."""
        return Numeric(self.name, math.log(self.low), math.log(self.high), cells=self.cells)


@dataclass(frozen=True, init=False)
class Date(Numeric):
    """A date between public bounds, or a date and time in UTC if a bound has a time.

    Learners see a number: days, or seconds, since 1970. The edges of its grid are whole days, or
    whole seconds, so that rules read as dates. Dates beyond a bound are clamped to it. Records may hold
    dates, timestamps (those of a time zone count in UTC, others as they are) or texts such as
    2024-01-31 and 2024-01-31 12:30:00; anything else is missing. With `missing=True` missing dates have
    a code of their own; otherwise they count as the first date.

    >>> visit = Date("visit", "2020-01-01", "2023-12-31")
    >>> visit.cells, visit.text_of(visit.edges[-1])
    (1024, '2023-12-31')
    """

    first: datetime.date = datetime.date.min
    last: datetime.date = datetime.date.max

    def __init__(
        self,
        name: str,
        first: datetime.date | str,
        last: datetime.date | str,
        cells: int | None = None,
        missing: bool = False,
    ):
        bounds: dict[str, Any] = {"first": _moment(first, name), "last": _moment(last, name)}
        has_time = any(isinstance(b, datetime.datetime) for b in bounds.values())
        low, high = (_number(b, has_time) for b in bounds.values())
        steps = high - low + 1
        if steps < 2:
            raise DomainError(
                f"attribute {name!r} has empty bounds: first = {first} must be before last = {last}"
            )
        bounds |= {"low": float(low), "high": float(high), "scale": "linear"}
        bounds["cells"] = min(DEFAULT_CELLS, steps) if cells is None else cells
        for key, value in (bounds | {"name": name, "missing": missing}).items():
            object.__setattr__(self, key, value)
        check_name(name)
        self._check_missing()
        if not is_whole(self.cells) or not 2 <= self.cells <= min(MAX_VALUES - missing, steps):
            raise DomainError(
                f"attribute {name!r}: cells are a whole number between 2 and "
                f"{min(MAX_VALUES - missing, steps):,}"
            )

    @property
    def has_time(self) -> bool:
        """Whether numbers count seconds rather than days."""
        return isinstance(self.first, datetime.datetime) or isinstance(self.last, datetime.datetime)

    @cached_property
    def edges(self) -> NDArray[np.float64]:
        low, steps = int(self.low), int(self.high - self.low) + 1
        return frozen([low + -(-i * steps // self.cells) for i in range(1, self.cells)], np.float64)

    def text_of(self, number: float, digits: int = 6) -> str:
        if not self.has_time:
            return str(self.value_of(number))
        text = str(self.value_of(number))
        return text.removesuffix(":00") if text.count(":") == 2 else text

    def value_of(self, number: float) -> datetime.date:
        """A number of the grid as the date, or the date and time, that it stands for."""
        day = datetime.date(1970, 1, 1)
        if not self.has_time:
            return day + datetime.timedelta(days=number)
        start = datetime.datetime.combine(day, datetime.time())
        return start + datetime.timedelta(seconds=number)

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"name": self.name}
        data |= {"first": self.first.isoformat(), "last": self.last.isoformat()}
        steps = self.high - self.low + 1
        data |= {} if self.cells == min(DEFAULT_CELLS, steps) else {"cells": self.cells}
        return data | ({"missing": True} if self.missing else {})


@dataclass(frozen=True, init=False)
class Ordered(Numeric):
    """An attribute with a declared list of legal values that have an order, lowest first.

    Learners ask whether a value comes before another one, as they do with numbers. A value outside
    the list is missing. With `missing=True` missing values have a code of their own, after all others;
    otherwise they count as the first value.

    >>> Ordered("school", ("none", "primary", "secondary")).text_of(1)
    'primary'
    """

    values: tuple[Value, ...] = ()

    def __init__(self, name: str, values: Iterable[Value], missing: bool = False):
        listed = Categorical(name, values)  # type: ignore[arg-type]
        grid = {"low": 0.0, "high": float(listed.size), "scale": "linear", "cells": listed.size}
        for key, value in (
            grid | {"name": name, "missing": missing, "values": listed.values}
        ).items():
            object.__setattr__(self, key, value)
        self._check_missing()
        if not 2 <= listed.size <= MAX_VALUES - missing:
            raise DomainError(f"attribute {name!r}: an order needs two values or more")

    @cached_property
    def listed(self) -> Categorical:
        """The same values without their order."""
        return Categorical(self.name, self.values)

    def text_of(self, number: float, digits: int = 6) -> str:
        return spelling(self.values[min(int(number), self.cells - 1)])

    def to_json(self) -> dict[str, Any]:
        data: dict[str, Any] = {"name": self.name, "values": list(self.values), "ordered": True}
        return data | ({"missing": True} if self.missing else {})


Attribute = Categorical | Numeric
KINDS = (Categorical, Numeric, Date, Ordered)
"""The set is closed: an attribute of another class could have other codes."""


_is_day = re.compile(r"\d{4}-\d\d-\d\d").fullmatch


def _moment(bound: Any, name: str) -> datetime.date:
    """A bound as a date, or as a time in UTC without its zone."""
    try:
        if isinstance(bound, str):
            kind = datetime.date if _is_day(bound) else datetime.datetime
            bound = kind.fromisoformat(bound)
        if isinstance(bound, datetime.datetime):
            bound = bound if bound.tzinfo is None else bound.astimezone(datetime.UTC)
            return bound.replace(tzinfo=None, microsecond=0)
        if isinstance(bound, datetime.date):
            return bound
    except (ValueError, OverflowError):
        pass
    raise DomainError(f"attribute {name!r}: {bound!r} is no date; write it as 2024-01-31")


def _number(bound: datetime.date, has_time: bool) -> int:
    """Days since 1970, or seconds."""
    if not has_time:
        return bound.toordinal() - datetime.date(1970, 1, 1).toordinal()
    if not isinstance(bound, datetime.datetime):
        bound = datetime.datetime.combine(bound, datetime.time())
    return int((bound - datetime.datetime(1970, 1, 1)).total_seconds())


def check_name(name: object, what: str = "an attribute's name") -> None:
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


def is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_unicode(text: str) -> bool:
    """Whether the text can be written to a file; half a surrogate pair cannot."""
    return not any("\ud800" <= c <= "\udfff" for c in text)


def _shown(value: object) -> str:
    return "this number" if isinstance(value, int) else repr(value)  # it may be too long to print
