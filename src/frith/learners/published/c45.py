"""C4.5 as published (Shang, Zhao, Shu and Liu 2019, section 2.3)."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith.curator import CuratorLike
from frith.forest import Forest
from frith.growing.gain import gain_ratio
from frith.growing.grower import Grower
from frith.kernels import NodeCounts, SplitTables
from frith.learners.published.curator import published


def learn_as_published(
    curator: CuratorLike, grower: Grower, shares: list[Fraction], min_support: float
) -> Forest:
    """Noisy tables at half of the budget, an exponential mechanism on their gain ratios at the
    other half, exact purity, sizes and majorities."""
    shown = published(curator)
    half = shown.budget.total / 2
    counts: dict[int, NDArray] = {}
    open_nodes = list(grower.roots)
    for share in shares:
        level, allowed = grower.level(open_nodes)
        tables = shown.published_counts(SplitTables(level), share * half)
        labels = shown.exact_counts(NodeCounts(level))
        counts |= dict(zip(open_nodes, labels, strict=True))
        ratios = gain_ratio(tables.values, level.layout)
        nodes, open_nodes = open_nodes, []
        for place, node in enumerate(nodes):
            mixed = np.sum(labels[place] > 0) > 1 and labels[place].sum() > min_support
            if mixed and allowed[place].any():
                options = np.flatnonzero(allowed[place])
                scale = 2 / float(share * half)
                pick = shown.published_choice(ratios[place, options].tolist(), scale)
                open_nodes += grower.split(node, int(options[pick]))
        if not open_nodes:
            break
    if open_nodes:
        labels = shown.exact_counts(NodeCounts(grower.level(open_nodes)[0]))
        counts |= dict(zip(open_nodes, labels, strict=True))
    trees = grower.trees()
    values = np.array([counts[n] for n in range(trees.n_nodes)])
    nothing = np.zeros(trees.n_nodes)
    return Forest(shown.domain, trees, values, shown.guarantee, nothing, vote="shares")
