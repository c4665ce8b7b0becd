"""A first draft of a domain, read from the records: for a curator to review, never for release.

Identifiers, rare values and exact extremes are kept out of drafts. That keeps drafts tidy and not private:
what a draft holds was still learned from the records.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, time
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._cached import cached_property
from frith.domain.attributes import (
    MAX_VALUES,
    Attribute,
    Categorical,
    Date,
    Numeric,
    Ordered,
)
from frith.domain.bounds import (
    LARGE,
    has_code,
    is_skewed,
    rounded,
    rounded_days,
    widened,
    without_outliers,
)
from frith.domain.columns import Columns, check_columns, columns_of
from frith.domain.dates import DAY, is_moment
from frith.domain.domain import Domain, Person
from frith.domain.drafted import Draft
from frith.domain.encoding import CELL_BYTES, _numbers, distinct, numbers_of
from frith.errors import DataError, DomainError

MISSING = "(missing)"
OTHER = "(other)"

RARE = 5
"""In a large table with many values, texts of fewer records than this are grouped under `OTHER`."""

LONG = 10
"""Only columns with more values than this have rare ones."""

MANY = 50
"""More texts than this, none of them `FREQUENT`, are names."""

FREQUENT = 0.01
"""The least share of the records that the most frequent of many texts must have."""

SMALL = 20
"""With fewer records, a column without repeats is no sign of an identifier."""

ALMOST_ALL = 0.95
"""At least this share of distinct whole numbers is a sign of an identifier."""

LONG_NUMBER = 7
"""Whole numbers that all have the same number of digits, at least this many, are codes."""

MOSTLY = 0.8
"""A column of texts counts as numbers if at least this share of them are numbers."""

MANY_LABELS = 50
"""A label with more distinct numbers than this is drafted as a number to predict."""

FEW_WHOLE = 50
"""A hint suggests a cell each for whole numbers within bounds at most this far apart."""

TARGET_CELLS = 2**15
"""The grid of a number to predict."""

_is_id = re.compile(r"(^|[ _.-])(id|ids|uuid|guid|key|index|number|nr|no)$|[a-z]I[dD]$").search

_is_other_date = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}([ T].*)?").fullmatch

_is_amount = re.compile(
    r"[-+]?([€$£¥]|EUR|USD|GBP|CHF)? ?[-+]?(\d+|\d{1,3}([,.']\d{3})+)([.,]\d+)? ?([€$£¥%]|EUR|USD|GBP|CHF)?"
).fullmatch

_AMOUNTS = "holds numbers with a currency, a % or marks of thousands; write them as 1234.50"

_ORDER = "if these have an order, write them in it and add `ordered = true`"
_ORDER_MISSING = f", with `missing = true` and without {MISSING!r} in the list"

_NESTED = (
    "holds lists or objects, which a domain cannot describe; turn them into text, a number or a date "
    "first"
)

_RECORDS = "looks like an identifier or free text: most values occur once"
_PERSON = "; if it names the protected person, declare it as `[person]`"

_NAMES = (
    f"looks like the names of people or things: over {MANY} values, none of them frequent; if it names "
    "the protected person, declare it as `[person]`, and if it is a public list, its values"
)

_EVER = Date("any", "0001-01-01 00:00", "9999-12-31 23:59:59")

SHORT = 14
"""Dates that span at most this many days keep the time of day."""


@dataclass
class _Column:
    """A column that is being drafted."""

    name: str
    cells: pa.ChunkedArray
    hints: list[str] = field(default_factory=list)

    @cached_property
    def seconds(self) -> NDArray[np.float64]:
        """Each date in seconds since 1970, NaN where there is none."""
        return np.concatenate([[], *(numbers_of(chunk, _EVER) for chunk in self.cells.chunks)])

    @cached_property
    def numbers(self) -> NDArray[np.float64]:
        """The number in each cell, NaN where there is none."""
        return np.concatenate([[], *(_numbers(chunk, self.name) for chunk in self.cells.chunks)])

    @cached_property
    def holds_numbers(self) -> bool:
        """Whether it holds numbers, or texts that are mostly numbers and not codes."""
        if _is_number(self.cells.type):
            return True
        if not _is_text(self.cells.type) or len(self.cells) < LARGE:
            return False
        texts = count_values(self.cells, self.name)
        texts.pop(None, None)
        numbers = self.numbers[np.isfinite(self.numbers)]
        if len(texts) <= LONG or len(numbers) < MOSTLY * texts.total() or _are_postcodes(texts):
            return False
        return len(numbers) < texts.total() or bool(np.any(numbers % 1))

    @cached_property
    def holds_dates(self) -> bool:
        """Whether every cell that is not missing is a date."""
        if is_moment(self.cells.type):
            return True
        if _is_number(self.cells.type) or pa.types.is_boolean(self.cells.type):
            return False
        dates = int(np.sum(~np.isnan(self.seconds)))
        return 0 < dates == len(self.cells) - self.cells.null_count


def draft_table(
    table: Any, label: str, person: str | None = None, leave_out: Iterable[str] = ()
) -> Draft:
    """A first domain of a DataFrame or an Arrow table; `frith.draft_domain` is its public form."""
    if not hasattr(table, "columns"):
        raise DataError(
            "a draft needs the names of columns: pass a DataFrame, an Arrow table or the name of a file"
        )
    columns, _ = columns_of(table)
    names = [str(n) for n in getattr(table, "column_names", table.columns)]
    unwanted = [leave_out] if isinstance(leave_out, str) else list(leave_out)
    roles = [("label", label), ("person", person), *(("left-out", name) for name in unwanted)]
    for role, name in roles:
        if name is not None and name not in names:
            raise DataError(f"the table has no {role} column {name!r}; it has {', '.join(names)}")
    attributes, left_out, hints = [], dict.fromkeys(unwanted, "as asked"), {}
    for name in names:
        if name in (label, person, *unwanted):
            continue
        try:
            column = _Column(name, columns(name))
        except DataError as error:
            left_out[name] = str(error).removeprefix(f"column {name!r} ")
            continue
        reason = _NESTED if _is_nested(table[name]) else _why_not(column)
        if reason is not None:
            left_out[name] = reason
        else:
            attributes.append(_draft_attribute(column))
            hints[name] = tuple(column.hints)
    if not attributes:
        reasons = "; ".join(f"{name!r}: {why}" for name, why in left_out.items())
        raise DataError(f"no column is left to draft an attribute from; {reasons}")
    domain = Domain(
        tuple(attributes),
        _draft_label(columns(label), label),
        person=None if person is None else Person(person, 1),
        learned=True,
    )
    return Draft(domain, left_out, hints)


def _draft_label(column: pa.ChunkedArray, name: str) -> Attribute:
    """A label with values, or with bounds if it has more than `MANY_LABELS` numbers."""
    if _is_number(column.type):
        numbers = np.concatenate([[], *(_numbers(chunk, name) for chunk in column.chunks)])
        if len(np.unique(numbers[np.isfinite(numbers)])) > MANY_LABELS:
            return draft_target(numbers, name)
    return Categorical(name, draft_values(column, name))


def draft_attributes(columns: Columns, names: Sequence[str]) -> tuple[Attribute, ...]:
    """One attribute for each column. An identifier keeps its place and none of its values."""
    check_columns(columns, names)
    return tuple(_draft_attribute(_Column(name, columns(name))) for name in names)


def draft_values(column: pa.ChunkedArray, name: str) -> tuple[Any, ...]:
    """The distinct values of a column, sorted; whole floats stay numbers."""
    found = set(count_values(column, name)) - {None}
    if not found:
        raise DomainError(f"column {name!r} holds no value; declare its values or leave it out")
    if len(found) > MAX_VALUES:
        raise DomainError(
            f"attribute {name!r} has {len(found):,} values; at most {MAX_VALUES:,} are possible: "
            "leave it out, or group rare ones under 'other'"
        )
    return tuple(sorted(found))


def _why_not(column: _Column) -> str | None:
    """Why a column should not be in a domain; None if it may be."""
    kind = column.cells.type
    if len(column.cells) == column.cells.null_count > 0:
        return "holds no value"
    if column.holds_dates:
        return None
    if pa.types.is_integer(kind):
        times = np.unique(column.cells.drop_null().to_numpy(), return_counts=True)
        if _are_codes(column.name, *times):
            return (
                "looks like an identifier: almost no two records share a number; if it is a quantity, "
                "declare its bounds"
            )
        if _is_id(column.name) and _are_names(times[1]):
            return _NAMES
    elif not column.holds_numbers:
        tally = count_values(column.cells, column.name)
        if tally.keys() - {None} and all(_is_other_date(str(v)) for v in tally if v is not None):
            return "holds dates in a form that is read in several ways; write them as 2024-01-31"
        if (_names_records(tally) or _names_things(tally)) and _are_amounts(tally):
            return _AMOUNTS
        if _names_records(tally):
            counts = _times(tally)
            return _RECORDS + (_PERSON if len(counts) < ALMOST_ALL * sum(counts) else "")
        if _names_things(tally):
            return _NAMES
    return None


def _are_codes(name: str, numbers: NDArray[Any], times: NDArray[np.int64]) -> bool:
    """Whether almost all of a column's whole numbers differ, as those of a quantity do not."""
    if len(numbers) < max(SMALL, ALMOST_ALL * times.sum()):
        return False
    low, high = int(numbers[0]), int(numbers[-1])
    is_dense = len(numbers) == times.sum() and high - low < 2 * len(numbers)
    return bool(_is_id(name)) or is_dense or len(str(low)) == len(str(high)) >= LONG_NUMBER


