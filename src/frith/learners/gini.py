"""A forest of greedy trees, chosen by the Gini index (Fletcher and Islam 2015, "DPDF")."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.curator import CuratorLike, Release
from frith.forest import Forest
from frith.growing.consistency import make_consistent
from frith.growing.grower import Grower
from frith.growing.pruning import collapse, splits_worth_keeping
from frith.kernels import NodeCounts, NodeSplits, SplitCounts, SplitTables
from frith.kernels.criteria import GiniMass, split_scores
from frith.learners.base import PrivateForestClassifier
from frith.learners.parameters import whole
from frith.learners.published.curator import PublishedCurator


class GiniForestClassifier(PrivateForestClassifier):
    """Greedy trees with distinct roots, chosen by the Gini index, counted at every node (DPDF).

    Algorithm 1: at every node the noisy counts of its labels, then, while it is large and mixed
    enough, a private choice of the attribute to split it by; bottom-up pruning (eq. 27); a vote
    weighted by confidence. Because every node is counted, every rule and sub-rule has a confidence
    and a support.

    Parameters
    ----------
    domain, epsilon, delta, ledger, n_jobs : as in every learner
    n_trees : number of trees; roots are distinct, so there are no more than attributes
    max_depth : the most splits on a path; its nodes are on max_depth + 1 levels
    min_support : the least noisy number of records of a node that is split
    bins : equal-width parts of each numeric attribute, whose borders are its candidate cuts
    consistent : fit parents and children to each other by least squares (post-processing)
    as_published : the paper's own form, without any guarantee

    Privacy
    -------
    `fit` is (epsilon, delta)-DP. A path of a tree is asked for label counts at each of its
    L = max_depth + 1 levels and for a choice at all but the last: 2 L - 1 questions a tree, of
    equal shares. At a
    level a record is at one node of each of the N trees, so the label counts have L1 and squared L2
    sensitivity N. The choice at a node is by the Gini mass, minus the sum over children of
    n - sum_c x_c^2 / n: one more record moves every candidate's score the same way, by less than 2,
    so weights exp(epsilon_choice score / 2) cost epsilon_choice, on any table (`scores.GiniMass`).
    Choices at the nodes of one level compose in parallel within a tree and add over trees. Numeric
    cuts are candidates of the same choice. Stops read noisy counts; pruning, consistency, votes
    and rules are post-processing.

    Departures from the paper
    -------------------------
    The paper divides by a *local* sensitivity at a *noisy* size, which leaks more than claimed
    where the true node is smaller; the mass above has a global one and weights twice as strong.
    Algorithm 1 splits while d <= depth but pays for d < depth. Consistency and numeric cuts are
    ours. `as_published=True` brings back the paper's sensitivity and depth.
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        n_trees: int = 1,
        max_depth: int = 4,
        min_support: float = 100,
        bins: int = 16,
        consistent: bool = True,
        as_published: bool = False,
        ledger: Any = None,
        n_jobs: int | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.min_support = min_support
        self.bins = bins
        self.consistent = consistent
        self.as_published = as_published
        self.ledger = ledger
        self.n_jobs = n_jobs

    def learn(self, curator: CuratorLike) -> Forest:
        n_trees, levels = (
            whole("n_trees", self.n_trees),
            whole("max_depth", self.max_depth, least=0) + 1,
        )
        n_trees = min(n_trees, sum(a.size > 1 for a in curator.domain.attributes) or 1)
        grower = Grower(curator.domain, n_trees, whole("bins", self.bins, least=2))
        share = Fraction(1, 2 * levels - 1)
        counts: list[NDArray] = []
        noise: list[float] = []
        open_nodes = list(grower.roots)
        last = levels + 1 if self.as_published else levels
        for d in range(1, last + 1):
            level, allowed = grower.level(open_nodes, last=d == last)
            labels = self._count(curator, level, share, d)
            counts.append(labels.values)
            noise += [labels.variance] * len(open_nodes)
            places = [
                i for i in range(len(open_nodes)) if self._may_split(labels.values[i], allowed[i])
            ]
            picks = self._choose(curator, level, places, allowed, labels.values, share, d)
            open_nodes = grower.split_all(open_nodes, places, picks)
            if not open_nodes:
                break
        return self._finish(curator, grower, np.concatenate(counts), np.array(noise))

    def _may_split(self, labels: NDArray, allowed: NDArray[np.bool_]) -> bool:
        """Large enough, of more than one label, and with an attribute left: on noisy counts."""
        size = labels.sum()
        return bool(size >= self.min_support and np.all(labels < size) and allowed.any())

    def _count(self, curator: CuratorLike, level: SplitCounts, share: Fraction, d: int) -> Release:
        if isinstance(curator, PublishedCurator):
            return curator.published_counts(
                NodeCounts(level), self._published_epsilon(curator, share)
            )
        return curator.noisy_counts(NodeCounts(level), share, f"labels at level {d}")

    def _choose(
        self,
        curator: CuratorLike,
        level: SplitCounts,
        places: list[int],
        allowed: NDArray[np.bool_],
        labels: NDArray,
        share: Fraction,
        d: int,
    ) -> list[int]:
        """One candidate a place; the roots one after the other, each another attribute."""
        groups = [[p] for p in places] if d == 1 else [places] if places else []
        taken = np.zeros(level.layout.n_candidates, dtype=bool)
        picks: list[int] = []
        for group in groups:
            options = allowed[group] & ~taken
            if isinstance(curator, PublishedCurator):
                epsilon = self._published_epsilon(curator, share)
                chosen = [
                    _published_choice(curator, level, p, o, labels[p], epsilon)
                    for p, o in zip(group, options, strict=True)
                ]
            else:
                part = share / len(groups)
                nodes = NodeSplits(level, np.array(group), options, GiniMass())
                chosen = curator.choose_splits(nodes, part, f"splits of level {d}").tolist()
            picks += chosen
            if d == 1:
                taken |= level.layout.attribute_of == level.layout.attribute_of[chosen[0]]
        return picks

    def _published_epsilon(self, curator: CuratorLike, share: Fraction) -> Fraction:
        return share * curator.budget.total / whole("n_trees", self.n_trees)

    def _finish(
        self, curator: CuratorLike, grower: Grower, counts: NDArray, noise: NDArray
    ) -> Forest:
        trees = grower.trees()
        live = splits_worth_keeping(trees, curator.domain, counts)
        forest = Forest(curator.domain, trees, counts, curator.guarantee, noise, vote="weighted")
        if self.consistent and not self.as_published:
            fitted, left = make_consistent(trees, curator.domain, counts, noise)
            forest = replace(forest, values=fitted, variance=left)
        return collapse(forest, live)


def _published_choice(
    curator: PublishedCurator,
    level: SplitCounts,
    place: int,
    allowed: NDArray[np.bool_],
    labels: NDArray,
    epsilon: Fraction,
) -> int:
    """The exponential mechanism with Theorem 1's local sensitivity at the noisy size."""
    table = SplitTables(level).take(curator.exact_counts(level))[place : place + 1]
    size = max(1, int(table[0, level.layout.bins(int(np.flatnonzero(level.asks[place])[0]))].sum()))
    gini = split_scores(table, level.layout, GiniMass())[0] / (2**20 * size)
    noisy = max(1.0, float(labels.sum()))
    sensitivity = 1 - (noisy / (noisy + 1)) ** 2 - (1 / (noisy + 1)) ** 2
    options = np.flatnonzero(allowed)
    pick = curator.published_choice(gini[options].tolist(), 2 * sensitivity / float(epsilon))
    return int(options[pick])
