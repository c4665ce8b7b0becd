"""Private ID3: from noisy counts (Jagannathan et al. 2012, section 4), or by private choices
(Friedman and Schuster 2010, "DiffPID3")."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from frith.curator import CuratorLike
from frith.forest import Forest
from frith.growing.allocation import level_shares
from frith.growing.gain import information_gain
from frith.growing.grower import Grower
from frith.growing.pruning import collapse, splits_that_lower_errors
from frith.growing.table_tree import TableTree
from frith.kernels import NodeSizes, NodeSplits
from frith.kernels.criteria import MAX_CAP, criterion
from frith.learners.classifier import PrivateForestClassifier
from frith.learners.parameters import is_exponential, one_of, whole
from frith.learners.public_trees import count_leaves, forest_of_leaves


class ID3Classifier(PrivateForestClassifier):
    """One greedy tree by information gain.

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
    queries : {"exponential", "counts"}, default="exponential"
        "exponential" asks for noisy sizes and private choices of splits (DiffPID3). "counts" asks
        for the noisy table of every attribute at every node and computes all entropies from those.
    criterion : {"max", "gini", "entropy"}, default="max"
        The score of a split in private choices. Not used with "counts".
    max_depth : int or None, default=5
        The most splits on a path; None allows one for every attribute.
    min_support : float or None, default=None
        With "counts", split a node only if its noisy size is larger than this. None takes the
        standard deviation of that size.
    bins : int, default=16
        The number of equal-width parts of each numeric attribute. Their borders are its candidate
        cuts.
    mechanism : str or None, default=None
        How a split is chosen privately: "permute-and-flip" or "exponential". None takes the first,
        which is never worse at the same epsilon, and with a delta the second, the only one there.
    prune : bool, default=True
        With "exponential", prune by C4.5's estimate of errors, on released counts.
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
    `fit` is (epsilon, delta)-DP. *Exponential*, for d levels of splits: every level is asked for the
    sizes of its nodes, all but the last for a choice at each node, and all leaves together for
    their label counts: 2 d + 1 questions, each for the paper's 1 / (2 (d + 1)) of the budget. A
    record is at one node of a level and in one leaf, so sizes and label counts have sensitivity 1,
    and the choices of a level compose in parallel; each costs its share by the range of its
    criterion (`kernels.criteria`). *Counts*: the tables of a level count a record once for every attribute
    asked at its node, so their L1 and squared L2 sensitivity is the largest number of attributes
    asked at one node. Level shares are in proportion to what that number is where no attribute is
    asked twice, and add up to one. Stops, gains, pruning and labels read releases only.

    The full proof is in docs/proofs/id3.md.

    Departures from the papers
    --------------------------
    The root's label counts and all sizes are sums of the released tables, not further questions. A
    node is not split where its noisy size is under its noise, or where the next level would pass a
    public limit on cells. A leaf without a positive count speaks as the node above it. All cuts of
    all attributes are candidates of one choice. Choices are by permute-and-flip where DiffPID3 has
    the exponential mechanism, unless `mechanism` or a delta asks for it; its Gini and entropy are masses, not
    shares of a node. Every row is in docs/sources/private-rdt.md and docs/sources/dpdf.md.
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        queries: str = "exponential",
        criterion: str = "max",
        max_depth: int | None = 5,
        min_support: float | None = None,
        bins: int = 16,
        mechanism: str | None = None,
        prune: bool = True,
        ledger: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.queries = queries
        self.criterion = criterion
        self.max_depth = max_depth
        self.min_support = min_support
        self.bins = bins
        self.mechanism = mechanism
        self.prune = prune
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.device = device

    def learn(self, curator: CuratorLike) -> Forest:
        grower = Grower(curator.domain, 1, whole("bins", self.bins, least=2))
        k = len(curator.domain.attributes)
        depth = k if self.max_depth is None else whole("max_depth", self.max_depth)
        exponential = is_exponential(self.mechanism, curator.budget.delta)
        if one_of("queries", self.queries, ("counts", "exponential")) == "counts":
            asked = [max(1, k - i) for i in range(depth)]
            tree = TableTree(curator, grower, information_gain, self.min_support)
            return tree.grow(level_shares(asked, depth))
        return self._diff_p_id3(curator, grower, depth, exponential)

    def _diff_p_id3(
        self, curator: CuratorLike, grower: Grower, depth: int, exponential: bool
    ) -> Forest:
        share = Fraction(1, 2 * (depth + 1))
        known = curator.domain.records is not None
        by = criterion(self.criterion, curator.records(share) if known else MAX_CAP)
        open_nodes = list(grower.roots)
        for number in range(1, depth + 1):
            if number > 1 and not grower.can_count(open_nodes):
                break
            level, allowed = grower.level(open_nodes)
            sizes = curator.noisy_counts(NodeSizes(level), share, f"sizes at level {number}")
            least = _least_size(grower, sizes.variance)
            places = np.flatnonzero(allowed.any(axis=1) & (sizes.values > least))
            if len(places) == 0:
                break
            picks = curator.choose_splits(
                NodeSplits(level, places, allowed[places], by),
                share,
                f"splits of level {number}",
                exponential=exponential,
            )
            open_nodes = grower.split_all(open_nodes, places, picks)
        trees = grower.trees()
        leaves = count_leaves(curator, trees, share)
        forest = forest_of_leaves(curator, trees, leaves, vote="shares")
        if not self.prune:
            return forest
        return collapse(forest, splits_that_lower_errors(trees, curator.domain, forest.values))


def _least_size(grower: Grower, variance: float) -> float:
    """Friedman and Schuster's N / (t |C|) >= sqrt 2 / epsilon: a child should outweigh its noise."""
    widest = max(a.branches for a in grower.domain.attributes)
    return widest * grower.domain.n_labels * float(np.sqrt(variance))