def _are_postcodes(texts: Iterable[str]) -> bool:
    """Whether some digits begin with 0, or all have the same length of at least five."""
    digits = [text for text in texts if text.isdecimal()]
    lengths = {len(text) for text in digits}
    return any(t[0] == "0" and len(t) > 1 for t in digits) or (
        len(lengths) == 1 and min(lengths) > 4
    )


def _are_amounts(tally: Counter[Any]) -> bool:
    """Whether most of many texts would be numbers without their currency or thousands marks."""
    texts = [value.strip() for value in tally if isinstance(value, str)]
    found = [text for text in texts if _is_amount(text)]
    return len(found) >= MOSTLY * len(texts) and not all(text.isdecimal() for text in found)


def _names_records(tally: Counter[Any]) -> bool:
    """Whether over half of the texts are distinct, or all of them are rare."""
    times = _times(tally)
    if sum(times) >= LARGE and len(times) > LONG and max(times) < RARE:
        return True
    return sum(times) >= SMALL and len(times) > sum(times) / 2


def _times(tally: Counter[Any]) -> list[int]:
    """How often each value occurs."""
    return [n for value, n in tally.items() if value is not None]


def _names_things(tally: Counter[Any]) -> bool:
    """Whether a list of texts is long, and none of them is frequent."""
    return _are_names([n for value, n in tally.items() if isinstance(value, str)])


