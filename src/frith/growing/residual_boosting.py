"""Sign-step boosting for a number: an interval and a mean, then steps and cells of residuals.

    choose an interval of the declared range by how many targets are inside
    release the sums of g and of 1 - |g| of all records: F = a mean, sd = a scale of residuals
    for each block:
        for each step: choose (split, sign) by the sums of g;  F += sign eta sd, by side
        release the sums of g and of 1 - |g| in the cells of the block's splits, refined
        F += the posterior mean of each cell's residual;  sd shrinks by what was explained

g is the clipped residual (`kernels.residuals`). Choices clip it at half of sd, which is nearly its
sign and tells sides apart best; cells at 1.5 sd, so that values are means. Every block is an
oblivious tree; a leaf holds the sum of its steps and of its cell's value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.forest.trees import Trees
from frith.growing.builder import single_leaf
from frith.growing.cell_means import cell_means
from frith.growing.oblivious import ask_once
from frith.growing.parts import Part
from frith.growing.refining import RefinedTree
from frith.kernels import IntervalChoice, ResidualCells, ResidualChoice, ResidualSums, TargetCounts
from frith.kernels.gradients import UNIT, ScoreColumn
from frith.kernels.layout import Layout
from frith.kernels.residuals import HALF
from frith.kernels.splits import BinarySplit, BinarySplits

MAX_STEPS = 64
LIMIT_STEPS = 120
"""Without noise, steps cost time alone."""
MANY = 10_000
"""The signal from which on finer cuts pay."""
_ROOM_FOR_STEPS = 75  # signal, from which on a step beats a mean on nearly every table
_ROOM_FOR_TWO = 20  # signal, from which on a second mean around the first loses less than one alone
_FIRST_OF_TWO = Fraction(2, 5)
_FOR_INTERVAL, _FOR_START = 15, 25  # of the signal
_LEAST_SHARE = 0.02
_CELLS = Fraction(1, 2)
_GROWTH = 1.05  # the share of a step over that of the step before it
_FIRST_BLOCK, _BLOCK = 3, 4
_FIRST_STEP, _STEP = 0.35, 0.2  # of sd
_CHOICE_CLIP, _CELL_CLIP = 0.5, 1.5  # of sd
_CELLS_PER_SIGNAL = 0.12
_MAX_CELLS = 128
_OF_MAD = 1.25  # a standard deviation is about so many mean absolute ones
_MEAN_SPREAD = 0.15  # the variance of a mean before it is seen, in half ranges
_LEAST_INSIDE = 0.15
_LEAST_ROOM = 25  # signal
_LARGEST = 1.5  # the largest value of a cell, in clips
_LEAST_SIZE = 0.02  # of the average cell's records


@dataclass(frozen=True)
class Plan:
    """How a budget is used; all of it follows from the signal, which is public.

    The signal is the number of records times the epsilon that each of them has.
    """

    interval: Fraction = Fraction(0)
    start: Fraction = Fraction(1)
    second: Fraction = Fraction(0)
    steps: int = 0

    @classmethod
    def of(cls, signal: float) -> Plan:
        """Means alone where the budget is tiny; else an interval, a mean, and as many steps as pay."""
        if signal < _ROOM_FOR_TWO:
            return cls()
        if signal < _ROOM_FOR_STEPS:
            return cls(start=_FIRST_OF_TWO, second=1 - _FIRST_OF_TWO)
        interval = _thousandths(max(_LEAST_SHARE, _FOR_INTERVAL / signal))
        start = _thousandths(max(_LEAST_SHARE, _FOR_START / signal))
        if math.isinf(signal):
            return cls(interval, start, steps=LIMIT_STEPS)
        steps = max(1, min(MAX_STEPS, round(0.12 * math.sqrt(signal))))
        return cls(interval, start, steps=steps)


def _clipped(mean: float) -> float:
    return min(1.0, max(-1.0, mean))


def _thousandths(share: float) -> Fraction:
    return Fraction(max(1, round(1_000 * share)), 1_000)


def step_shares(steps: int) -> list[Fraction]:
    """The share of each step, exact and one in all."""
    weights = [round(1_000 * _GROWTH**i) for i in range(steps)]
    return [Fraction(w, sum(weights)) for w in weights]


def blocks_of(steps: int) -> list[int]:
    """The number of chosen splits of each tree."""
    if steps <= _FIRST_BLOCK:
        return [steps]
    rest = steps - _FIRST_BLOCK
    count = -(-rest // _BLOCK)
    return [_FIRST_BLOCK, *(rest // count + (i < rest % count) for i in range(count))]


@dataclass
class ResidualBoosting:
    """The state of the algorithm above: all of it public or released, in the fixed point of scores."""

    curator: CuratorLike
    layout: Layout
    n_records: int
    signal: float
    parts: list[Part] = field(default_factory=list)

    def learn(self, plan: Plan) -> list[Part]:
        """Trees whose leaves add up to a prediction in the target's own unit."""
        whole = self.curator.remaining_share
        center, half = self._choose_interval(plan.interval * whole)
        inside, sd = self._start(center, half, plan.start * whole)
        if plan.steps and inside < _LEAST_INSIDE:  # noise chose an interval where few targets are
            self.parts.clear()
            left = self.curator.remaining_share
            has_room = self.signal * float(left - plan.start * whole) >= _LEAST_ROOM
            _, sd = self._start(0, HALF, plan.start * whole if has_room else left)
        if plan.second:
            self._move_start(plan.second * whole)
        if self.curator.remaining_share and plan.steps:
            self._boost(plan.steps, sd)
        return self.parts

    def _choose_interval(self, share: Fraction) -> tuple[int, int]:
        if not share:
            return 0, HALF
        intervals = IntervalChoice(TargetCounts(self.layout.domain))
        return intervals.chosen(self.curator.choose(intervals, share, "interval of the target"))

    def _start(self, center: int, half: int, share: Fraction) -> tuple[float, float]:
        """Release a mean, from which all scores start.

        Returns the mean of 1 - |g|, which is near 0 if all targets are outside, and the scale of
        residuals.
        """
        root = single_leaf()
        self.column = ScoreColumn(root, np.array([center], dtype=np.int32))
        self.curator.derive(self.column)
        g, rest, noise = self._means(half, share)
        kept = _MEAN_SPREAD / (_MEAN_SPREAD + noise)  # noise pulls the mean to the center
        mean = kept * _clipped(g)
        start = round(half * mean)
        self._push(root, np.array([start], dtype=np.int32))
        unit = self._unit
        value = self.layout.domain.target.low + unit * (HALF + center + start)
        variance = noise * (kept * half * unit) ** 2
        self.parts.append(Part(root, np.array([[value]]), np.array([variance])))
        spread = _OF_MAD * float(np.clip(1 - rest, 0.02, 1))
        return rest, half * max(0.1, math.sqrt(max(spread**2 - mean**2, (0.32 * spread) ** 2)))

    def _move_start(self, share: Fraction) -> None:
        """Move the mean by that of residuals from it, clipped at half as much, which halves the noise.

        Both are weighed by their noise.
        """
        (first,), width = self.parts, HALF // 2
        g, _, noise = self._means(width, share)
        before, noise = float(first.variance[0]), noise * (width * self._unit) ** 2
        kept = before / (before + noise)
        moved = first.scores + self._unit * round(kept * width * _clipped(g))
        self.parts = [Part(first.tree, moved, np.array([kept * noise]))]

    def _means(self, width: int, share: Fraction) -> tuple[float, float, float]:
        """Release the means of g and of 1 - |g| over all records; and the noise's variance on each."""
        question = ResidualCells(single_leaf(), self.column, self.layout.domain, width)
        sums = self.curator.noisy_counts(question, share, "mean of the target")
        g, rest = sums.values[0] / UNIT / self.n_records
        return float(g), float(rest), sums.variance / (UNIT * self.n_records) ** 2

    def _boost(self, steps: int, sd: float) -> None:
        left, floor = self.curator.remaining_share, sd / 4
        blocks, shares = blocks_of(steps), iter(step_shares(steps))
        splits = BinarySplits(self.layout)
        for b, block in enumerate(blocks):
            chosen, signed = [], []
            eta = max(1, round(sd * (_STEP if b else _FIRST_STEP)))
            for _ in range(block):
                split, sign = self._choose(splits, sd, left * (1 - _CELLS) * next(shares))
                tree = ask_once(self.layout.domain, split)
                values = np.array([sign * eta, -sign * eta][: len(tree.leaves)], dtype=np.int32)
                self._push(tree, values)
                chosen.append(split)
                signed.append(sign * eta)
            rest = self._count_cells(chosen, np.array(signed), sd, left * _CELLS / len(blocks))
            sd = min(sd, max(rest, floor))

    def _choose(self, splits: BinarySplits, sd: float, share: Fraction) -> tuple[BinarySplit, int]:
        width = max(1, round(_CHOICE_CLIP * sd))
        steps = ResidualChoice(ResidualSums(self.layout, self.column, width), splits)
        return steps.chosen(self.curator.choose(steps, share, "split of a step"))

    def _count_cells(
        self, chosen: list[BinarySplit], signed: NDArray[np.int64], sd: float, share: Fraction
    ) -> float:
        """Give the block's cells their values; what is left of the residuals' scale."""
        most = min(_MAX_CELLS, _CELLS_PER_SIGNAL * self.signal * float(share))
        refined = RefinedTree.grow(self.layout, chosen, most)
        tree, width = refined.tree.trees(), max(1, round(_CELL_CLIP * sd))
        question = ResidualCells(tree, self.column, self.layout.domain, width)
        number = len(self.parts)
        sums = self.curator.noisy_counts(question, share, f"residuals in tree {number}")
        residuals, rest = sums.values.T / UNIT
        counted = float(np.clip(rest.sum() / self.n_records, 0.2, 0.95))  # the mean of 1 - |g|
        sizes = self._sizes(rest / counted)
        variance = sums.variance / UNIT**2
        means, noise = cell_means(residuals, sizes, variance, refined.likeness())
        means = np.clip(means, -_LARGEST, _LARGEST)
        values = np.round(width * means).astype(np.int32)
        self._push(tree, values)
        unit = self._unit
        whole = unit * (refined.chosen_signs @ signed + values).astype(np.float64)
        self.parts.append(Part(tree, whole[:, None], noise * (unit * width) ** 2))
        gone, spread = float(sizes @ means**2 / sizes.sum()), _OF_MAD * (1 - counted)
        return width * math.sqrt(max(spread**2 - gone, (0.56 * spread) ** 2))

    def _sizes(self, counts: Floats) -> Floats:
        """The cells' numbers of records, none below a part of the average, adding up to about n."""
        n = self.n_records
        counts = np.maximum(counts, 0)
        counts = counts * n / max(float(counts.sum()), 1)
        return np.maximum(counts, _LEAST_SIZE * n / len(counts))

    def _push(self, tree: Trees, values: NDArray[np.int32]) -> None:
        self.column = ScoreColumn(tree, values, self.column)
        self.curator.derive(self.column)

    @property
    def _unit(self) -> float:
        """One step of the fixed point, in the target's own unit."""
        target = self.layout.domain.target
        return (target.high - target.low) / (2 * HALF)
