"""What a table holds that its domain does not declare. Exact and private: for the curator only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._markup import card, lines, table
from frith.domain.attributes import Attribute, Categorical, Date, Numeric, Ordered
from frith.domain.columns import Columns
from frith.domain.domain import Domain
from frith.domain.encoding import cells_of, encode_label, numbers_of, person_digests
from frith.domain.notebook import SAVED

EXAMPLES = 3
_NOT_TOLD = ("attribute", "tally", "lowest", "highest", "treated", "missing_treated", "bounds")
_NOT_COUNTED = "the record is not counted"
_TALLIED = 1_000  # distinct outside values that are counted one by one in a column

OFTEN = 0.05
"""A notice reports a column if at least this share of its cells lies outside its domain."""

FAR_OFF = 0.2
"""How far the declared number of records may be off, as a share of that number."""

HELD_OUT = 0.35
"""How far a fit's records may fall short of the declared number: a third may be held out for tests."""

MANY = 50
"""A notice reports more labels than this: a number may have been declared as values."""

SMALL = 20
"""With fewer records, a value for almost every record is no sign of an identifier."""


@dataclass
class Finding:
    """How many cells of one column are missing, outside its values, or clamped to its bounds."""

    column: str
    role: str
    treated: str
    missing_treated: str
    missing_is_declared: bool = False
    attribute: Numeric | None = None
    bounds: str = ""
    missing: int = 0
    outside: int = 0
    clamped: int = 0
    tally: Counter[Any] = field(default_factory=Counter)
    lowest: float | None = None
    highest: float | None = None

    @property
    def consequence(self) -> str:
        """What training does with the cells that are counted here."""
        if self.bounds:
            return f"clamped to {self.bounds}, missing or no {self.kind}: {self.treated}"
        if self.missing_treated == self.treated:
            return self.treated
        return f"{self.treated}, missing: {self.missing_treated}"

    @property
    def kind(self) -> str:
        return "date" if isinstance(self.attribute, Date) else "number"

    @property
    def is_outside(self) -> bool:
        return bool(self.outside or self.clamped or (self.missing and not self.missing_is_declared))

    @property
    def examples(self) -> list[Any]:
        """The most frequent outside values, and the furthest clamped numbers."""
        numbers: list[Any] = sorted({n for n in (self.lowest, self.highest) if n is not None})
        if isinstance(self.attribute, Date):
            numbers = [_as_date(self.attribute, number) for number in numbers]
        return [*numbers, *(value for value, _ in self.tally.most_common(EXAMPLES))]

    def add_values(self, values: Iterable[Any]) -> None:
        for value, times in Counter(values).items():
            if value is None or value != value:
                self.missing += times
                continue
            self.outside += times
            text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
            if text in self.tally or len(self.tally) < _TALLIED:
                self.tally[text] += times

    def add_clamped(self, numbers: NDArray[np.float64]) -> None:
        if len(numbers):
            self.clamped += len(numbers)
            low, high = float(numbers.min()), float(numbers.max())
            self.lowest = low if self.lowest is None else min(low, self.lowest)
            self.highest = high if self.highest is None else max(high, self.highest)

    def to_json(self) -> dict[str, Any]:
        data = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in _NOT_TOLD}
        return data | {
            "consequence": self.consequence,
            "examples": [_plain(e) for e in self.examples],
        }


