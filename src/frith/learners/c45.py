"""C4.5 with a budget for each level (Shang, Zhao, Shu and Liu 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.curator import CuratorLike
from frith.forest import Forest
from frith.growing.allocation import level_shares
from frith.growing.gain import gain_ratio
from frith.growing.grower import Grower
from frith.growing.table_tree import TableTree
from frith.kernels import NodeCounts, SplitTables
from frith.learners.base import PrivateForestClassifier
from frith.learners.parameters import whole
from frith.learners.published.curator import PublishedCurator


class C45Classifier(PrivateForestClassifier):
    """One greedy tree by gain ratio, from noisy tables, one level at a time.

    The count of every value and label is made in one pass a level, whatever the engine: on a
    cluster this is the paper's map-reduce job, with the noise drawn once, centrally.

    Parameters
    ----------
    domain, epsilon, delta, ledger, n_jobs : as in every learner
    max_depth : levels of tables, and splits on a path
    allocation : "arithmetic" (level i of h gets 2 i / (h (h + 1))), "geometric" (half of what
        remains, the last level takes the rest), "uniform", or a list of weights, the root's first
    min_support : the noisy size above which a node may be split; None for the standard deviation
        of that size
    bins : equal-width parts of each numeric attribute; its best cut is that of the noisy histogram
    as_published : the paper's own form, without any guarantee

    Privacy
    -------
    `fit` is (epsilon, delta)-DP. All of the budget goes to the tables: level i has its share, and
    the shares add up to one. A record is at one node of a level and is counted there once for every
    attribute asked, so a level's tables have L1 and squared L2 sensitivity k_i, the largest number
    of attributes asked at one of its nodes, and get discrete Laplace noise of scale
    k_i / (share_i epsilon) or discrete Gaussian noise of variance k_i / (2 share_i rho). Gain
    ratios, stops, labels and the counts of the leaves, which are those of the table that chose the
    split above them, are computed from these releases alone.

    Departures from the paper
    -------------------------
    The paper scales noise as if a record were counted once, whatever the number of attributes;
    stops and labels on exact purity, sizes and majorities; gives the exact count when a level's
    budget is short; and spends half of the budget on an exponential mechanism whose score has no
    small sensitivity. `as_published=True` does what it says.
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        max_depth: int = 4,
        allocation: str | Sequence[Any] = "arithmetic",
        min_support: float | None = None,
        bins: int = 16,
        as_published: bool = False,
        ledger: Any = None,
        n_jobs: int | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.max_depth = max_depth
        self.allocation = allocation
        self.min_support = min_support
        self.bins = bins
        self.as_published = as_published
        self.ledger = ledger
        self.n_jobs = n_jobs

    def learn(self, curator: CuratorLike) -> Forest:
        grower = Grower(curator.domain, 1, whole("bins", self.bins, least=2))
        shares = level_shares(self.allocation, whole("max_depth", self.max_depth))
        if isinstance(curator, PublishedCurator):
            return _as_published(curator, grower, shares, self.min_support or 0)
        return TableTree(curator, grower, gain_ratio, self.min_support).grow(shares)


def _as_published(
    curator: PublishedCurator, grower: Grower, shares: list[Fraction], min_support: float
) -> Forest:
    """Section 2.3: noisy tables at half of the budget, an exponential mechanism on their gain
    ratios at the other half, exact purity, sizes and majorities."""
    half = curator.budget.total / 2
    open_nodes = list(grower.roots)
    exact: dict[int, NDArray] = {}
    for share in shares:
        level, allowed = grower.level(open_nodes)
        tables = curator.published_counts(SplitTables(level), share * half)
        labels = curator.exact_counts(NodeCounts(level))
        exact |= dict(zip(open_nodes, labels, strict=True))
        ratios = gain_ratio(tables.values, level.layout)
        nodes, open_nodes = open_nodes, []
        for place, node in enumerate(nodes):
            mixed = np.sum(labels[place] > 0) > 1 and labels[place].sum() > min_support
            if mixed and allowed[place].any():
                options = np.flatnonzero(allowed[place])
                scale = 2 / float(share * half)
                pick = curator.published_choice(ratios[place, options].tolist(), scale)
                open_nodes += grower.split(node, int(options[pick]))
        if not open_nodes:
            break
    if open_nodes:
        level, _ = grower.level(open_nodes)
        labels = curator.exact_counts(NodeCounts(level))
        exact |= dict(zip(open_nodes, labels, strict=True))
    return _exact_forest(curator, grower, exact)


def _exact_forest(curator: CuratorLike, grower: Grower, exact: dict[int, NDArray]) -> Forest:
    trees = grower.trees()
    values = np.array([exact[n] for n in range(trees.n_nodes)])
    nothing = np.zeros(trees.n_nodes)
    return Forest(curator.domain, trees, values, curator.guarantee, nothing, vote="shares")
