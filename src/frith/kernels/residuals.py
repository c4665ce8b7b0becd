"""Questions of a forest that predicts a number: sums of clipped residuals, and where targets lie.

A target t is the middle of its cell on the declared grid, in fixed point: half of the declared range
is `HALF`, so t is between -HALF and HALF whatever the target's own unit. A record's score F is what
earlier releases predict for it, in the same fixed point. The only thing that is ever summed is

    c = (t - F) UNIT / width, rounded towards zero, clipped to +-UNIT,  for a public width >= 1,
    g = tilt + c,  for a public whole number |tilt| < UNIT.

Without a tilt g tells how far a score is from a mean. With a tilt of (2 q - 1) UNIT it tells how far it
is from the quantile q: where no target is within a width of F, g is 2 UNIT times q for a target above and
q - 1 for one below, and these add up to 0 where a share q is below.

No overflow: |t - F| < 2^20 + 2^31 for every score of 32 bits, also one that has wrapped around, so
the product with UNIT = 2^14 stays under 2^46. What a record adds is bounded by the clip and not by
how its score came about.

Both divisions are of floats, which takes a third of the time, and exact. Numerators are whole numbers under
2^46, so floats hold them. A quotient that is no whole number is at least 1 / divisor below the next one, and
rounding moves it by at most 2^-53 of itself: quotients that are kept are at most 2^22, and divisors at
most 2^24, so it stays below. One that is beyond the clip does not get under it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt
from frith._cached import cached_property
from frith._jit import compiled
from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest.leaf_tables import leaves_of
from frith.kernels.base import ColumnKernel
from frith.kernels.choices import Candidates, StepChoice
from frith.kernels.gradients import UNIT, BinSums, Cells

HALF = 2**20
"""Half of the target's declared range, in the fixed point of scores."""
_MAX_WIDTH = 2**24
_LEVELS = 4
_PARTS = 2 ** (_LEVELS + 1)
_WEIGHT = 2**12
_MOST_ASKED = 2**16
_BLOCK = 512  # records whose residuals are held at once
_GROWTH = 1.12  # how much more a record counts in an interval of half the length


@compiled
def clipped_residual(code, cells, score, width):  # type: ignore[no-untyped-def]
    """c of a record whose target is in cell `code` of `cells`."""
    target = np.int64(np.float64((2 * np.int64(code) + 1) * HALF) / cells) - HALF
    distance = target - np.int64(score)
    size = np.int64(min(np.float64(abs(distance) * UNIT) / width, np.float64(UNIT)))
    return size if distance >= 0 else -size


def tilt_of(level: int) -> int:
    """The tilt towards a quantile, whose level is in thousandths; 0 for the median."""
    return round((2 * level - 1_000) * UNIT / 1_000)


def _check_clip(width: object, tilt: object) -> None:
    if type(width) is not int or not 1 <= width <= _MAX_WIDTH:
        raise FormatError(f"a width of residuals is a whole number from 1 to {_MAX_WIDTH:,}")
    if type(tilt) is not int or not -UNIT < tilt < UNIT:
        raise FormatError(f"a tilt of residuals is a whole number between {-UNIT:,} and {UNIT:,}")


@dataclass(frozen=True, eq=False)
class TargetCounts(Rebuilt):
    """How many targets lie in each of 32 equal parts of the declared range.

    A record is in one part: L1 = squared L2 = 1.
    """

    domain: Domain
    shape: ClassVar[tuple[int, ...]] = (_PARTS,)
    attributes: ClassVar[tuple[int, ...]] = ()
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()
    l1: ClassVar[int] = 1
    l2_squared: ClassVar[int] = 1

    def __post_init__(self) -> None:
        _ = self.domain.target  # raises where labels are classes

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        parts = batch.labels.astype(np.int64) * _PARTS // self.domain.target.cells
        out += np.bincount(parts, minlength=_PARTS)


