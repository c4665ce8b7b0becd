"""A part of a table, by a keyed hash of each record, so that held-out records are not trained on."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from frith.domain.encoding import Batch
from frith.engines.base import Engine, LocalEngine, Task
from frith.engines.persons import record_hashes
from frith.errors import DataError
from frith.kernels.base import ColumnKernel


class Part(LocalEngine):
    """The records whose hash is under a share of all hashes, or, with `rest`, all others.

    Which part a record is in follows from that record alone, so the two parts of a table compose in
    parallel: a record is in one of them, whatever the others are. For persons this
    holds only if one record of each is counted. With `declared`, the part's domain declares that share
    of the table's number of records.
    """

    def __init__(
        self, table: Engine, share: Fraction, *, rest: bool, declared: Fraction | None = None
    ):
        if not isinstance(table, LocalEngine):
            raise DataError(
                "records are held out only of a table in this process: not of a Spark table, nor on a GPU, "
                "so leave out device='cuda'"
            )
        person = table.domain.person
        if person is not None and person.records > 1:
            raise DataError(
                f"records can be held out where a person has one, and {person.column!r} may have "
                f"{person.records}: both parts could hold records of one person"
            )
        domain = table.domain
        if declared is not None and domain.records is not None:
            domain = replace(domain, records=max(1, round(declared * domain.records)))
        super().__init__(domain, table.threads)
        self.assumptions, self.types = table.assumptions, table.types
        self._table, self._rest = table, rest
        self._under = np.uint64(int(share * 2**64))

    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        every = tuple(range(len(self.domain.attributes)))  # the hash is of all of them
        for task in self._table.tasks(every):
            yield functools.partial(self._take, task)

    def derive(self, column: ColumnKernel) -> None:
        self._table.derive(column)

    def _take(self, task: Task) -> Batch:
        batch = task()
        nobody = np.empty((len(batch), 0), dtype=np.uint64)
        kept = (record_hashes(batch, nobody, self._table.domain) < self._under) != self._rest
        derived = {column: values[kept] for column, values in batch.derived.items()}
        return Batch(batch.codes[kept], batch.labels[kept], derived)