@dataclass(repr=False)
class Report:
    """The findings of a table, or of its first rows."""

    domain: Domain
    findings: list[Finding]
    rows: int = 0
    malformed_rows: int = 0
    unread_rows: int = 0
    is_whole: bool = True
    is_of_fit: bool = False
    """Whether it describes the records of a fit, some of which may be held out."""

    @property
    def is_outside(self) -> bool:
        return self.malformed_rows > 0 or any(f.is_outside for f in self.findings)

    def count_malformed(self, row: Any) -> str:
        """pyarrow's handler of CSV rows with a wrong number of cells: training skips them too."""
        self.malformed_rows += 1
        return "skip"

    @property
    def notices(self) -> list[str]:
        """A sentence for each thing that is probably a mistake in the domain.

        They quote no value and no count, since saved output is a publication, but they follow from
        exact counts: for the holder of the records alone.
        """
        return _notices(self)

    def __str__(self) -> str:
        """What is outside, a line a column, and the notices."""
        said = [f"{self.rows:,} records", SAVED]
        for f in self.findings:
            if f.is_outside:
                counts = f"{f.missing:,} missing, {f.outside:,} outside, {f.clamped:,} clamped"
                said.append(f"{f.column!r} ({f.role}): {counts}; {f.consequence}")
        return "\n".join([*said, *(f"note: {notice}" for notice in self.notices)])

    def __repr__(self) -> str:
        return f"<Report of a check by {self.domain!r}: private; print it to read it>"

    def _repr_html_(self) -> str:
        head = ("column", "role", "missing", "outside", "clamped", "so")
        rows = [
            (
                f.column,
                f.role,
                *(f"{n:,}" for n in (f.missing, f.outside, f.clamped)),
                f.consequence,
            )
            for f in self.findings
            if f.is_outside
        ]
        shown = table(head, rows, (2, 3, 4)) if rows else lines("nothing is outside the domain")
        said = (f"{self.rows:,} records", *self.notices, SAVED)
        return card("Check of a table by its domain", shown, lines(*said))

    def to_json(self) -> dict[str, Any]:
        return {
            "outside": self.is_outside,
            "rows": self.rows,
            "malformed_rows": self.malformed_rows,
            "notices": self.notices,
            "columns": [f.to_json() for f in self.findings],
        }


def empty_report(domain: Domain) -> Report:
    findings = [_finding(a) for a in domain.attributes]
    bounds = _finding(domain.label).bounds if domain.has_target else ""
    label = Finding(domain.label.name, "label", _NOT_COUNTED, _NOT_COUNTED, bounds=bounds)
    findings.append(label)
    if domain.person is not None:
        findings.append(Finding(domain.person.column, "person", _NOT_COUNTED, _NOT_COUNTED))
    return Report(domain, findings)


def add_columns(report: Report, columns: Columns, rows: int) -> None:
    """Count what each declared column holds outside its domain."""
    domain = report.domain
    report.rows += rows
    declared = (*domain.attributes, domain.label)
    for finding, attribute in zip(report.findings, declared, strict=False):
        if isinstance(attribute, Categorical):
            _look_at_values(columns(attribute.name), attribute, finding)
        else:
            _look_at_numbers(columns(attribute.name), attribute, finding)
    if domain.person is not None:
        _, named = person_digests(columns(domain.person.column), b"any key will do")
        report.findings[-1].missing += int(np.sum(~named))


def _as_date(attribute: Date, number: float) -> str:
    """A clamped date; a file may hold one that no calendar has."""
    try:
        return attribute.text_of(number)
    except (OverflowError, ValueError):
        return "a date beyond the year 9999, or before the year 1"


def _plain(example: Any) -> Any:
    """An infinite example as text, because JSON has no infinity."""
    return str(example) if isinstance(example, float) and not np.isfinite(example) else example


def _finding(attribute: Attribute) -> Finding:
    name = attribute.name
    if isinstance(attribute, Categorical):
        treated, missing = (
            f"counts as {attribute.values[code]!r}"
            for code in (attribute.outside_code, attribute.missing_code)
        )
        return Finding(name, "attribute", treated, missing, attribute.missing is not None)
    low = attribute.text_of(attribute.low)
    missing = "has a code of its own" if attribute.missing else f"counts as {low}"
    bounds = (
        "" if isinstance(attribute, Ordered) else f"{low} .. {attribute.text_of(attribute.high)}"
    )
    return Finding(name, "attribute", missing, missing, attribute.missing, attribute, bounds)


def _look_at_values(column: pa.ChunkedArray, attribute: Categorical, finding: Finding) -> None:
    unknown = encode_label(column, attribute) < 0
    if unknown.any():
        for chunk in column.filter(pa.array(unknown)).chunks:
            finding.add_values(cells_of(chunk, attribute.name))


