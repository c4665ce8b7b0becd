"""A random forest that tunes itself by signal-to-noise ratios (Fletcher and Islam 2015, "DP-RF")."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from frith.curator import CuratorLike, Release
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.growing.parts import Answered
from frith.growing.pruning import prune_unreliable
from frith.growing.random_trees import grow_supported_trees
from frith.learners.base import structure_rng
from frith.learners.parameters import share
from frith.learners.public_trees import PublicTreesClassifier, forest_of_leaves


class SignalForestClassifier(PublicTreesClassifier):
    """Random trees that split while signal outweighs noise; the most confident node predicts (DP-RF).

    It needs no parameter but epsilon: the least support theta of a node (eq. 5) and the number of
    trees tau (eq. 8, 9) follow from records, domain and budget.

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
    size_share : float, str or Fraction, default=0.05
        The share of the budget for a noisy number of records. Spent only if the domain does not
        declare that number.
    random_state : int, RandomState or None, default=None
        Seeds the public shapes of the trees. Noise has no seed.
    as_published : bool, default=False
        Learn as the paper does, from the exact number of records, free of charge. No guarantee holds
        then.
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
    tau_ : int
        The number of trees.
    theta_ : float
        The least estimated support of a node that is split.

    Privacy
    -------
    `fit` is (epsilon, delta)-DP. The number of records is declared public or paid from `size_share`;
    theta, tau and the trees follow from it, the domain and the seed. A record is in one leaf of
    each of the tau trees, so the leaf counts have L1 and squared L2 sensitivity tau and take the
    rest of the budget. Everything else is post-processing: nodes whose signal-to-noise ratio is
    under 1 (eq. 10, on counts summed from the leaves) are emptied or cut off, the node of highest
    confidence on a path speaks for it (4.6), and the most confident tree decides (4.7).

    The full proof is in docs/proofs/signal.md.

    Departures from the paper
    -------------------------
    The number of records is declared or paid for. A numeric attribute is split in two by a random
    cut and may be asked again, where the paper cuts it into five parts. With delta, the standard
    deviation of the Gaussian noise takes the place of sqrt 2 / epsilon. Attributes of one value
    count neither in the mean domain size nor in the number of trees, and there is always one tree.
    No node of an estimated support of 1 or less is split. Roots always count as reliable. An
    unreliable node beside a reliable one is emptied, and the node above speaks for it. Negative
    counts are 0 in confidences. Every row of the paper is in docs/sources/dp-rf.md.
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        size_share: Any = 0.05,
        random_state: Any = None,
        as_published: bool = False,
        ledger: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.size_share = size_share
        self.random_state = random_state
        self.as_published = as_published
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.device = device

    def grow(self, curator: CuratorLike) -> Trees:
        rng = structure_rng(self.random_state)
        n = curator.records(share("size_share", self.size_share))
        self.tau_ = number_of_trees(curator, n)
        self.theta_ = least_support(curator, self.tau_)
        return grow_supported_trees(curator.domain, self.tau_, n, self.theta_, rng)

    def finish(self, answered: Answered, trees: Trees, leaves: Release) -> Forest:
        """Prune unreliable nodes; then the most confident node of a path predicts (4.6, 4.7)."""
        forest = forest_of_leaves(answered, trees, leaves, vote="confident")
        return prune_unreliable(forest, leaf_noise=math.sqrt(leaves.variance))


def least_support(curator: CuratorLike, tau: int) -> float:
    """theta = labels x sqrt 2 / epsilon_tree (eq. 5): labels times the noise on one counter."""
    if curator.is_exact:
        return 0.0
    amount = float(curator.remaining_share * curator.budget.total)
    is_rho = curator.budget.unit == "rho"
    noise = np.sqrt(tau / (2 * amount)) if is_rho else np.sqrt(2) * tau / amount
    return float(curator.domain.n_labels * (curator.records_per_unit * noise))


def number_of_trees(curator: CuratorLike, n: int) -> int:
    """The most trees, up to the number of attributes, for which theta < n / delta^2 (eq. 9)."""
    useful = [a.branches for a in curator.domain.attributes if a.size > 1] or [1]
    limit = n / float(Fraction(sum(useful), len(useful))) ** 2
    fitting = [t for t in range(1, len(useful) + 1) if least_support(curator, t) < limit]
    return max(fitting, default=1)
