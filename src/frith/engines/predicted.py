"""A table as a predictor sees it: the bin of each record's prediction, and little else."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from frith._cached import cached_property
from frith.domain import Categorical, Domain
from frith.domain.columns import as_table, chunked
from frith.engines.base import LocalEngine, Task
from frith.engines.memory import MemoryEngine, check_table, flat, rows_of, with_labels

Predictor = Callable[[Any], Any]
"""Rows of a table in, one number for each row out; each from its own row alone."""
ROW_WISE = "the predictor predicts each record from that record alone, to the last bit"
_ROWS = 4_096
_UNKNOWN = 0.5


class Predicted(LocalEngine):
    """Records as the bins of their predictions, some of their attributes, and their labels.

    The predictor is called after the first charge. If it raises on some rows it is asked row by row,
    and a row without a number gets 1/2: no value of a record raises.
    """

    def __init__(
        self,
        table: Any,
        domain: Domain,
        y: Any,
        by: tuple[str, ...],
        predictor: Predictor,
        edges: NDArray[np.float64],
        threads: int | None = None,
    ):
        table = as_table(table, len(domain.names) + (y is None))
        labels = None if y is None else chunked(flat(y), domain.label.name)
        self._columns, self._size = with_labels(table, labels, domain)
        self._table, self._predictor, self._edges = table, predictor, edges
        super().__init__(_binned(domain, by, len(edges) + 1), threads)
        self.assumptions = (ROW_WISE,)
        check_table(table, labels, domain)

    @property
    def _kept(self) -> tuple[str, ...]:
        """The columns that are kept as they are."""
        person = () if self.domain.person is None else (self.domain.person.column,)
        return (*self.domain.names[1:], self.domain.label.name, *person)

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        return self._memory.tasks(attributes)

    @cached_property
    def _memory(self) -> MemoryEngine:
        chances = [
            predict_all(self._predictor, rows_of(self._table, start, start + _ROWS))
            for start in range(0, self._size, _ROWS)
        ]
        bins = np.searchsorted(self._edges, np.concatenate([np.empty(0), *chances]))
        columns = {name: self._columns(name) for name in self._kept}
        table = pa.table({self.domain.names[0]: bins} | columns)
        return MemoryEngine(table, self.domain, threads=self.threads)


def predict_all(predictor: Predictor, rows: Any) -> NDArray[np.float64]:
    """A number for each row, whatever the rows are."""
    size = len(rows)
    try:
        return _numbers(predictor(rows), size)
    except KeyboardInterrupt:
        raise
    except BaseException:  # noqa: BLE001 - of any class: it would tell of a record
        if size == 1:
            return np.full(1, _UNKNOWN)
        return np.concatenate(
            [predict_all(predictor, rows_of(rows, i, i + 1)) for i in range(size)]
        )


def _numbers(given: Any, size: int) -> NDArray[np.float64]:
    numbers = np.asarray(given, dtype=np.float64).reshape(size)
    return np.where(np.isnan(numbers), _UNKNOWN, numbers)


def _binned(domain: Domain, by: tuple[str, ...], n_bins: int) -> Domain:
    """The domain of the bins and of the attributes that are kept."""
    taken = {*domain.names, domain.label.name, domain.person and domain.person.column}
    name = "bin"
    while name in taken:
        name += "_"
    kept = (a for wanted in by for a in domain.attributes if a.name == wanted)
    return replace(domain, attributes=(Categorical(name, tuple(range(n_bins))), *kept))
