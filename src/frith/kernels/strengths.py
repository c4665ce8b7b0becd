"""How strongly a forest's corrections should speak: counted, and chosen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith._jit import compiled
from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.kernels.base import ColumnKernel
from frith.kernels.choices import Candidates
from frith.kernels.gradients import ScoreColumn

_TENTHS = 10
_MAX_FACTOR = 2**10


@dataclass(frozen=True, eq=False)
class StrengthCounts(Rebuilt):
    """How many records are right if what was added after `start` speaks with each of some strengths.

    A record's score for a label is ten times that of `start`, and a factor times what `column` has
    beyond it; the first best label wins. All numbers are integers, made from releases. A record
    moves each count by 0 or by 1, all the same way.
    """

    start: ScoreColumn
    column: ScoreColumn
    factors: NDArray[np.int64]
    domain: Domain

    def __post_init__(self) -> None:
        object.__setattr__(self, "factors", frozen(self.factors, np.int64))
        if self.factors.ndim != 1 or np.any(np.abs(self.factors) > _MAX_FACTOR):
            raise FormatError(f"strengths are tenths, at most {_MAX_FACTOR} of them")
        for column in (self.start, self.column):
            column.check(self.domain, self.domain.n_labels)

    @property
    def shape(self) -> tuple[int]:
        return (len(self.factors),)

    @property
    def attributes(self) -> tuple[int, ...]:
        return tuple(sorted({*self.start.attributes, *self.column.attributes}))

    @property
    def derived(self) -> tuple[ColumnKernel, ...]:
        return (self.start, self.column)

    @property
    def l1(self) -> int:
        return len(self.factors)

    @property
    def l2_squared(self) -> int:
        return len(self.factors)

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        start, scores = batch.derived[self.start], batch.derived[self.column]
        _count_right(batch.labels, start, scores, self.factors, out)


@dataclass(frozen=True, eq=False)
class StrengthChoice(Candidates):
    """Some strengths, each by the records that are right with it. Range 1: all move the same way."""

    kernel: StrengthCounts
    range_: ClassVar[int] = 1

    def __len__(self) -> int:
        return len(self.kernel.factors)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        return sums


@compiled
def _count_right(labels, start, scores, factors, out):  # type: ignore[no-untyped-def]
    for i in range(len(labels)):
        for f in range(len(factors)):
            best, most = 0, np.int64(0)
            for k in range(scores.shape[1]):
                first = np.int64(start[i, k])
                value = _TENTHS * first + factors[f] * (np.int64(scores[i, k]) - first)
                if k == 0 or value > most:
                    best, most = k, value
            out[f] += best == labels[i]
