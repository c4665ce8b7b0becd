"""How much a forest speaks against labels: what prediction sets are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import DomainError
from frith.forest import Forest
from frith.kernels.base import ColumnKernel
from frith.kernels.quantiles import QuantileChoice

CELLS = 1_024
_BLUR = 0.05
"""How much of a label's score is a hash: it tells apart records that have the same probabilities."""
_VOTED_ROWS = 4_096  # records whose probabilities are held at once
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


def strangeness(forest: Forest, codes: NDArray[Any]) -> Floats:
    """For each record and label a number from 0 to 1: small where the forest holds the label for likely.

    1 less the label's probability, blurred by a keyed hash of the record and the label. Forests give many
    records the same probabilities; without the hash, a set would have to hold all such labels or none.
    """
    chances = forest.proba_of_codes(codes, threads=1)
    return np.asarray((1 - chances + _BLUR * _hashes(forest.domain, codes)) / (1 + _BLUR))


def cell_of(numbers: Floats) -> NDArray[np.int64]:
    """The cell of each number on the grid; anything else is in the last one."""
    inside = np.where(np.isfinite(numbers), numbers, 1.0)
    return np.clip((CELLS * inside).astype(np.int64), 0, CELLS - 1)


def _hashes(domain: Domain, codes: NDArray[Any]) -> Floats:
    """A number from 0 to 1 for each record and label, from its codes and the domain's fingerprint."""
    seed = np.frombuffer(bytes.fromhex(domain.fingerprint)[8:16], dtype="<u8")[0]
    with np.errstate(over="ignore"):
        state = np.full(len(codes), seed)
        for column in codes.T:
            state = _mixed(state ^ column.astype(np.uint64))
        labels = np.arange(1, domain.n_labels + 1, dtype=np.uint64)
        both = _mixed(state[:, None] ^ (labels * _GOLDEN))
    return np.asarray(both >> np.uint64(11)) / 2.0**53


def _mixed(z: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The splitmix64 finalizer."""
    z = z + _GOLDEN
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@dataclass(frozen=True, eq=False)
class StrangeCounts:
    """How many records have a label that is how strange to a forest, on a public grid.

    The forest is made of releases, and a record's number follows from that record alone, so it is in
    one cell: L1 = squared L2 = 1.
    """

    forest: Forest
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()
    shape: ClassVar[tuple[int, ...]] = (CELLS,)
    l1: ClassVar[int] = 1
    l2_squared: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if self.domain.has_target:
            raise DomainError(
                "prediction sets are of labels with values, and the label is a number"
            )

    @property
    def domain(self) -> Domain:
        return self.forest.domain

    @property
    def attributes(self) -> tuple[int, ...]:
        return tuple(range(len(self.domain.attributes)))  # the hash is of all of them

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        for start in range(0, len(batch), _VOTED_ROWS):
            rows = slice(start, start + _VOTED_ROWS)
            numbers, labels = strangeness(self.forest, batch.codes[rows]), batch.labels[rows]
            own = numbers[np.arange(len(labels)), labels]
            out += np.bincount(cell_of(own), minlength=CELLS)


@dataclass(frozen=True, eq=False)
class StrangeQuantile(QuantileChoice):
    """The cells of that grid, each by how far it is from holding a quantile of the records' numbers."""

    kernel: StrangeCounts  # type: ignore[assignment]

    @property
    def cells(self) -> int:
        return CELLS
