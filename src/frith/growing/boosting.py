"""Sign-step boosting for two labels: a private choice for each step, a few sums for each block.

    F = 0
    for each block:
        for each step: choose (split, sign) by the sums of y - p;  F += sign eta, by side
        release G = sum of y - p and H = sum of p (1 - p) in the cells of the block's splits, and of
        more cuts around those of numbers, which cost nothing
        F += the posterior mean of each cell's value

Every block is an oblivious tree; a leaf holds the sum of its steps and of its cell's value. Where
no cells are bought, each cut of a number has a tree of its own beside it, a slope. The trees of the
forest multiply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.curator.protocol import most_counted
from frith.forest.trees import Trees
from frith.growing.oblivious import ask_once
from frith.growing.parts import Part
from frith.growing.posterior import alike_by_answer, cell_values
from frith.growing.refining import RefinedTree
from frith.growing.slopes import slope_of
from frith.kernels import StepChoice
from frith.kernels.gradients import POINT, UNIT, CellSums, GradientSums, ScoreColumn
from frith.kernels.layout import Layout
from frith.kernels.splits import BinarySplit, BinarySplits

CHOICES = Fraction(7, 10)
"""The share of the budget for choices; the rest is for the cells."""
MAX_STEPS = 64
LIMIT_STEPS = 400
"""Without noise, steps cost time alone."""
CELL_QUESTIONS = 6
_GROWTH = 1.1  # the share of a step over that of the step before it
_WIDEST = 300.0  # the largest share of the last step over that of the first
_FIRST_STEP = 0.7
_LEAST_STEP = 0.05  # of a single step, which noise chose more likely than not
_SLOPE = 0.5  # of a step, over the number of steps
_BONUS = 0.7  # of the logarithm of the number of candidates, for the first step
_CLIP = UNIT // 2
_CELLS = 0.2  # for every record's worth of signal that a block's cells have
_MAX_CELLS = 128
_LEAST_CURVATURE = 0.0125  # of the average cell's records


def plan(room: float) -> tuple[int, float, bool]:
    """How many steps to make, the root of the sum of their squared sizes, and whether to buy cells.

    `room` is the number of steps that leaves each choice enough signal. Where it is small, choices
    are worth more than cells. Without cells an odd number is better: steps never add up to 0.
    """
    if room <= 2:
        return 1, max(_LEAST_STEP, min(1.0, 5 / 3 * room**2)), False
    if room < 3.75:
        return 3, 1.2, False
    if room < 12.65:
        return 2 * int(5 / 7 * room) + 1, 1.5, False
    steps = LIMIT_STEPS if math.isinf(room) else min(MAX_STEPS, round(room))
    return steps, 1.2, True


def blocks_of(steps: int, first: int = 3) -> list[int]:
    """The number of splits of each tree: few in the first, so that the others can build on it."""
    if steps <= CELL_QUESTIONS:
        return [steps]
    rest = steps - first
    count = -(-rest // CELL_QUESTIONS)
    return [first, *(rest // count + (i < rest % count) for i in range(count))]


def step_shares(steps: int) -> list[Fraction]:
    """The share of each step, exact and one in all. Later steps correct less, so they get more."""
    growth = min(_GROWTH, _WIDEST ** (1 / steps))
    weights = [round(1000 * growth**i) for i in range(steps)]
    return [Fraction(w, sum(weights)) for w in weights]


def slope_share(first: float, eta: float, steps: int) -> float:
    """How much of its step a slope is, so that all of them together turn no label.

    Steps add up to the first, either way, and an even number of times eta: to no less than `nearest`.
    """
    nearest = min(abs(first - 2 * i * eta) for i in range((steps + 1) // 2))
    return min(_SLOPE / steps, nearest / (first + (steps - 1) * eta))


def likeness_of(tree: RefinedTree) -> list[Floats]:
    """How alike cells are in each chosen answer, and by all cuts of each number that has more of them.

    The first keeps a sharp edge where a split was chosen; the second lets values change along a number.
    """
    signs = tree.tree.signs
    by = np.array([split.attribute for split in tree.chosen] + list(tree.added))
    cuts = [signs[:, by == a] for a in dict.fromkeys(tree.added)]
    return alike_by_answer(tree.chosen_signs) + [c @ c.T / c.shape[1] for c in cuts]


@dataclass
class SignBoosting:
    """The state of the algorithm above: all of it public or released."""

    curator: CuratorLike
    layout: Layout
    n_records: int
    parts: list[Part] = field(default_factory=list)
    kept: Fraction = Fraction(0)  # the share of the budget that is for something else

    def __post_init__(self) -> None:
        start = ask_once(self.layout.domain, BinarySplit())
        self.column = ScoreColumn(start, np.zeros(1, dtype=np.int32))
        self.splits = BinarySplits(self.layout)
        self.reach = 0  # the most any score can be, either way
        self.step = 0

    def learn(self, room: float) -> list[Part]:
        """Make as many steps as `room` allows; where it is small, a few steps without cells."""
        whole = self.curator.remaining_share - self.kept
        steps, size, has_cells = plan(self._payable(room, whole))
        for_choices = whole * (CHOICES if has_cells else 1)
        eta, shares, blocks = size / np.sqrt(steps), iter(step_shares(steps)), blocks_of(steps)
        first = eta if steps == 1 else _FIRST_STEP
        lean = slope_share(first, eta, steps)
        for_cells = (whole - for_choices) / len(blocks)
        max_cells = min(_MAX_CELLS, _CELLS * (5 * room) ** 2 * float(for_cells)) if has_cells else 0
        for block in blocks:
            chosen, signed = [], []
            for _ in range(block):
                step = eta if self.reach else first
                split, sign = self._choose(for_choices * next(shares))
                self._add(split, sign * step)
                chosen.append(split)
                signed.append(sign * step)
                if not has_cells:
                    self._lean(split, sign * step * lean)
            tree = RefinedTree.grow(self.layout, chosen, max_cells)
            if has_cells:
                self._count_cells(tree, np.array(signed), for_cells)
            else:
                self._guess_cells(tree, np.array(signed))
        return self.parts

    def _payable(self, room: float, whole: Fraction) -> float:
        """Less room where the smallest question would be too small for any noise that frith draws."""
        budget, reach = self.curator.budget, UNIT * most_counted(self.curator)
        while (steps := plan(room)[0]) > 1:
            least = min(CHOICES * min(step_shares(steps)), (1 - CHOICES) / steps)
            if budget.can_pay(least * whole, reach):
                break
            room *= 0.9
        return room

    def _choose(self, share: Fraction) -> tuple[BinarySplit, int]:
        kernel = GradientSums(self.layout, self.column, self.reach, _CLIP)
        # with nothing to see, the first step should be for everybody: the most common label
        bonus = 0.0 if self.reach else _BONUS * float(np.log(2 * len(self.splits)))
        steps = StepChoice(kernel, self.splits, bonus)
        self.step += 1
        pick = self.curator.choose(steps, share, f"split of step {self.step}")
        return steps.chosen(pick)

    def _add(self, split: BinarySplit, size: float) -> None:
        tree, step = ask_once(self.layout.domain, split), round(size * POINT)
        values = np.array([step, -step][: len(tree.leaves)], dtype=np.int32)
        self._push(tree, values)

    def _push(self, tree: Trees, values: NDArray[np.int32]) -> None:
        self.column = ScoreColumn(tree, values, self.column)
        self.curator.derive(self.column)
        self.reach += int(np.abs(values).max())

    def _count_cells(self, tree: RefinedTree, signed: Floats, share: Fraction) -> None:
        made, steps = tree.tree.trees(), tree.chosen_signs @ signed
        number = len(self.parts) + 1
        sums = self.curator.noisy_counts(
            CellSums(made, self.column, self.layout.domain), share, f"gradients of tree {number}"
        )
        gradient, curvature = sums.values.T / UNIT
        variance = sums.variance / UNIT**2
        floor = _LEAST_CURVATURE * self.n_records / len(steps)
        curvature = np.maximum(curvature, floor)
        start = None if self.parts else steps
        values, noise = cell_values(gradient, curvature, variance, likeness_of(tree), start)
        fixed = np.round(values * POINT).astype(np.int32)
        self._push(made, fixed)
        self._keep(made, steps + fixed / POINT, noise)

    def _guess_cells(self, tree: RefinedTree, signed: Floats) -> None:
        """Without sums the steps alone predict; noise may have chosen each, so all may be wrong."""
        steps = tree.chosen_signs @ signed
        self._keep(tree.tree.trees(), steps, np.full(len(steps), float(signed @ signed)))

    def _lean(self, split: BinarySplit, size: float) -> None:
        """Tell records apart by their distance from a cut. Later choices do not build on it."""
        if slope := slope_of(self.layout, split):
            tree, heights = slope
            self._keep(tree, size * heights, (size * heights) ** 2)

    def _keep(self, tree: Trees, scores: Floats, variance: Floats) -> None:
        """The log-odds of the second label, as scores of both: half of it each, with opposite signs."""
        both = np.column_stack([-scores / 2, scores / 2])
        self.parts.append(Part(tree, both, variance / 4))
