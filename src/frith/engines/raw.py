"""Records before they have a domain: numbers on public grids, and the values of other columns."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._arrays import Floats
from frith._cached import cached_property
from frith.domain import Domain, Numeric, spelling
from frith.domain.columns import Columns
from frith.domain.draft import count_values
from frith.domain.encoding import Batch, encode_records, numbers_of
from frith.engines.base import Engine, LocalEngine, Task
from frith.engines.check import raw_of
from frith.engines.persons import bound_records, encode_with_persons, kept_raw_records

EVERY = "every record"
"""The label that every record has here."""


class RawTable(LocalEngine):
    """The table behind another engine, for a paid draft.

    `domain` names the columns of the draft, the label among them, and gives every record the same
    label. A column in `grids` is not read as a number but as its place on that grid of numbers:
    2 i + 1 for the number grid[i] itself and 2 i for what lies before it. No value of a record raises.
    """

    def __init__(
        self,
        source: Engine,
        domain: Domain,
        grids: Mapping[str, Floats],
        threads: int | None = None,
    ):
        super().__init__(domain, threads)
        self.assumptions, self._grids, self._raw = source.assumptions, grids, raw_of(source)

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        yield lambda: self._encoded

    def tally(self, name: str) -> Counter[str]:
        """How many records have each value of a column, by its spelling.

        Missing values are left out, and so is whatever reads as an infinite number or NaN, as a number or
        as text: one text in a column turns its numbers into texts and must not turn them into values.

        For each person, the records with the smallest keyed hashes of all their cells are counted: which
        records are kept depends on that person's raw records alone.
        """
        counts: Counter[str] = Counter()
        kept, seen = self._kept, 0
        for columns, rows in self._raw():
            column = columns(name)
            if kept is not None:
                column = column.filter(pa.array(kept[seen : seen + rows]))
                seen += rows
            for value, times in count_values(column, name).items():
                if value is not None and _is_value(text := spelling(value)):
                    counts[text] += times
        return counts

    @cached_property
    def _encoded(self) -> Batch:
        domain, parts = self.domain, [(self._placed(c, n), n) for c, n in self._raw()]
        if domain.person is None:
            batches = [encode_records(columns, domain)[0] for columns, _ in parts]
            return _joined(batches, domain)
        pairs = [encode_with_persons(columns, domain) for columns, _ in parts]
        digests = np.concatenate([np.empty((0, 4), np.uint64), *(d for _, d in pairs)])
        return bound_records(_joined([batch for batch, _ in pairs], domain), digests, domain)

    @cached_property
    def _kept(self) -> NDArray[np.bool_] | None:
        """Which records are counted, if a person may have several."""
        if self.domain.person is None:
            return None
        return kept_raw_records((columns for columns, _ in self._raw()), self.domain)

    def _placed(self, columns: Columns, rows: int) -> Columns:
        def column(name: str) -> pa.ChunkedArray:
            if name == self.domain.label.name:
                return pa.chunked_array([pa.repeat(EVERY, rows)])
            cells = columns(name)
            if name not in self._grids:
                return cells
            (attribute,) = self.domain.view([name]).attributes
            assert isinstance(attribute, Numeric)
            places = [_places(numbers_of(c, attribute), self._grids[name]) for c in cells.chunks]
            return pa.chunked_array([pa.array(p) for p in places], pa.float64())

        return column


def _places(numbers: Floats, grid: Floats) -> Floats:
    """The middle of each number's cell, NaN where there is no number."""
    sides = (np.searchsorted(grid, numbers, side) for side in ("left", "right"))
    return np.where(np.isnan(numbers), np.nan, sum(sides) + 0.5)


def _joined(batches: list[Batch], domain: Domain) -> Batch:
    codes = np.empty((0, len(domain.attributes)), domain.code_type)
    labels = np.empty(0, domain.label_type)
    return Batch(
        np.concatenate([codes, *(b.codes for b in batches)]),
        np.concatenate([labels, *(b.labels for b in batches)]),
    )


def _is_value(text: str) -> bool:
    try:
        return math.isfinite(float(text))
    except ValueError:
        return True
