"""Random decision trees with private sums of a number in their leaves: Private-RDT for regression."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from frith.curator import CuratorLike, Release
from frith.domain import Numeric
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.growing.builder import single_leaf
from frith.growing.parts import Part, forest_of_parts
from frith.growing.random_trees import grow_random_trees, random_tree_depth
from frith.kernels import ResidualCells
from frith.kernels.gradients import UNIT, ScoreColumn
from frith.kernels.residuals import HALF
from frith.learners.base import structure_rng
from frith.learners.numbers import PrivateForestRegressor
from frith.learners.parameters import share, whole
from frith.privacy.budget import Budget

_OF_MEANS = 0.04  # the variance of a table's mean before it is seen, in declared ranges
_BETWEEN, _WITHIN = 0.02, 0.03  # of leaves' means around it, and of records within a leaf


class RandomDecisionForestRegressor(PrivateForestRegressor):
    """Random decision trees in whose leaves a number is summed privately (after Private-RDT).

    Trees are grown at random from the domain. In every leaf of every tree the sum of the targets
    and the number of records are released with noise, empty leaves too. A leaf predicts its mean,
    pulled to the mean of all records as the noise demands; a prediction is the mean over the trees. A
    baseline: `ForestRegressor` predicts better on nearly every table.

    Parameters
    ----------
    domain : Domain, str, Path or None, default=None
        What is public about the table, or the path of a domain file. Its label is `Numeric`: targets
        beyond its bounds are clamped to them. Without a domain it is learned from the data, with a
        `PrivacyLeakWarning`.
    epsilon : int, float, str or Fraction, default=1.0
        The budget of a fit, read exactly as written: "0.1" is one tenth. `float("inf")` gives exact
        sums, without any guarantee.
    delta : int, float, str or Fraction, default=0
        0 gives a pure guarantee with discrete Laplace noise. Above 0 the noise is discrete
        Gaussian, and costs add up under zCDP.
    n_trees : int, default=10
        The number of trees, which share the budget evenly.
    max_depth : int or None, default=None
        The most splits on a path. None takes the rule of Private-RDT, with the number of records over
        the noise of a count for the number of records.
    size_share : float, str or Fraction, default=0.05
        The share of the budget for a noisy number of records. Spent only if `max_depth` is None and
        the domain does not declare that number.
    random_state : int, RandomState or None, default=None
        Seeds the public shapes of the trees. Noise has no seed.
    ledger : str, Path or None, default=None
        The ledger file that every fit is charged to, before a record is read.
    n_jobs : int or None, default=None
        The number of threads; None takes all cores.

    Attributes
    ----------
    forest_ : Forest
        What was released, with its guarantee.
    receipt_ : Receipt or None
        The ledger's receipt for the last fit.

    Privacy
    -------
    `fit` is (epsilon, delta)-DP for neighbors that differ by one record, or by all records of one
    person where the domain names one. Trees are grown from the domain, the parameters and n alone,
    where n is declared public or a release paid from `size_share`. Each tree is one question
    (`kernels.ResidualCells`) for an equal share of the rest. It is asked of residuals from the lower
    bound over the whole declared range, so g is between 0 and 1. A record is in one leaf of a tree
    and moves its two sums by g and by 1 - g: L1 = 1 and squared L2 <= 1 (m, and m^2, for persons of at
    most m records). The first is the sum of targets, both together are the number of records. Everything
    else reads releases. A target that is missing or no number is not counted; no value raises.

    The proof of the sums is in docs/proofs/regression.md.

    Departures from the paper
    -------------------------
    Private-RDT classifies. Sums take the place of counts of labels, and shrinkage that of its rule for
    leaves without records. Its depth follows from the number of records alone; noise larger than most
    leaves would be the result. There are no updates.

    Examples
    --------
    >>> from frith import Domain, Numeric, RandomDecisionForestRegressor
    >>> domain = Domain([Numeric("age", 0, 100)], Numeric("pay", 0, 10), records=1_000)
    >>> X, y = [[20], [60]] * 500, [1, 9] * 500
    >>> model = RandomDecisionForestRegressor(domain, epsilon=1, random_state=0).fit(X, y)
    >>> print(model.forest_.guarantee.epsilon)
    1
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        n_trees: int = 10,
        max_depth: int | None = None,
        size_share: Any = 0.05,
        random_state: Any = None,
        ledger: Any = None,
        n_jobs: int | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.size_share = size_share
        self.random_state = random_state
        self.ledger = ledger
        self.n_jobs = n_jobs

    def learn(self, curator: CuratorLike) -> Forest:
        n_trees = whole("n_trees", self.n_trees)
        max_depth, rng = self._depth(curator, n_trees), structure_rng(self.random_state)
        from_below = ScoreColumn(single_leaf(), np.array([-HALF], dtype=np.int32))
        curator.derive(from_below)
        each = curator.remaining_share / n_trees
        trees = [grow_random_trees(curator.domain, 1, max_depth, rng) for _ in range(n_trees)]
        sums = [_sums(curator, tree, from_below, each, i) for i, tree in enumerate(trees)]
        return forest_of_parts(curator, _parts(curator.domain.target, trees, sums))

    def _depth(self, curator: CuratorLike, n_trees: int) -> int:
        if self.max_depth is not None:
            return whole("max_depth", self.max_depth)
        n = curator.records(share("size_share", self.size_share))
        noise = _noise(curator.budget, n_trees, curator.records_per_unit)
        return random_tree_depth(curator.domain, max(1, round(n / max(1.0, noise))), n_trees)


def _noise(budget: Budget, n_trees: int, per_unit: int) -> float:
    """The standard deviation of the noise on a sum of a tree, in records."""
    if budget.is_exact:
        return 0.0
    if budget.unit == "rho":
        return per_unit * math.sqrt(n_trees / (2 * float(budget.total)))
    return per_unit * n_trees * math.sqrt(2) / float(budget.total)


def _sums(
    curator: CuratorLike, tree: Trees, from_below: ScoreColumn, share: Fraction, number: int
) -> Release:
    question = ResidualCells(tree, from_below, curator.domain, 2 * HALF)
    return curator.noisy_counts(question, share, f"sums in tree {number}")


def _mean(released: list[Release]) -> float:
    """The mean of all records, which all trees have, pulled to the middle as its noise demands."""
    both = sum(r.values.sum(axis=0) for r in released) / UNIT
    noise = sum(r.values.shape[0] * r.variance for r in released) / UNIT**2  # on each of the two
    size = max(1.0, float(both.sum()))
    kept = _OF_MEANS / (_OF_MEANS + noise / size**2)
    return 0.5 + kept * (float(np.clip(both[0] / size, 0, 1)) - 0.5)


def _parts(target: Numeric, trees: list[Trees], released: list[Release]) -> list[Part]:
    """The posterior mean of every leaf, where means of leaves vary around that of all records."""
    scale = (target.high - target.low) / len(trees)
    mean, parts = _mean(released), []
    for tree, release in zip(trees, released, strict=True):
        sums, rest = release.values.T / UNIT
        counts = sums + rest
        noise = release.variance / UNIT**2 * ((1 - mean) ** 2 + mean**2)  # on sums - mean * counts
        sizes = np.maximum(counts, 1e-9)
        gain = _BETWEEN * sizes / (_BETWEEN * sizes**2 + _WITHIN * sizes + noise)
        means = np.clip(mean + gain * (sums - mean * counts), 0, 1)
        scores = target.low / len(trees) + scale * means
        parts.append(Part(tree, scores[:, None], (scale * gain) ** 2 * noise))
    return parts
