"""A forest by information gain and private choices (after US 10,726,153)."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from frith.curator import CuratorLike
from frith.domain import Domain
from frith.forest import Forest
from frith.growing.grower import Grower
from frith.growing.random_trees import floor_log
from frith.kernels import NodeSplits
from frith.kernels.criteria import criterion
from frith.learners.base import structure_rng
from frith.learners.classifier import PrivateForestClassifier
from frith.learners.parameters import is_exponential, share, whole
from frith.learners.public_trees import count_leaves, forest_of_leaves


class InfoGainForestClassifier(PrivateForestClassifier):
    """Trees whose splits are chosen by information gain, with private leaf counts.

    A request names a level of privacy, epsilon and delta; the number of trees and their depth come
    with it or are chosen from public facts; at every node a split is drawn by its information gain
    from all categorical attributes and all cuts of numeric ones; the leaves hold private counts.

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
    n_trees : int or None, default=None
        The number of trees. None chooses 1 to 8, more where records and budget are plenty. Each
        tree gets its part of the budget, so one is often the most accurate: docs/results/papers.md
        has one against several.
    max_depth : int or None, default=None
        The most splits on a path. None chooses as many as keep leaves larger than their noise.
    max_features : float, default=1.0
        The share of the attributes that each tree may ask, drawn at random.
    split_share : float, str or Fraction, default=0.5
        The share of the budget for choosing splits. The leaves get the rest.
    size_share : float, str or Fraction, default=0.05
        The share of the budget for a noisy number of records. Spent only if the domain does not
        declare that number.
    bins : int, default=16
        The number of equal-width parts of each numeric attribute. Their borders are its candidate
        cuts.
    mechanism : str or None, default=None
        How a split is chosen privately: "permute-and-flip" or "exponential". None takes the first,
        which is never worse at the same epsilon, and with a delta the second, the only one there.
    random_state : int, RandomState or None, default=None
        Seeds which attributes each tree may ask. Noise has no seed.
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
    `fit` is (epsilon, delta)-DP. The number of records is declared public or paid for. Choices are
    by the entropy mass, n times the conditional entropy with the sign turned: the parent's own
    entropy is the same for all candidates of a node, so this is the order of information gain. Its
    range, log2 N + 1 / ln 2 for a public or released N, holds on every table (`criteria.EntropyMass`).
    Choices of a level compose in parallel within a tree and add over trees; the levels have equal
    parts of `split_share`. The leaves of N trees have L1 and squared L2 sensitivity N. With delta,
    choices are Gumbel and leaves discrete Gaussian, and everything adds up in rho.

    The full proof is in docs/proofs/info-gain.md.

    Departures
    ----------
    Only the patent's first claim was at hand. It does not say in which form the information gain is
    taken: as a mass is our choice, because the gain as a share of the node has no small sensitivity.
    Choices are by permute-and-flip where the claim has an exponential mechanism, unless `mechanism`
    or a delta asks for it. Nothing is known of a node's size before its leaves are counted, so trees
    are complete. Every part of the claim is in docs/sources/patent.md.
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        n_trees: int | None = None,
        max_depth: int | None = None,
        max_features: Any = 1.0,
        split_share: Any = 0.5,
        size_share: Any = 0.05,
        bins: int = 16,
        mechanism: str | None = None,
        random_state: Any = None,
        ledger: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.max_features = max_features
        self.split_share = split_share
        self.size_share = size_share
        self.bins = bins
        self.mechanism = mechanism
        self.random_state = random_state
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.device = device

    def learn(self, curator: CuratorLike) -> Forest:
        exponential = is_exponential(self.mechanism, curator.budget.delta)
        bins, for_splits = whole("bins", self.bins, least=2), share("split_share", self.split_share)
        n_trees = None if self.n_trees is None else whole("n_trees", self.n_trees)
        depth = None if self.max_depth is None else whole("max_depth", self.max_depth)
        n_features, rng = self._n_features(curator.domain), structure_rng(self.random_state)
        n = curator.records(share("size_share", self.size_share))
        n_trees, depth = _shape(curator, n, n_trees, depth)
        grower = Grower(curator.domain, n_trees, bins)
        may_ask = _features(grower, n_features, rng)
        by = criterion("entropy", n)
        splits = for_splits * curator.remaining_share
        open_nodes = list(grower.roots)
        for number in range(1, depth + 1):
            if number > 1 and not grower.can_count(open_nodes):
                break
            level, allowed = grower.level(open_nodes)
            of_tree = [grower.tree[node] for node in open_nodes]
            allowed &= may_ask[of_tree][:, level.layout.attribute_of]
            places = np.flatnonzero(allowed.any(axis=1))
            if len(places) == 0:
                break
            picks = curator.choose_splits(
                NodeSplits(level, places, allowed[places], by),
                splits / depth,
                f"splits of level {number}",
                exponential=exponential,
            )
            open_nodes = grower.split_all(open_nodes, places, picks)
        trees = grower.trees()
        return forest_of_leaves(curator, trees, count_leaves(curator, trees), vote="shares")

    def _n_features(self, domain: Domain) -> int:
        """How many attributes each tree may ask."""
        part = float(self.max_features)
        if not 0 < part <= 1:
            raise ValueError(
                f"max_features must be over 0 and at most 1, and is {self.max_features!r}"
            )
        return max(1, round(part * len(domain.attributes)))


def _shape(curator: CuratorLike, n: int, n_trees: int | None, depth: int | None) -> tuple[int, int]:
    """Number and depth of trees: as asked, else from public facts alone."""
    domain = curator.domain
    epsilon = float(curator.budget.epsilon) / curator.records_per_unit
    signal = float("inf") if curator.is_exact else n * epsilon
    if n_trees is None:
        trees = int(signal / (20_000 * domain.n_labels)) if signal < 1e18 else 8
        n_trees = max(1, min(8, trees))
    if depth is not None:
        return n_trees, depth
    useful = [a.branches for a in domain.attributes if a.size > 1] or [2]
    mean = Fraction(sum(useful), len(useful))
    room = n if curator.is_exact else signal / (10 * n_trees * domain.n_labels)
    return n_trees, max(1, min(8, len(useful), floor_log(Fraction(room), mean)))


def _features(grower: Grower, n_features: int, rng: np.random.Generator) -> np.ndarray:
    """Which attributes each tree may ask: public randomness."""
    k = len(grower.domain.attributes)
    order = np.array([rng.permutation(k) for _ in range(grower.n_trees)])
    return order < n_features
