"""Small sound learners, the twins of those that `known_bad` lists: without the flaw, they pass audits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from frith.curator import Curator, Release
from frith.domain import Domain, Numeric
from frith.forest import Forest
from frith.forest.trees import Trees, sum_up
from frith.growing.builder import single_leaf
from frith.growing.grower import Grower
from frith.growing.parts import Part, forest_of_parts
from frith.growing.random_trees import grow_random_trees
from frith.kernels import (
    CodeCounts,
    Kernel,
    LabelChoice,
    LeafCounts,
    NodeSizes,
    QuantileChoice,
    ResidualCells,
    SplitTables,
)
from frith.kernels.gradients import UNIT, ScoreColumn
from frith.kernels.residuals import HALF, tilt_of


class Leaves:
    """Sound: grows random trees from the domain alone and counts their leaves for the whole budget."""

    def __init__(self, n_trees: int = 1, max_depth: int = 2):
        self.n_trees, self.max_depth = n_trees, max_depth

    def learn(self, curator: Any) -> Forest:
        trees = self.trees(curator)
        kernel = self.kernel(trees, curator.domain)
        return forest_of(curator, trees, curator.noisy_counts(kernel, Fraction(1), "leaves"))

    def trees(self, curator: Any) -> Trees:
        rng = np.random.default_rng(1)
        return grow_random_trees(curator.domain, self.n_trees, self.max_depth, rng)

    def kernel(self, trees: Trees, domain: Domain) -> Kernel:
        return LeafCounts(trees, domain)


class RootTables:
    """Sound: the tables of every attribute at the root, for the whole budget."""

    view: type[SplitTables] = SplitTables

    def learn(self, curator: Curator) -> Forest:
        grower = Grower(curator.domain, 1, 8)
        level, _ = grower.level(grower.roots)
        tables = curator.noisy_counts(self.view(level), Fraction(1), "tables")
        self.tables_ = tables.values.tolist()
        values = tables.values[:, : grower.layout.bins(0).stop].sum(axis=1)
        return Forest(
            curator.domain, single_leaf(), values, curator.guarantee, np.full(1, tables.variance)
        )


class Labels:
    """Sound: the most common label of a single leaf, by a private choice of range 1."""

    def learn(self, curator: Any) -> Forest:
        trees = single_leaf()
        list_ = self.labels(LeafCounts(trees, curator.domain))
        return forest_saying(curator, trees, curator.choose(list_, Fraction(1), "label"))

    def labels(self, kernel: LeafCounts) -> Any:
        return LabelChoice(kernel)


class RootSizes:
    """Sound: the number of records, once per tree, for the whole budget."""

    view: type[NodeSizes] = NodeSizes

    def learn(self, curator: Any) -> Forest:
        level, _ = Grower(curator.domain, 9, 2).level(range(9), last=True)
        sizes = curator.noisy_counts(self.view(level), Fraction(1), "sizes")
        self.sizes_ = sizes.values.tolist()
        return forest_saying(curator, single_leaf(), 0)


class Residuals:
    """Sound: in the leaves of a random tree, sums of residuals from the middle of the bounds.

    They move the middle, over the declared number of records.
    """

    kernel: type[ResidualCells] = ResidualCells
    tilt = 0

    def learn(self, curator: Any) -> Forest:
        trees = Leaves(max_depth=1).trees(curator)
        start = ScoreColumn(single_leaf(), np.zeros(1, dtype=np.int32))
        width = self.width(curator)
        question = self.kernel(trees, start, curator.domain, width, self.tilt)
        sums = curator.noisy_counts(question, Fraction(1), "residuals")
        target, n = curator.domain.target, max(1, curator.domain.records or 1)
        unit = (target.high - target.low) / 2 * width / HALF / UNIT / n
        scores = (target.low + target.high) / 2 + unit * sums.values[:, :1]
        noise = np.full(len(trees.leaves), unit**2 * sums.variance)
        return forest_of_parts(curator, [Part(trees, scores, noise)])

    def width(self, curator: Any) -> int:
        return HALF


class TiltedResiduals(Residuals):
    """Sound: tilted residuals, as a forest of quantiles asks for them."""

    tilt = tilt_of(950)


class Quantiles:
    """Sound: quantiles of every number, each for an equal share."""

    def __init__(self, levels: tuple[int, ...] = (500,)):
        self.levels = levels

    def learn(self, curator: Any) -> Forest:
        attributes = curator.domain.attributes
        numbers = [j for j, a in enumerate(attributes) if isinstance(a, Numeric)]
        asked = [
            self.quantile(CodeCounts(curator.domain, j), level)
            for j in numbers
            for level in self.levels
        ]
        self.cells_ = [curator.choose(q, Fraction(1, len(asked)), "a quantile") for q in asked]
        return forest_saying(curator, single_leaf(), 0)

    def quantile(self, kernel: CodeCounts, level: int) -> Any:
        return QuantileChoice(kernel, level)


def forest_of(curator: Any, trees: Trees, leaves: Release) -> Forest:
    values = sum_up(trees, leaves.values, curator.domain)
    noise = sum_up(trees, np.full((len(trees.leaves), 1), leaves.variance), curator.domain)[:, 0]
    return Forest(curator.domain, trees, values, curator.guarantee, noise)


def forest_saying(curator: Any, trees: Trees, label: int) -> Forest:
    values = (np.arange(curator.domain.n_labels) == label).astype(np.int64)[None]
    return Forest(curator.domain, trees, values, curator.guarantee, np.zeros(1))
