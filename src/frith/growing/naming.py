"""A tree that pays for choices which name labels, and little or nothing for counts.

all     choose a label for everybody
wide    choose a partition of all records and a label for each of its parts
deep    for each level: at each open node choose a label for all of it, or (split, label left,
        label right)

either by how many records get their own label; where the budget allows, release the label counts
of the leaves, and shrink them; where it allows less, how many records are right in all. A record is
at one node of a level, so the choices of a level compose in parallel.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy.special import softmax

from frith._arrays import Floats
from frith.curator import CuratorLike, Release
from frith.forest.trees import Trees
from frith.growing.additive import bin_tree, label_shares
from frith.growing.builder import TreeBuilder, keep_nodes, single_leaf
from frith.growing.grids import partition_trees
from frith.growing.oblivious import ask_once
from frith.growing.parts import Part, forest_of_parts
from frith.kernels import LabelChoice, LeafCounts, NamedSplits, Partitions, SplitCounts
from frith.kernels.forests import RightCounts
from frith.kernels.layout import Layout
from frith.kernels.splits import BinarySplit, BinarySplits

_CLAIM = 0.5  # the share that chosen labels are taken to get right, before they are counted
_DOUBT = 0.2  # the standard deviation of that guess
_BALANCED = 0.8  # of the number of labels, that labels of this entropy are like
_UNNAMED = 2.0  # how common a label is that no leaf has, where one leaf's counts 1
_APART = 1.15  # how much more often chosen labels are right that tell records apart
_GRID = 400  # shares that are weighed against each other
_SURE = 15.0  # the signal from which on a choice without counts is believed as far as it goes
_LEAD = 1.01  # how far a chosen label stays ahead of the others


@dataclass
class NamingTree:
    """The algorithm above; everything it keeps is public or released."""

    curator: CuratorLike
    layout: Layout
    n_records: int
    signal: float = math.inf

    def learn(
        self, levels: int | None, share: Fraction, for_counts: Fraction, by_leaf: bool = True
    ) -> Part:
        """A tree worth `share` of the budget, of which the part `for_counts` is for counts.

        With 0 levels it is wide: one partition; with None it is one label for everybody. Labels are
        counted in its leaves. Without `by_leaf`
        that is how many records are right in all, or how common labels are, if one was chosen for all.
        """
        before, for_choices = self.curator.remaining_share, share * (1 - for_counts)
        if levels is None:
            tree, labels = self._name_all(for_choices)
        elif levels:
            tree, labels = self._grow(levels, for_choices / levels)
        else:
            tree, labels = self._part(for_choices)
        left = share - (before - self.curator.remaining_share)  # more, if no node was left to split
        if not left:
            return self._guess(tree, labels)
        if len(labels) == 1 or (not by_leaf and np.all(labels == labels[0])):
            return self._count_all(int(labels[0]), left)
        if not by_leaf:
            return self._guess(tree, labels, self._right(self._guess(tree, labels), left))
        counts = self.curator.noisy_counts(
            LeafCounts(tree, self.layout.domain), left, "labels in the leaves"
        )
        shares, noise = leaf_shares(counts.values, counts.variance, labels, self.n_records)
        return Part(tree, np.log(shares), noise)

    def _name_all(self, share: Fraction) -> tuple[Trees, NDArray[np.int64]]:
        question = LabelChoice(LeafCounts(single_leaf(), self.layout.domain))
        label = self.curator.choose(question, share, "label of everybody")
        return single_leaf(), np.array([label])

    def _part(self, share: Fraction) -> tuple[Trees, NDArray[np.int64]]:
        trees, bins = partition_trees(self.layout)
        counts = LeafCounts(trees, self.layout.domain)
        question = Partitions(counts, BinarySplits(self.layout), bins)
        place, labels = self.curator.choose_labels(question, share, "partition and labels")
        chosen = question.chosen(place)
        if isinstance(chosen, int):
            first, end = np.append(trees.roots, trees.n_nodes)[chosen : chosen + 2]
            nodes = np.arange(trees.n_nodes)
            return keep_nodes(trees, (first <= nodes) & (nodes < end)), labels
        if isinstance(chosen, BinarySplit):
            return ask_once(self.layout.domain, chosen), labels
        cuts = [*self.layout.cuts]
        if self.layout.is_numeric(chosen.attribute):
            cuts[chosen.attribute] = cuts[chosen.attribute][np.flatnonzero(np.diff(chosen.group))]
        tree, part_of_leaf = bin_tree(Layout(self.layout.domain, tuple(cuts)), chosen.attribute)
        return tree, labels[part_of_leaf]

    def _grow(self, levels: int, share: Fraction) -> tuple[Trees, NDArray[np.int64]]:
        builder, splits = TreeBuilder(), BinarySplits(self.layout)
        labels, open_nodes = {0: -1}, [0]
        for level in range(1, levels + 1):
            kept = np.array([labels[node] for node in open_nodes])
            question = NamedSplits(self._level(builder.trees(), open_nodes), splits, kept)
            picks = self.curator.choose_splits(question, share, f"labels of level {level}")
            below: list[int] = []
            for node, pick in zip(open_nodes, picks.tolist(), strict=True):
                split, left, right = question.chosen(pick)
                labels[node] = left
                if split.attribute >= 0:
                    children = builder.ask(node, split)
                    labels |= zip(children, (left, right), strict=True)
                    below += children
            open_nodes = below
            if not open_nodes:
                break
        tree = builder.trees()
        return tree, np.array([labels[leaf] for leaf in tree.leaves.tolist()])

    def _level(self, tree: Trees, open_nodes: list[int]) -> SplitCounts:
        asks = np.ones((len(open_nodes), len(self.layout.domain.attributes)), dtype=bool)
        return SplitCounts(tree, self.layout, np.array(open_nodes), asks)

    def _count_all(self, label: int, share: Fraction) -> Part:
        """One label for everybody; counts say how common it is, and the others."""
        tree, labels = single_leaf(), np.array([label])
        counts = self.curator.noisy_counts(
            LeafCounts(tree, self.layout.domain), share, "labels in the leaves"
        )
        noise = self._noise(counts)
        shares = _ahead(share_means(counts.values[0] / self.n_records, noise, 0.5)[None], labels)
        errors = np.minimum(noise / shares, 1.0)  # a share that is all noise
        return Part(tree, np.log(shares), (errors**2).mean(axis=1))

    def _right(self, guess: Part, share: Fraction) -> float:
        """The share of all records that the chosen labels get right."""
        question = RightCounts((forest_of_parts(self.curator, [guess]),))
        counts = self.curator.noisy_counts(question, share, "records that are right")
        right = counts.values[0] / self.n_records
        return float(share_means(np.array([right, 1 - right]), self._noise(counts), 1.0)[0])

    def _noise(self, counts: Release) -> float:
        """The standard deviation of the noise on a share of all records."""
        return max(math.sqrt(counts.variance) / self.n_records, 1e-6)

    def _guess(self, tree: Trees, labels: NDArray[np.int64], right: float | None = None) -> Part:
        """Without counts in leaves the chosen labels alone predict: noise may have chosen any of them."""
        n_labels = self.layout.domain.n_labels
        common = np.bincount(labels, minlength=n_labels) + _UNNAMED  # no count says how common
        sure = 1.0
        if right is None:
            right = n_labels**-0.5 * (_APART if np.any(labels != labels[0]) else 1)
            sure = min(1.0, self.signal / _SURE)
        shares = _ahead(_prior(common / common.sum(), labels, min(right, 1.0)), labels)
        scores = sure * np.log(shares)
        return Part(tree, scores, scores.var(axis=1))


def are_balanced(curator: CuratorLike, layout: Layout, n_records: int, share: Fraction) -> bool:
    """Whether labels are about equally common, by the entropy of their noisy shares."""
    counts = curator.noisy_counts(LeafCounts(single_leaf(), layout.domain), share, "labels")
    shares = label_shares([counts.values.astype(np.float64)], counts.variance, n_records)
    return bool(np.exp(-shares @ np.log(shares)) >= _BALANCED * len(shares))


# -- post-processing ---------------------------------------------------------------------------


def leaf_shares(
    counts: NDArray[np.int64], variance: float, labels: NDArray[np.int64], n_records: int
) -> tuple[Floats, Floats]:
    """The label shares of each leaf, and the noise on their logarithms; `labels` were chosen.

    All leaves together say how often chosen labels are right and how common each label is. Each
    leaf is shrunk towards that as far as noise explains what it says by itself.
    """
    n_leaves, n_labels = counts.shape
    rows, variance = np.arange(n_leaves), max(variance, 1e-9)
    even = n_records / n_labels
    totals = np.maximum(_shrunk(counts.sum(axis=0), even, n_leaves * variance), 0.05 * even)
    common, mean = totals / totals.sum(), n_records / n_leaves
    sizes = np.maximum(_shrunk(counts.sum(axis=1), mean, n_labels * variance), 0.1 * mean)
    sizes = sizes * n_records / sizes.sum()
    seen, spread = counts[rows, labels].sum() / n_records, n_leaves * variance / n_records**2
    guess = max(_CLAIM, float(common.max()))
    right = (seen / spread + guess / _DOUBT**2) / (1 / spread + 1 / _DOUBT**2)
    right = float(np.clip(right, max(1 / n_labels, 0.3), 0.97))
    prior = _prior(common, labels, right)
    expected, weights = sizes[:, None] * prior, common * n_labels
    beyond = counts - expected
    power = float(((beyond**2 - variance) * weights).sum()) / (n_leaves * (weights**2).sum())
    signal = max(0.0, power) * weights
    kept = signal / (signal + variance)
    found, error = expected + beyond * kept, kept * np.sqrt(variance)
    low, shares, high = (
        np.maximum(x, 0.1 * expected) + 0.5 * prior for x in (found - error, found, found + error)
    )
    noise = ((np.log(high / low) / 2) ** 2).mean(axis=1)
    return _ahead(shares, labels), noise


def _prior(common: Floats, labels: NDArray[np.int64], right: float) -> Floats:
    """In each leaf `right` for the chosen label, and the rest for the others as they are common."""
    rows = np.arange(len(labels))
    shares = np.tile(common, (len(labels), 1))
    shares[rows, labels] = 0
    shares *= (1 - right) / shares.sum(axis=1, keepdims=True)
    shares[rows, labels] = right
    return shares


def _ahead(shares: Floats, labels: NDArray[np.int64]) -> Floats:
    """Shares of 1 in all, where the chosen label of each leaf has the largest."""
    rows, shares = np.arange(len(labels)), shares.copy()
    shares[rows, labels] = np.maximum(shares[rows, labels], _LEAD * shares.max(axis=1))
    return np.asarray(shares / shares.sum(axis=1, keepdims=True))


def share_means(found: Floats, deviation: float, alpha: float) -> Floats:
    """Shares that were found as noisy as `deviation`: for each, the mean of all that it may be.

    Beforehand they follow a Dirichlet law with `alpha` for each. Under log loss nothing better can be
    said of a share by itself; together they are 1 only nearly.
    """
    share = ((np.arange(_GRID) + 0.5) / _GRID) ** 2  # finer where shares are small
    before = (alpha - 0.5) * np.log(share) + (alpha * (len(found) - 1) - 1) * np.log1p(-share)
    fit = -0.5 * ((found[:, None] - share) / deviation) ** 2
    return np.asarray(softmax(before + fit, axis=1) @ share)


def _shrunk(sums: NDArray[np.int64], mean: float, variance: float) -> Floats:
    """Sums that should be about equal, kept apart as far as noise does not explain it."""
    off = sums - mean
    kept = max(0.0, 1 - len(off) * variance / max(float((off**2).sum()), 1e-9))
    return np.asarray(mean + kept * off)
