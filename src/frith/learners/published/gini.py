"""DPDF as published (Fletcher and Islam 2015, Algorithm 1 and Theorem 1)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith.curator import CuratorLike
from frith.forest import Forest
from frith.growing.grower import Grower
from frith.growing.pruning import collapse, splits_worth_keeping
from frith.kernels import NodeCounts, SplitCounts, SplitTables
from frith.kernels.criteria import GiniMass, split_scores
from frith.learners.published.curator import PublishedCurator, published


def learn_as_published(
    curator: CuratorLike,
    grower: Grower,
    max_depth: int,
    n_trees: int,
    may_split: Callable[[NDArray, NDArray[np.bool_]], bool],
) -> Forest:
    """Algorithm 1: pays for max_depth splits on a path and makes one more."""
    shown = published(curator)
    epsilon = Fraction(1, (2 * max_depth + 1) * n_trees) * shown.budget.total
    counts: list[NDArray] = []
    noise: list[float] = []
    open_nodes = list(grower.roots)
    for depth in range(max_depth + 2):
        level, allowed = grower.level(open_nodes, last=depth == max_depth + 1)
        labels = shown.published_counts(NodeCounts(level), epsilon)
        counts.append(labels.values)
        noise += [labels.variance] * len(open_nodes)
        nodes, open_nodes = open_nodes, []
        taken = np.zeros(level.layout.n_candidates, dtype=bool)
        for place, node in enumerate(nodes):
            if may_split(labels.values[place], allowed[place]):
                options = np.flatnonzero(allowed[place] & ~taken)
                pick = _choose(shown, level, place, options, labels.values[place], epsilon)
                open_nodes += grower.split(node, pick)
                if depth == 0:  # roots are distinct
                    taken |= level.layout.attribute_of == level.layout.attribute_of[pick]
        if not open_nodes:
            break
    trees, values = grower.trees(), np.concatenate(counts)
    guarantee, variance = shown.guarantee, np.array(noise)
    forest = Forest(shown.domain, trees, values, guarantee, variance, vote="weighted")
    return collapse(forest, splits_worth_keeping(trees, shown.domain, values))


def _choose(
    shown: PublishedCurator,
    level: SplitCounts,
    place: int,
    options: NDArray[np.int64],
    labels: NDArray,
    epsilon: Fraction,
) -> int:
    """The exponential mechanism with Theorem 1's local sensitivity at the noisy size."""
    table = SplitTables(level).take(shown.exact_counts(level))[place : place + 1]
    size = max(1, int(table[0, level.layout.bins(int(np.flatnonzero(level.asks[place])[0]))].sum()))
    gini = split_scores(table, level.layout, GiniMass())[0] / (2**20 * size)
    noisy = max(1.0, float(labels.sum()))
    sensitivity = 1 - (noisy / (noisy + 1)) ** 2 - (1 / (noisy + 1)) ** 2
    pick = shown.published_choice(gini[options].tolist(), 2 * sensitivity / float(epsilon))
    return int(options[pick])
