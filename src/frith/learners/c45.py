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
from frith.learners.classifier import PrivateForestClassifier
from frith.learners.parameters import whole
from frith.learners.published.c45 import learn_as_published


class C45Classifier(PrivateForestClassifier):
    """One greedy tree by gain ratio, from noisy tables, one level at a time.

    The count of every value and label is made in one pass a level, whatever the engine: on a
    cluster this is the paper's map-reduce job, with the noise drawn once, centrally.

    Parameters
    ----------
    domain : Domain, str, Path or None, default=None
        What is public about the table, or the path of a domain file. Without one the domain is
        learned from the data, with a `PrivacyLeakWarning`.
    epsilon : int, float, str or Fraction, default=1.0
        The budget of a fit, read exactly as written: "0.1" is one tenth. `float("inf")` gives exact
        counts, without any guarantee.
    delta : int, float, str or Fraction, default=0
        0 gives a pure guarantee with discrete Laplace noise. Above 0 the noise is discrete
        Gaussian, and costs add up under zCDP.
    max_depth : int, default=4
        The most splits on a path, and the number of levels that share the budget.
    allocation : str or list, default="arithmetic"
        The budget of each level. "arithmetic" gives level i of h levels 2 i / (h (h + 1)),
        "geometric" half of what remains and the last level the rest, "uniform" the same to all. A
        list holds one weight for each level, the root's first.
    min_support : float or None, default=None
        Split a node only if its noisy size is larger than this. None takes the standard deviation
        of that size.
    bins : int, default=16
        The number of equal-width parts of each numeric attribute. Their borders are its candidate
        cuts.
    as_published : bool, default=False
        Learn as the paper does, with too little noise and exact stops. No guarantee holds then.
    ledger : str, Path or None, default=None
        The ledger file that every fit is charged to, before a record is read.
    n_jobs : int or None, default=None
        The number of threads; None takes all cores.
    device : str or None, default=None
        "cuda" keeps the records' codes on an NVIDIA GPU and adds them up there, with the same sums; None
        uses the CPU.

    Attributes
    ----------
    forest_ : Forest
        What was released, with its guarantee.
    classes_ : ndarray
        The labels, sorted.
    receipt_ : Receipt or None
        The ledger's receipt for the last fit.

    Privacy
    -------
    `fit` is (epsilon, delta)-DP. All of the budget goes to the tables: level i has its share, and
    the shares add up to one. A record is at one node of a level and is counted there once for every
    attribute asked, so a level's tables have L1 and squared L2 sensitivity k_i, the largest number
    of attributes asked at one of its nodes, and get discrete Laplace noise of scale
    k_i / (share_i epsilon) or discrete Gaussian noise of variance k_i / (2 share_i rho). Gain
    ratios, stops, labels and the counts of the leaves, which are those of the table that chose the
    split above them, are computed from these releases alone.

    The full proof is in docs/proofs/c45.md.

    Departures from the paper
    -------------------------
    The paper scales noise as if a record were counted once, whatever the number of attributes;
    stops and labels on exact purity, sizes and majorities; gives the exact count when a level's
    budget is short; and spends half of the budget on an exponential mechanism whose score has no
    small sensitivity. `as_published=True` does what it says, but for the exact count, which its
    shares never call for; that the mechanism's Delta is 1 and that each level gets its share of the
    half are assumptions of ours, for the paper gives neither. The last level of geometric budgets
    takes the rest. An empty leaf speaks as the node above it. Every row of the paper is in
    docs/sources/c45.md.
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
        device: str | None = None,
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
        self.device = device

    def learn(self, curator: CuratorLike) -> Forest:
        grower = Grower(curator.domain, 1, whole("bins", self.bins, least=2))
        shares = level_shares(self.allocation, whole("max_depth", self.max_depth))
        if self.as_published:
            return learn_as_published(curator, grower, shares, self.min_support or 0)
        return TableTree(curator, grower, gain_ratio, self.min_support).grow(shares)
