"""C4.5 with a budget for each level (Shang, Zhao, Shu and Liu 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frith.curator import CuratorLike
from frith.forest import Forest
from frith.growing.allocation import level_shares
from frith.growing.gain import gain_ratio
from frith.growing.grower import Grower
from frith.growing.table_tree import TableTree
from frith.learners.base import PrivateForestClassifier
from frith.learners.parameters import whole
from frith.learners.published.c45 import learn_as_published


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
        if self.as_published:
            return learn_as_published(curator, grower, shares, self.min_support or 0)
        return TableTree(curator, grower, gain_ratio, self.min_support).grow(shares)