def _look_at_numbers(column: pa.ChunkedArray, attribute: Numeric, finding: Finding) -> None:
    """Text that is not a number counts as outside; training treats it as missing."""
    for chunk in column.chunks:
        numbers = numbers_of(chunk, attribute)
        finding.add_clamped(numbers[(numbers < attribute.low) | (numbers > attribute.high)])
        none = np.isnan(numbers)
        if none.any():
            finding.add_values(cells_of(chunk.filter(pa.array(none)), attribute.name))


# -- what is probably a mistake ------------------------------------------------------------------


def _notices(report: Report) -> list[str]:
    domain = report.domain
    if report.rows == 0 and report.is_whole:
        return ["the table holds no record"]
    attributes: list[Attribute] = [*domain.attributes, domain.label]
    found = list(_records(report))
    for finding, attribute in zip(report.findings, attributes, strict=False):
        found += _column(finding, attribute, report.rows)
    if domain.person is not None and report.findings[-1].missing > OFTEN * report.rows:
        found.append(
            f"over {OFTEN:.0%} of the records name no person in {domain.person.column!r} and were "
            "not counted"
        )
    return found


def _records(report: Report) -> Iterator[str]:
    declared = report.domain.records
    if declared is None:
        return
    rows = report.rows + report.unread_rows
    may_miss = HELD_OUT if report.is_of_fit else FAR_OFF
    is_less = report.is_whole and rows < (1 - may_miss) * declared
    if is_less or rows > (1 + FAR_OFF) * declared:
        yield (
            f"the table has far {'fewer' if is_less else 'more'} records than records = {declared:,} "
            "declares; learners choose their shape by that number"
        )


def _column(finding: Finding, attribute: Attribute, rows: int) -> Iterator[str]:
    name, present = attribute.name, rows - finding.missing
    if attribute.size == 1 and finding.role == "attribute":
        yield (
            f"{name!r} has a single declared value, so nothing can be learned from it (a domain that "
            "fit learns holds no value of identifiers)"
        )
    elif present and finding.outside == present:
        yield _nothing_inside(finding, attribute)
    elif finding.outside + finding.clamped > OFTEN * rows:
        yield f"over {OFTEN:.0%} of {name!r} {_often_outside(finding, attribute)}"
    if finding.missing > OFTEN * rows and not finding.missing_is_declared:
        yield f"over {OFTEN:.0%} of {name!r} are missing: {finding.missing_treated}"
    is_class = finding.role == "label" and isinstance(attribute, Categorical)
    if is_class and attribute.size > MANY:
        yield f"{name!r} has over {MANY} labels, each a class of its own; is it a number to predict?"
    elif isinstance(attribute, Categorical) and rows >= SMALL and attribute.size > rows / 2:
        yield (
            f"{name!r} declares a value for almost every record: it looks like an identifier, and "
            "declared values are public"
        )


def _often_outside(finding: Finding, attribute: Attribute) -> str:
    other = attribute.other if isinstance(attribute, Categorical) else None
    if finding.role == "attribute" and other is not None:
        return f"are not listed: {finding.treated}, as declared; if that is meant, nothing is wrong"
    if not finding.bounds:
        return f"lie outside what is declared: {finding.treated}"
    if finding.outside > finding.clamped:
        return f"hold no {finding.kind}: {finding.treated}"
    return f"lie outside what is declared: clamped to {finding.bounds}"


def _nothing_inside(finding: Finding, attribute: Attribute) -> str:
    name = attribute.name
    attribute = attribute.listed if isinstance(attribute, Ordered) else attribute
    if not isinstance(attribute, Categorical):
        return (
            f"{name!r} is declared as a {finding.kind}, and no cell of it is one: {finding.treated}"
        )
    if finding.role == "label":
        what = f"no record has one of the declared labels of {name!r}, so none was counted"
    else:
        what = f"no cell of {name!r} is one of its declared values: {finding.treated}"
    declared = {_folded(v) for v in attribute.values}
    alike = any(_folded(v) in declared for v in finding.tally)
    return what + (" (they differ in capitals or spaces only)" if alike else "")


def _folded(value: object) -> str:
    return str(value).strip().casefold()
