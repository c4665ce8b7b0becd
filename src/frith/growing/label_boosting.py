"""Boosting for more than two labels: each step chooses a split, and a sign for every label.

F = 0, or what an earlier tree or tables say
for each block:
    for each step: choose (split, signs) by the sums of y_k - p_k;  F_k += sign_k eta, by side
    release, in the cells of the block's splits, label counts (the first block) or sums of
    y_k - p_k and p_k (1 - p_k);  F += the posterior means of the cells' values
after a start: choose how strongly all that came after it speaks, by how many records are right
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction

import numpy as np
from scipy.special import logit, softmax

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.forest.trees import Trees
from frith.growing.boosting import CHOICES, blocks_of, step_shares
from frith.growing.oblivious import ObliviousTree, ask_once
from frith.growing.parts import Part
from frith.growing.posterior import alike_by_answer, cell_values
from frith.kernels import LeafCounts, SignsChoice, StrengthChoice, StrengthCounts
from frith.kernels.gradients import POINT, UNIT, ScoreColumn
from frith.kernels.label_gradients import LabelCells, LabelGradients
from frith.kernels.layout import Layout
from frith.kernels.splits import BinarySplit, BinarySplits

STRENGTHS = np.array([0, 4, 7, 10, 14])
"""How strongly what comes after a start may speak, in tenths."""
_FIRST_BLOCK = 5
_LEAST_SHARE = 0.05  # of the average cell's records


@dataclass
class VectorBoosting:
    """The state of the algorithm above: all of it public or released. `parts` may hold a start."""

    curator: CuratorLike
    layout: Layout
    n_records: int
    parts: list[Part] = field(default_factory=list)
    kept: Fraction = Fraction(0)  # the share of the budget that is for something else

    def __post_init__(self) -> None:
        domain = self.layout.domain
        nothing = np.zeros((1, domain.n_labels), dtype=np.int32)
        self.column = ScoreColumn(ask_once(domain, BinarySplit()), nothing)
        self.splits = BinarySplits(self.layout)
        self.has_start = bool(self.parts)
        for part in self.parts:
            self._push(part.tree, part.scores)
        self.start, self.n_start = self.column, len(self.parts)

    def learn(self, steps: int, size: float, for_strength: Fraction) -> list[Part]:
        """Parts worth all that remains; `for_strength` of it is for the last choice."""
        remaining = self.curator.remaining_share - self.kept
        whole = remaining * (1 - for_strength)
        eta, shares = size / np.sqrt(steps), iter(step_shares(steps))
        blocks = blocks_of(steps, 3 if self.has_start else _FIRST_BLOCK)
        number = 0
        for block in blocks:
            tree = ObliviousTree(self.layout.domain)
            signed = []
            for _ in range(block):
                number += 1
                kernel = LabelGradients(self.layout, self.column)
                place, signs = self.curator.choose_signs(
                    SignsChoice(kernel, self.splits),
                    whole * CHOICES * next(shares),
                    f"split of step {number}",
                )
                split = self.splits[place]
                made = ask_once(self.layout.domain, split)
                self._push(made, eta * np.array([signs, -signs][: len(made.leaves)]))
                tree.ask(split)
                signed.append(eta * signs)
            self._count_cells(tree, np.array(signed), whole * (1 - CHOICES) / len(blocks))
        return self._weakened(remaining * for_strength) if for_strength else self.parts

    def _weakened(self, share: Fraction) -> list[Part]:
        """The parts after the start, as strong as a private choice makes them; at 0 none of them."""
        kernel = StrengthCounts(self.start, self.column, STRENGTHS, self.layout.domain)
        pick = self.curator.choose(StrengthChoice(kernel), share, "strength")
        factor, kept = float(STRENGTHS[pick]) / 10, self.parts[: self.n_start]
        if not factor:
            return kept
        return kept + [
            replace(p, scores=factor * p.scores, variance=factor**2 * p.variance)
            for p in self.parts[self.n_start :]
        ]

    def _push(self, tree: Trees, scores: Floats) -> Floats:
        fixed = np.round(scores * POINT).astype(np.int32)
        self.column = ScoreColumn(tree, fixed, self.column)
        self.curator.derive(self.column)
        return fixed / POINT

    def _count_cells(self, tree: ObliviousTree, signed: Floats, share: Fraction) -> None:
        steps = tree.signs @ signed
        value = self._by_gradients if self.parts else self._by_counts
        values, noise = value(tree, steps, share)
        made = tree.trees()
        self.parts.append(Part(made, steps + self._push(made, values), noise))

    def _by_counts(
        self, tree: ObliviousTree, steps: Floats, share: Fraction
    ) -> tuple[Floats, Floats]:
        """In the first block all records of a cell have one score, so label counts suffice."""
        counts = self.curator.noisy_counts(
            LeafCounts(tree.trees(), self.layout.domain), share, "labels in the first tree"
        )
        size = np.maximum(counts.values.sum(axis=1), self._least(tree))
        shares, likeness = softmax(steps, axis=1), alike_by_answer(tree.signs)
        return _side_by_side(
            cell_values(
                counts.values[:, k] - size * p, size * p * (1 - p), counts.variance, likeness,
                logit(p),
            )
            for k, p in enumerate(shares.T)
        )  # fmt: skip

    def _by_gradients(
        self, tree: ObliviousTree, steps: Floats, share: Fraction
    ) -> tuple[Floats, Floats]:
        kernel = LabelCells(tree.trees(), self.column, self.layout.domain)
        sums = self.curator.noisy_counts(kernel, share, f"gradients of tree {len(self.parts) + 1}")
        gradient, curvature = np.moveaxis(2 * sums.values / UNIT, 2, 0)
        variance, n_labels = 4 * sums.variance / UNIT**2, steps.shape[1]
        curvature = np.maximum(curvature, self._least(tree) * (1 - 1 / n_labels) / n_labels)
        likeness = alike_by_answer(tree.signs)
        return _side_by_side(
            cell_values(gradient[:, k], curvature[:, k], variance, likeness)
            for k in range(n_labels)
        )

    def _least(self, tree: ObliviousTree) -> float:
        return _LEAST_SHARE * self.n_records / len(tree.leaves)


def _side_by_side(labels: Iterable[tuple[Floats, Floats]]) -> tuple[Floats, Floats]:
    """The values of all labels as columns, and the mean of their noise."""
    values, noise = zip(*labels, strict=True)
    return np.column_stack(values), np.mean(noise, axis=0)
