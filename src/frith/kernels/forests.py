"""How many records each of several forests predicts right, and a private choice between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.kernels.base import ColumnKernel
from frith.kernels.choices import Candidates

_VOTED_ROWS = 4_096  # records whose votes are held at once


@dataclass(frozen=True, eq=False)
class RightCounts:
    """How many records each of k forests predicts right.

    Forests are made of releases and predict a record from that record alone. A record moves each
    count by 0 or by 1, all the same way: L1 = squared L2 = k.
    """

    forests: tuple[Forest, ...]
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()

    def __post_init__(self) -> None:
        if type(self.forests) is not tuple or not self.forests:
            raise FormatError("several forests are a tuple of them")
        for forest in self.forests:
            if type(forest) is not Forest or type(forest.trees) is not Trees:
                raise FormatError("what is compared are frith's own forests")
            if forest.domain.has_target or not forest.domain.same_codes(self.domain):
                raise FormatError("forests that are compared predict the same labels from the same")

    @property
    def domain(self) -> Domain:
        return self.forests[0].domain

    @property
    def shape(self) -> tuple[int]:
        return (len(self.forests),)

    @property
    def attributes(self) -> tuple[int, ...]:
        return tuple(sorted({a for forest in self.forests for a in forest.trees.asked}))

    @property
    def l1(self) -> int:
        return len(self.forests)

    @property
    def l2_squared(self) -> int:
        return len(self.forests)

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        for start in range(0, len(batch), _VOTED_ROWS):
            rows = slice(start, start + _VOTED_ROWS)
            for i, forest in enumerate(self.forests):
                said = forest.labels_of_codes(batch.codes[rows], threads=1)
                out[i] += int(np.sum(said == batch.labels[rows]))


@dataclass(frozen=True, eq=False)
class ForestChoice(Candidates):
    """Several forests, each by the records that it gets right. Range 1: all move the same way."""

    kernel: RightCounts
    range_: ClassVar[int] = 1

    def __len__(self) -> int:
        return len(self.kernel.forests)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        return sums