def _are_names(times: Sequence[int] | NDArray[np.int64]) -> bool:
    return len(times) > MANY and max(times) < FREQUENT * sum(times)


def _draft_attribute(column: _Column) -> Attribute:
    if column.holds_dates:
        return _draft_date(column)
    if column.holds_numbers:
        return _draft_numeric(column)
    if pa.types.is_dictionary(column.cells.type) and column.cells.type.ordered:
        return _draft_ordered(column)
    name, tally = column.name, count_values(column.cells, column.name)
    has_missing = tally.pop(None, 0) > 0
    if not tally:
        return Categorical(name, (MISSING,), missing=MISSING)
    values: list[Any] = sorted(tally)
    if has_missing and isinstance(values[0], bool):  # a CSV file may spell a missing value as text
        return Categorical(name, ("false", "true", MISSING), other=MISSING, missing=MISSING)
    if not isinstance(values[0], str):
        return Categorical(name, tuple(values))
    values, other = _grouped(column, tally, values)
    if 2 < len(values) <= LONG:
        column.hints.append(_ORDER + (_ORDER_MISSING if has_missing else ""))
    if len({v.strip().casefold() for v in values}) < len(values):
        column.hints.append("some differ in capitals or spaces only: each counts as another value")
    if has_missing:
        values = [*(v for v in values if v != MISSING), MISSING]
    return Categorical(name, tuple(values), other=other, missing=MISSING if has_missing else None)


def _grouped(column: _Column, tally: Counter[Any], values: list[str]) -> tuple[list[str], Any]:
    """The values without the rare ones, and the value that rare ones count as."""
    if _names_records(tally) or _names_things(tally):
        return [OTHER], OTHER
    if len(values) <= LONG or tally.total() < LARGE:
        return values, None
    kept = [v for v in values if tally[v] >= RARE and v != OTHER]
    if len(kept) == len(values):
        return values, None
    column.hints.append(f"values of fewer than {RARE} records are grouped under {OTHER!r}")
    return [*kept, OTHER], OTHER


def count_values(column: pa.ChunkedArray, name: str) -> Counter[Any]:
    """How often each value occurs, in a form that can be declared; None if it cannot be."""
    tally: Counter[Any] = Counter()
    for chunk in column.chunks:
        places, values = distinct(chunk, name)
        cells = [*values.to_pylist(), None]
        places = np.minimum(places, len(cells) - 1)
        for place, times in zip(*np.unique(places, return_counts=True), strict=True):
            tally[_value(cells[place])] += int(times)
    return tally


