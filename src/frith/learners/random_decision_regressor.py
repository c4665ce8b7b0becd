"""Random decision trees with private sums of a number in their leaves: Private-RDT for regression."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

import numpy as np

from frith.curator import CuratorLike, Release
from frith.domain import Numeric
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.growing.builder import each_tree, single_leaf
from frith.growing.parts import Answered, Part, forest_of_parts
from frith.growing.random_trees import grow_random_trees, random_tree_depth
from frith.kernels import ResidualCells
from frith.kernels.gradients import UNIT, ScoreColumn
from frith.kernels.residuals import HALF
from frith.learners.base import structure_rng
from frith.learners.numbers import PrivateForestRegressor
from frith.learners.parameters import share, whole
from frith.learners.public_trees import Together
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
    device : str or None, default=None
        "cuda" keeps the records' codes on an NVIDIA GPU and adds them up there, with the same sums; None
        uses the CPU.

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

    `update` releases the sums of a new batch in the same trees under a budget of its own, so the
    epsilons of fit and updates add (adaptive composition). With `disjoint=True` the caller declares
    that no protected unit is in two batches, and the largest epsilon holds for all of them together.

    The proof of the sums is in docs/proofs/regression.md.

    Departures from the paper
    -------------------------
    Private-RDT classifies. Sums take the place of counts of labels, and shrinkage that of its rule for
    leaves without records. Its depth follows from the number of records alone; noise larger than most
    leaves would be the result.

    Examples
    --------
    >>> from frith import Domain, Numeric, RandomDecisionForestRegressor
    >>> domain = Domain([Numeric("age", 0, 100)], Numeric("pay", 0, 10), records=1_000)
    >>> X, y = [[20], [60]] * 500, [1, 9] * 500
    >>> model = RandomDecisionForestRegressor(domain, epsilon=1, random_state=0).fit(X, y)
    >>> print(model.forest_.guarantee.epsilon)
    1
    """

    _summed: tuple[Trees, Release] | None = None
    """What was released for the forest, which updates add to; None if it was learned elsewhere."""
    _fresh: tuple[Trees, Release] | None = None
    """The same of a fit or update that is running."""

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
        device: str | None = None,
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
        self.device = device

    def learn(self, curator: CuratorLike) -> Forest:
        trees = self.grow(curator)
        self._fresh = trees, self.ask(curator, trees)
        return self.finish(curator, *self._fresh)

    def grow(self, curator: CuratorLike) -> Trees:
        """The trees, from the domain, the budget, the seed and the number of records."""
        n_trees, rng = whole("n_trees", self.n_trees), structure_rng(self.random_state)
        max_depth = self._depth(curator, n_trees)
        return grow_random_trees(curator.domain, n_trees, max_depth, rng)

    @staticmethod
    def ask(curator: CuratorLike, trees: Trees) -> Release:
        """The two sums in every leaf of every tree, for all that is left of the budget."""
        from_below = ScoreColumn(single_leaf(), np.array([-HALF], dtype=np.int32))
        curator.derive(from_below)
        each, values, variance = curator.remaining_share / trees.n_trees, [], 0.0
        lone = each_tree(trees, curator.domain)
        for number, (tree, _) in enumerate(lone):
            question = ResidualCells(tree, from_below, curator.domain, 2 * HALF)
            release = curator.noisy_counts(question, each, f"sums in tree {number}")
            values.append(release.values)
            variance = release.variance
        order = np.argsort(np.concatenate([places for _, places in lone]))
        return Release(np.concatenate(values)[order], variance)

    def finish(self, answered: Answered, trees: Trees, leaves: Release) -> Forest:
        """The forest, from noisy sums in the leaves."""
        lone = each_tree(trees, answered.domain)
        sums = [Release(leaves.values[places], leaves.variance) for _, places in lone]
        parts = _parts(answered.domain.target, [tree for tree, _ in lone], sums)
        return forest_of_parts(answered, parts)

    def update(self, X: Any, y: Any = None, *, epsilon: Any = None, disjoint: bool = False) -> Self:
        """Add a new batch of records to the leaves (Algorithm 5), for an epsilon of its own.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or Engine
            The records of the new batch.
        y : array-like or None, default=None
            Their targets; None if the table has the domain's label column.
        epsilon : int, float, str, Fraction or None, default=None
            The budget of this update; None takes the estimator's own.
        disjoint : bool, default=False
            Declare that no protected unit is in two batches, and that a record's batch is a
            function of that record alone (a date, say, with public boundaries).
        """
        if self._summed is None:
            raise ValueError(
                "there are no sums to add to: a forest holds means of leaves; call fit first"
            )
        budget = self._budget(epsilon)
        curator = self._open_curator(self._open(X, y, reset=False), budget, "update")
        trees, before = self._summed
        batch = self.ask(curator, trees)
        sums = Release(before.values + batch.values, before.variance + batch.variance)
        guarantee = self.forest_.guarantee.then(curator.guarantee, disjoint=disjoint)
        self._fresh = trees, sums
        forest = self.finish(Together(curator.domain, guarantee), trees, sums)
        self._keep(replace(forest, origin=self.forest_.origin), curator, disjoint)
        return self

    def partial_fit(self, X: Any, y: Any = None) -> Self:
        """`fit` the first batch, `update` with every further one; epsilons add.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or Engine
            The records of a batch.
        y : array-like or None, default=None
            Their targets; None if the table has the domain's label column.
        """
        return self.update(X, y) if hasattr(self, "forest_") else self.fit(X, y, notices=False)

    def _adopt(self, forest: Forest, receipt: Any) -> None:
        """Keep the sums behind the forest for updates."""
        super()._adopt(forest, receipt)
        self._summed, self._fresh = self._fresh, None

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
