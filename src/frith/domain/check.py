"""What a table holds that its domain does not declare. Exact and private: for the curator only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith.domain.domain import Attribute, Categorical, Domain, Numeric
from frith.domain.encoding import _numbers, columns_of, encode_label, person_digests

EXAMPLES = 3
_TALLIED = 1_000  # distinct outside values that are counted one by one in a column


@dataclass
class Finding:
    """How many cells of one column are missing, outside its values, or clamped to its bounds."""

    column: str
    role: str
    consequence: str
    missing_is_declared: bool = False
    missing: int = 0
    outside: int = 0
    clamped: int = 0
    tally: Counter[Any] = field(default_factory=Counter)
    lowest: float | None = None
    highest: float | None = None

    @property
    def is_outside(self) -> bool:
        return bool(self.outside or self.clamped or (self.missing and not self.missing_is_declared))

    @property
    def examples(self) -> list[Any]:
        """The most frequent outside values, and the furthest clamped numbers."""
        numbers = {n for n in (self.lowest, self.highest) if n is not None}
        return [*sorted(numbers), *(value for value, _ in self.tally.most_common(EXAMPLES))]

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
        data = {k: v for k, v in asdict(self).items() if k not in ("tally", "lowest", "highest")}
        return data | {"examples": [_plain(e) for e in self.examples]}


@dataclass
class Report:
    """The findings of a whole table."""

    findings: list[Finding]
    rows: int = 0
    malformed_rows: int = 0

    @property
    def is_outside(self) -> bool:
        return self.malformed_rows > 0 or any(f.is_outside for f in self.findings)

    def count_malformed(self, row: Any) -> str:
        """pyarrow's handler of CSV rows with a wrong number of cells: training skips them too."""
        self.malformed_rows += 1
        return "skip"

    def to_json(self) -> dict[str, Any]:
        return {
            "outside": self.is_outside,
            "rows": self.rows,
            "malformed_rows": self.malformed_rows,
            "columns": [f.to_json() for f in self.findings],
        }


def empty_report(domain: Domain) -> Report:
    findings = [_finding(a) for a in domain.attributes]
    findings.append(Finding(domain.label.name, "label", "the record is not counted"))
    if domain.person is not None:
        findings.append(Finding(domain.person.column, "person", "the record is not counted"))
    return Report(findings)


def add_batch(report: Report, batch: pa.RecordBatch, domain: Domain) -> None:
    """Count what each declared column of the batch holds outside its domain."""
    columns, rows = columns_of(batch)
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


def _plain(example: Any) -> Any:
    """JSON has no infinities, so write an infinite example as text."""
    return str(example) if isinstance(example, float) and not np.isfinite(example) else example


def _finding(attribute: Attribute) -> Finding:
    if isinstance(attribute, Categorical):
        values = attribute.values
        consequence = f"counts as {values[attribute.outside_code]!r}"
        if attribute.missing_code != attribute.outside_code:
            consequence += f", missing as {values[attribute.missing_code]!r}"
        return Finding(attribute.name, "attribute", consequence, attribute.missing is not None)
    consequence = f"clamped to {attribute.low:g} .. {attribute.high:g}"
    if not attribute.missing:
        consequence += f", missing as {attribute.low:g}"
    return Finding(attribute.name, "attribute", consequence, attribute.missing)


def _look_at_values(column: pa.ChunkedArray, attribute: Categorical, finding: Finding) -> None:
    unknown = encode_label(column, attribute) < 0
    if unknown.any():
        finding.add_values(column.filter(pa.array(unknown)).to_pylist())


def _look_at_numbers(column: pa.ChunkedArray, attribute: Numeric, finding: Finding) -> None:
    """Text that is not a number counts as outside; training treats it as missing."""
    for chunk in column.chunks:
        numbers = _numbers(chunk, attribute.name)
        finding.add_clamped(numbers[(numbers < attribute.low) | (numbers > attribute.high)])
        none = np.isnan(numbers)
        if none.any():
            finding.add_values(chunk.filter(pa.array(none)).to_pylist())
