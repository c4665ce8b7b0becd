"""Sign-step boosting for a number: an interval and a mean, then steps and cells of residuals.

    choose an interval of the declared range by how many targets are inside
    release the sums of g and of 1 - |g| of all records: F = a mean, sd = a scale of residuals
    for each block:
        for each step: choose (split, sign) by the sums of g;  F += sign eta sd, by side
                       (an attribute that k steps asked before weighs 1 + k)
        release the sums of g and of 1 - |g| in the cells of the block's splits, refined
        F += the posterior mean of each cell's residual;  sd shrinks by what was explained
    the same for cells of splits on two attributes, of the pairs that were chosen most often
    the cells of the first block once more, clipped at 3 sd:  F += their posterior means

g is the clipped residual (`kernels.residuals`). Choices clip it at half of sd, which is nearly its
sign and tells sides apart best; cells at 1.5 sd, so that values are means. Where targets have a long
tail on one side, that clips more of it than of the other; the last cells make up for it. Every block is
an oblivious tree; a leaf holds the sum of its steps and of its cell's value.

For a quantile the residuals are tilted, so that sides are told apart by the share of targets above the
score. The first score is the mean, moved as far as the quantile of a normal law lies from it. The sum of
1 - |c| in a cell tells how many targets are near its score: the fewer there are, the further it moves, a
Newton step. Cells are clipped ever more narrowly, and their tilt allows for that (`growing.ramps`).
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from frith._arrays import Floats
from frith.curator import CuratorLike, Release
from frith.forest.trees import Trees
from frith.growing.builder import single_leaf
from frith.growing.cell_means import cell_means
from frith.growing.oblivious import ask_once
from frith.growing.parts import Part
from frith.growing.ramps import level_for, near_quantile
from frith.growing.refining import RefinedTree
from frith.kernels import IntervalChoice, ResidualCells, ResidualChoice, ResidualSums, TargetCounts
from frith.kernels.gradients import UNIT, ScoreColumn
from frith.kernels.layout import Layout
from frith.kernels.residuals import HALF, tilt_of
from frith.kernels.splits import BinarySplit, BinarySplits
from frith.privacy.budget import Budget

MAX_STEPS = 64
LIMIT_STEPS = 120
"""Without noise, steps cost time alone."""
MANY = 2_500
"""The signal from which on finer cuts pay, and more of the budget for cells."""
_ROOM_FOR_STEPS = 75  # signal, from which on a step beats a mean on nearly every table
_ROOM_FOR_TWO = 20  # signal, from which on a second mean around the first loses less than one alone
_FIRST_OF_TWO = Fraction(2, 5)
_FOR_INTERVAL, _FOR_START = 15, 25  # of the signal
_LEAST_SHARE = 0.02
_CELLS, _CELLS_OF_MANY = Fraction(1, 2), Fraction(11, 20)
_GROWTH = 1.05  # the share of a step over that of the step before it
_FIRST_BLOCK, _BLOCK = 3, 4
_FIRST_STEP, _STEP = 0.35, 0.2  # of sd
_CHOICE_CLIP, _CELL_CLIP = 0.5, 1.5  # of sd
_CELLS_PER_SIGNAL = 0.12
_MAX_CELLS = 128
_OF_MAD = 1.25  # a standard deviation is about this many mean absolute deviations
_MEAN_SPREAD = 0.15  # the variance of a mean before it is seen, in half ranges
_LEAST_INSIDE = 0.15
_LEAST_ROOM = 25  # signal
_LEAST_FOR_STEPS = Fraction(1, 4)  # of the budget, after intervals and means
_LARGEST = 1.5  # the largest value of a cell, in clips
_ROOM_FOR_PAIRS = 12_000  # signal, from which on what is left is in interactions
_PAIRS = 4
_ROOM_FOR_MORE_PAIRS = 60_000  # signal, from which on twice as many pairs pay
_OF_EACH = 4  # splits of each attribute of a pair
_WIDE_CLIP = 3.0  # of sd
_ROOM_FOR_WIDE = 2_000  # signal
_QUANTILE_CLIPS = (1.5, 1.0, 0.5)  # of sd, the cells of the first blocks and of all others
_LARGEST_MOVE = 0.7  # of a cell's quantile, in the clip of means
_LEAST_SIZE = 0.02  # of the average cell's records
_OFF_NORMAL = (
    3  # the most times that fewer or more targets are near a quantile than of a normal law
)


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

    def payable(self, budget: Budget, left: Fraction, reach: int) -> Plan:
        """Fewer steps, or none, where a question would be too small for any noise that frith draws.

        `left` is the share that the plan is for, `reach` the most that a record, or all of a person,
        move a sum.
        """
        steps = self.steps
        while steps:
            rest = min(min(step_shares(steps)), Fraction(1, steps + 2 * _PAIRS + 1))
            least = min(self.start, (1 - _CELLS_OF_MANY) * _LEAST_FOR_STEPS * rest)
            if budget.can_pay(least * left, 2 * reach):
                return replace(self, steps=steps)
            steps -= 1
        return self if self.second else Plan()


def _clipped(mean: float) -> float:
    return min(1.0, max(-1.0, mean))


def _thousandths(share: float) -> Fraction:
    return Fraction(max(1, round(1_000 * share)), 1_000)


def step_shares(steps: int) -> list[Fraction]:
    """The share of each step, exact and one in all."""
    weights = [round(1_000 * _GROWTH**i) for i in range(steps)]
    return [Fraction(w, sum(weights)) for w in weights]


def pairs_of(asked: list[BinarySplit], count: int) -> list[list[BinarySplit]]:
    """Splits of two attributes each, for the pairs of attributes that steps asked most often.

    A pair counts the product of both numbers; of each attribute the first splits are taken.
    """
    by: dict[int, list[BinarySplit]] = {}
    for split in asked:
        if split.attribute >= 0:
            by.setdefault(split.attribute, []).append(split)
    often = sorted(by, key=lambda a: -len(by[a]))
    pairs = sorted(itertools.combinations(often, 2), key=lambda p: -len(by[p[0]]) * len(by[p[1]]))
    return [_first(by[a]) + _first(by[b]) for a, b in pairs[:count]]


def _first(splits: list[BinarySplit]) -> list[BinarySplit]:
    """The first few that differ, if they are cuts."""
    found: list[BinarySplit] = []
    for split in splits:
        if split.members is not None or all(split.cut != known.cut for known in found):
            found.append(split)
    return found[:_OF_EACH]


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
    level: int | None = None
    """In thousandths, of the quantile that is predicted; None for means."""
    center: int = 0
    """Where means are pulled to: a public guess, in the fixed point of scores."""
    parts: list[Part] = field(default_factory=list)

    def learn(self, plan: Plan) -> list[Part]:
        """Trees whose leaves add up to a prediction in the target's own unit."""
        whole = self.curator.remaining_share
        center, half = self._choose_interval(plan.interval * whole)
        share = plan.start * whole
        mean, inside, sd = self._start(center, half, share)
        if plan.steps and inside < _LEAST_INSIDE and self._has_room(2 * share):
            end = center + round(math.copysign(half, mean))  # most targets are near it, or beyond
            _, inside, sd = self._start(end, 2 * half, share)
        if plan.steps and inside < _LEAST_INSIDE:  # noise chose an interval where few targets are
            share = share if self._has_room(share) else self.curator.remaining_share
            _, _, sd = self._start(self.center, self._reach, share)
        if plan.second:
            self._move_start(plan.second * whole)
        if self.level is not None:
            self._move_to_quantile(sd)
        if self.curator.remaining_share and plan.steps:
            self._boost(plan.steps, sd)
        return self.parts

    def _choose_interval(self, share: Fraction) -> tuple[int, int]:
        if not share:
            return self.center, self._reach
        intervals = IntervalChoice(TargetCounts(self.layout.domain))
        return intervals.chosen(self.curator.choose(intervals, share, "interval of the target"))

    def _has_room(self, share: Fraction) -> bool:
        """Whether steps pay after a question for that share."""
        return self.signal * float(self.curator.remaining_share - share) >= _LEAST_ROOM

    def _start(self, center: int, half: int, share: Fraction) -> tuple[float, float, float]:
        """Release a mean, from which all scores start; it takes the place of an earlier one.

        Returns the means of g and of 1 - |g|, which is near 0 if targets are outside or all at one end,
        and the scale of residuals.
        """
        self.parts.clear()
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
        return g, rest, half * max(0.1, math.sqrt(max(spread**2 - mean**2, (0.32 * spread) ** 2)))

    def _move_start(self, share: Fraction) -> None:
        """Move the mean by that of residuals from it, clipped at half as much, which halves the noise.

        Both are weighed by their noise.
        """
        (first,), width = self.parts, self._reach // 2
        g, _, noise = self._means(width, share)
        before, noise = float(first.variance[0]), noise * (width * self._unit) ** 2
        kept = before / (before + noise)
        moved = first.scores + self._unit * round(kept * width * _clipped(g))
        self.parts = [Part(first.tree, moved, np.array([kept * noise]))]

    def _move_to_quantile(self, sd: float) -> None:
        (first,) = self.parts
        moved = round(float(ndtri(self.level / 1_000)) * sd)  # type: ignore[operator]
        self._push(first.tree, np.array([moved], dtype=np.int32))
        self.parts = [replace(first, scores=first.scores + self._unit * moved)]

    def _means(self, width: int, share: Fraction) -> tuple[float, float, float]:
        """Release the means of g and of 1 - |g| over all records; and the noise's variance on each."""
        question = ResidualCells(single_leaf(), self.column, self.layout.domain, width)
        sums = self.curator.noisy_counts(question, share, "mean of the target")
        g, rest = sums.values[0] / UNIT / self.n_records
        return float(g), float(rest), sums.variance / (UNIT * self.n_records) ** 2

    def _boost(self, steps: int, sd: float) -> None:
        left, floor = self.curator.remaining_share, sd / 4
        for_cells = _CELLS_OF_MANY if self.signal >= MANY else _CELLS
        blocks, shares = blocks_of(steps), iter(step_shares(steps))
        splits, asked = BinarySplits(self.layout), list[BinarySplit]()
        n_pairs = self._pairs()
        is_wide = self.level is None and self.signal >= _ROOM_FOR_WIDE
        share = left * for_cells / (len(blocks) + n_pairs + is_wide)
        for b, block in enumerate(blocks):
            chosen, signed = list[BinarySplit](), []
            eta = max(1, round(sd * (_STEP if b else _FIRST_STEP)))
            for _ in range(block):
                for_step = left * (1 - for_cells) * next(shares)
                split, sign = self._choose(splits, sd, for_step, asked + chosen)
                tree = ask_once(self.layout.domain, split)
                values = np.array([sign * eta, -sign * eta][: len(tree.leaves)], dtype=np.int32)
                self._push(tree, values)
                chosen.append(split)
                signed.append(sign * eta)
            rest = self._count_cells(chosen, np.array(signed), sd, share)
            sd = min(sd, max(rest, floor))
            asked += chosen
        first = asked[: blocks[0]]
        pairs = pairs_of(asked, n_pairs) or ([first] if n_pairs else [])
        more = [(pair, _CELL_CLIP) for pair in pairs] + ([(first, _WIDE_CLIP)] if is_wide else [])
        for i, (again, clip) in enumerate(more):
            share = self.curator.remaining_share / (len(more) - i)
            still = np.zeros(len(again), dtype=np.int64)
            sd = min(sd, max(self._count_cells(again, still, sd, share, clip), floor))

    def _pairs(self) -> int:
        """How many pairs of attributes have cells of their own."""
        if self.signal < _ROOM_FOR_PAIRS:
            return 0
        wanted = _PAIRS if self.signal < _ROOM_FOR_MORE_PAIRS else 2 * _PAIRS
        return min(wanted, math.comb(len(self.layout.cuts), 2))

    def _choose(
        self, splits: BinarySplits, sd: float, share: Fraction, earlier: list[BinarySplit]
    ) -> tuple[BinarySplit, int]:
        width = max(1, round(_CHOICE_CLIP * sd))
        tilt = 0 if self.level is None else tilt_of(self.level)
        times = Counter(split.attribute for split in earlier)
        asked = tuple(times[a] for a in range(len(self.layout.cuts)))
        sums = ResidualSums(self.layout, self.column, width, tilt)
        steps = ResidualChoice(sums, splits, asked=asked)
        return steps.chosen(self.curator.choose(steps, share, "split of a step"))

    def _count_cells(
        self,
        chosen: list[BinarySplit],
        signed: NDArray[np.int64],
        sd: float,
        share: Fraction,
        clip: float = _CELL_CLIP,
    ) -> float:
        """Give the block's cells their values; what is left of the residuals' scale."""
        most = min(_MAX_CELLS, _CELLS_PER_SIGNAL * self.signal * float(share))
        refined = RefinedTree.grow(self.layout, chosen, most)
        clip = clip if self.level is None else self._quantile_clip
        tree, width = refined.tree.trees(), max(1, round(clip * sd))
        tilt = 0 if self.level is None else tilt_of(level_for(self.level, clip))
        question = ResidualCells(tree, self.column, self.layout.domain, width, tilt)
        sums = self.curator.noisy_counts(question, share, f"residuals in tree {len(self.parts)}")
        solve = self._cell_means if self.level is None else self._cell_quantiles
        means, noise, rest = solve(sums, refined.likeness())
        values = np.round(width * means).astype(np.int32)
        self._push(tree, values)
        unit = self._unit
        whole = unit * (refined.chosen_signs @ signed + values).astype(np.float64)
        self.parts.append(Part(tree, whole[:, None], noise * (unit * width) ** 2))
        return width * rest

    def _cell_means(self, sums: Release, likeness: list[Floats]) -> tuple[Floats, Floats, float]:
        """Each cell's mean residual, its noise, and what is left of their scale, all in widths."""
        residuals, rest = sums.values.T / UNIT
        counted = float(np.clip(rest.sum() / self.n_records, 0.2, 0.95))  # the mean of 1 - |g|
        sizes = self._sizes(rest / counted)
        means, noise = cell_means(residuals, sizes, sums.variance / UNIT**2, likeness)
        means = np.clip(means, -_LARGEST, _LARGEST)
        gone, spread = float(sizes @ means**2 / sizes.sum()), _OF_MAD * (1 - counted)
        return means, noise, math.sqrt(max(spread**2 - gone, (0.56 * spread) ** 2))

    def _cell_quantiles(
        self, sums: Release, likeness: list[Floats]
    ) -> tuple[Floats, Floats, float]:
        """How far each cell's quantile is from its score, otherwise as `_cell_means`.

        Means have priors in the clip of cells: `ratio` is how much wider that is.
        """
        residuals, rest = sums.values.T / UNIT
        clip, q = self._quantile_clip, self.level / 1_000  # type: ignore[operator]
        near, ratio = self._near(rest), _CELL_CLIP / clip
        total = float(near.sum())
        own = 4 * q * (1 - q) * self.n_records / total  # the variance of g, for a target nearby
        means, noise = cell_means(
            residuals, ratio * near, sums.variance / UNIT**2, likeness, (own / ratio,)
        )
        means = ratio * np.clip(means, -_LARGEST_MOVE, _LARGEST_MOVE)
        scales = clip * np.linspace(1, 4, 31)  # what the width may be, in standard deviations
        fit = np.abs(near_quantile(q, scales) - total / self.n_records)
        return means, ratio**2 * noise, 1 / float(scales[np.argmin(fit)])

    def _near(self, rest: Floats) -> Floats:
        """How many targets of each cell are within a width of the score.

        As many as twice the sum of 1 - |c|, where they lie evenly there. In all not so few or so many
        that a normal law would not have them.
        """
        likely = self.n_records * float(near_quantile(self.level / 1_000, self._quantile_clip))  # type: ignore[operator]
        near = 2 * np.maximum(rest, 0)
        total = float(np.clip(near.sum(), likely / _OFF_NORMAL, likely * _OFF_NORMAL))
        near = near * total / max(float(near.sum()), 1e-9)
        return np.maximum(near, _LEAST_SIZE * total / len(near))

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
    def _reach(self) -> int:
        """How far a target can be from the center."""
        return HALF + abs(self.center)

    @property
    def _quantile_clip(self) -> float:
        """The width of the next cells, in sd: narrower from block to block."""
        return _QUANTILE_CLIPS[min(len(self.parts), len(_QUANTILE_CLIPS)) - 1]

    @property
    def _unit(self) -> float:
        """One step of the fixed point, in the target's own unit."""
        target = self.layout.domain.target
        return (target.high - target.low) / (2 * HALF)