@dataclass(frozen=True, eq=False)
class IntervalChoice(Candidates):
    """Intervals of the declared range, of 1, 1/2, .. 1/16 of it, each half over the next one.

    A score is the number of targets inside, times a public integer that is larger for a shorter
    interval: `_WEIGHT` for the shortest.

    Range    `_WEIGHT`: a record raises the score of each interval that it is in, by at most that,
             and no other. All scores move the same way.
    """

    kernel: TargetCounts
    range_: ClassVar[int] = _WEIGHT

    @cached_property
    def _intervals(self) -> list[tuple[int, int, int]]:
        """The first part of each interval, its number of parts, and its weight."""
        return [
            (k * (_PARTS >> j) // 2, _PARTS >> j, math.floor(_WEIGHT * _GROWTH ** (j - _LEVELS)))
            for j in range(_LEVELS + 1)
            for k in range(2 ** (j + 1) - 1)
        ]

    def __len__(self) -> int:
        return len(self._intervals)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[Any]:
        below = np.concatenate([[0], np.cumsum(sums)])
        return np.array([w * (below[b + k] - below[b]) for b, k, w in self._intervals])

    def chosen(self, place: int) -> tuple[int, int]:
        """The interval's center and half of its length, in the fixed point of scores."""
        begin, count, _ = self._intervals[place]
        part = 2 * HALF // _PARTS
        return begin * part + count * part // 2 - HALF, count * part // 2


@dataclass(frozen=True, eq=False)
class ResidualSums(BinSums):
    """In every bin of every attribute, the sum of its records' clipped residuals g.

    A record adds g to one bin of each attribute, and |g| <= UNIT + |tilt|.
    """

    width: int
    tilt: int = 0

    def __post_init__(self) -> None:
        _check_clip(self.width, self.tilt)
        _ = self.domain.target
        self.column.check(self.domain, None)

    @property
    def shape(self) -> tuple[int]:
        return (self.layout.n_bins,)

    @property
    def max_gradient(self) -> int:
        return UNIT + abs(self.tilt)

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        lookup, begins = self.layout.lookup
        _sum_residuals(
            batch.codes, batch.labels, self.domain.target.cells, batch.derived[self.column],
            self.width, self.tilt, lookup, begins, out,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class ResidualChoice(StepChoice):
    """Every split in two, each followed by itself with the sign turned, by sums of residuals.

    `asked` tells how often earlier steps asked each attribute; none are given before the first. One that
    was asked k times weighs 1 + k: what spoke once is likely to say more.

    Range    2 (UNIT + |tilt|): one more record moves each score by g or by -g, and
             |g| <= UNIT + |tilt|. Weights follow from earlier releases and move no score.
    """

    kernel: ResidualSums  # type: ignore[assignment]
    asked: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        whole = all(type(k) is int and 0 <= k <= _MOST_ASKED for k in self.asked)
        if not whole or len(self.asked) not in (0, len(self.domain.attributes)):
            raise FormatError("a step tells how often each attribute was asked, or of none")

    @property
    def weights(self) -> NDArray[np.float64]:
        if not self.asked:
            return super().weights
        often = np.log1p([*self.asked, 0])  # the last place is of the split that asks no attribute
        return super().weights + np.repeat(often[self.splits.attribute_of], 2)


@dataclass(frozen=True, eq=False)
class ResidualCells(Cells):
    """In every leaf of one tree, the sums of g and of UNIT - |c| over its records.

    A record is in one leaf and moves the two sums by |tilt + c| <= |tilt| + |c| and by UNIT - |c|: by at
    most UNIT + |tilt| together in L1, and so by at most the square of that in squared L2. Both are
    reached where |c| = UNIT. So the second sum, which tells how many records there are and how far off
    they are, costs nothing.
    """

    width: int
    tilt: int = 0

    def __post_init__(self) -> None:
        _check_clip(self.width, self.tilt)
        _ = self.domain.target
        self.check_tree(None)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.tree.leaves), 2

    @property
    def l1(self) -> int:
        return UNIT + abs(self.tilt)

    @property
    def l2_squared(self) -> int:
        return self.l1**2

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        _sum_leaves(
            leaves_of(self.tree, batch.codes), batch.labels, self.domain.target.cells,
            batch.derived[self.column], self.width, self.tilt, out,
        )  # fmt: skip


@compiled
def _sum_residuals(codes, labels, cells, scores, width, tilt, lookup, begins, out):  # type: ignore[no-untyped-def]
    """By code in 32 bits, and then by bin.

    |g| < 2 UNIT = 2^15, so 65,536 records cannot fill them. A block's residuals are worked out first, and
    then added up for a few attributes at a time, whose sums stay in the nearest cache.
    """
    of_codes = np.zeros(len(lookup), dtype=np.int32)
    block = np.empty(_BLOCK, dtype=np.int32)
    fours = codes.shape[1] // 4 * 4
    for start in range(0, len(codes), 65_536):
        of_codes[:] = 0
        stop = min(start + 65_536, len(codes))
        for first in range(start, stop, _BLOCK):
            n = min(_BLOCK, stop - first)
            for k in range(n):
                c = clipped_residual(labels[first + k], cells, scores[first + k], width)
                block[k] = tilt + c
            for a in range(0, fours, 4):
                _add_four(codes, first, n, a, begins, block, of_codes)
            for a in range(fours, codes.shape[1]):
                for k in range(n):
                    of_codes[np.uint64(begins[a]) + np.uint64(codes[first + k, a])] += block[k]
        for code in range(len(lookup)):
            out[lookup[code]] += of_codes[code]


@compiled
def _add_four(codes, first, n, a, begins, block, of_codes):  # type: ignore[no-untyped-def]
    """Add a block's residuals to the sums of four attributes' codes, from attribute `a` on."""
    p, q = np.uint64(begins[a]), np.uint64(begins[a + 1])
    r, s = np.uint64(begins[a + 2]), np.uint64(begins[a + 3])
    for k in range(n):
        g = block[k]
        of_codes[p + np.uint64(codes[first + k, a])] += g
        of_codes[q + np.uint64(codes[first + k, a + 1])] += g
        of_codes[r + np.uint64(codes[first + k, a + 2])] += g
        of_codes[s + np.uint64(codes[first + k, a + 3])] += g


@compiled
def _sum_leaves(leaves, labels, cells, scores, width, tilt, out):  # type: ignore[no-untyped-def]
    for i in range(len(leaves)):
        c = clipped_residual(labels[i], cells, scores[i], width)
        out[leaves[i], 0] += tilt + c
        out[leaves[i], 1] += UNIT - abs(c)