def _value(cell: Any) -> Any:
    if isinstance(cell, bytes):
        return cell.decode(errors="replace") if len(cell) <= CELL_BYTES else None
    cell = float(cell) if isinstance(cell, Decimal) else cell
    return cell if cell is not None and math.isfinite(cell) else None


# -- numbers -----------------------------------------------------------------------------------


def _draft_numeric(column: _Column) -> Numeric:
    name, numbers = column.name, column.numbers
    finite, missing = numbers[np.isfinite(numbers)], bool(np.isnan(numbers).any())
    if len(finite) == 0:
        return Numeric(name, 0.0, 1.0, missing=missing)
    if np.isnan(numbers).sum() > column.cells.null_count and _is_text(column.cells.type):
        column.hints.append("numbers, and texts among them, which count as missing")
    usual = without_outliers(finite)
    if has_code(usual):
        column.hints.append(
            "many records share a number that is far from all others: if it means `no answer`, list the "
            "other values, with `ordered = true` and `missing = true`"
        )
    if len(usual) < len(finite):
        column.hints.append("a few numbers lie far outside these bounds and are clamped")
    low, high = rounded(*widened(usual))
    scale = "log" if is_skewed(usual) else "linear"
    if scale == "log":
        column.hints.append("a log scale, because most numbers are small beside the largest")
    elif (low, high) == (0, 1) and not np.any(usual % 1):
        column.hints.append(
            "0 and 1 alone: if they mean no and yes, declare `values = [0, 1]` instead"
        )
    elif not np.any(np.array([*usual, low, high]) % 1) and high - low <= FEW_WHOLE:
        column.hints.append(
            f"whole numbers: with `high = {high + 1:g}` and `cells = {high + 1 - low:g}` each has a cell of "
            "its own, and rules cut between them"
        )
    column.hints.append("bounds are from the data, rounded: replace them by what anyone may know")
    return Numeric(name, low, high, scale=scale, missing=missing)


def _draft_date(column: _Column) -> Date:
    """Bounds are whole years, or months over a short span, or days and times."""
    known, missing = column.seconds[~np.isnan(column.seconds)], bool(np.isnan(column.seconds).any())
    if len(known) == 0:
        return Date(column.name, "1900-01-01", "2099-12-31", missing=missing)
    usual = np.clip(without_outliers(known), _EVER.low, _EVER.high)
    if len(usual) < len(known):
        column.hints.append("a few dates lie far outside these bounds and are clamped")
    low, high = (_EVER.value_of(float(x)) for x in (usual.min(), usual.max()))
    assert isinstance(low, datetime)
    assert isinstance(high, datetime)
    column.hints.append("bounds are from the data, rounded: replace them by what anyone may know")
    if (high - low).days <= SHORT and np.any(usual % DAY):
        first, last = (
            datetime.combine(d, t) for d, t in ((low, time.min), (high, time(23, 59, 59)))
        )
        return Date(column.name, first, last, missing=missing)
    return Date(column.name, *rounded_days(low.date(), high.date()), missing=missing)


def _draft_ordered(column: _Column) -> Attribute:
    """The categories of an ordered type, whether they occur or not."""
    _, categories = distinct(column.cells.combine_chunks(), column.name)
    values = [_value(cell) for cell in categories.to_pylist()]
    if not 2 <= len(values) == len({*values} - {None}):
        return Categorical(column.name, draft_values(column.cells, column.name))
    return Ordered(column.name, values, missing=column.cells.null_count > 0)


def draft_target(numbers: NDArray[np.float64], name: str) -> Numeric:
    """A number to predict, with bounds around all finite numbers and a fine grid."""
    finite = numbers[np.isfinite(numbers)]
    low, high = rounded(*widened(finite)) if len(finite) else (0.0, 1.0)
    return Numeric(name, low, high, cells=TARGET_CELLS)


def _is_nested(column: Any) -> bool:
    """Whether a column of a DataFrame holds Python's lists or objects; Arrow has types for them."""
    if getattr(column, "dtype", None) != np.dtype(object):
        return False
    return any(isinstance(cell, list | tuple | dict | set | np.ndarray) for cell in column)


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_binary(kind) or pa.types.is_large_string(kind)


def _is_number(kind: pa.DataType) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
