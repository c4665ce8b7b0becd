"""Pruning: what a learner cuts away after its values are released."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta

from frith.domain import Domain
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.growing.builder import keep_nodes


def collapse(forest: Forest, live: NDArray[np.bool_]) -> Forest:
    """The forest with every inner node that is not `live` made a leaf, and what lay below it gone."""
    pruned, kept = cut_back(forest.trees, live, forest.domain)
    values, variance = forest.values[kept], forest.variance[kept]
    candidates = max(forest.candidates, forest.trees.n_nodes)
    return replace(forest, trees=pruned, values=values, variance=variance, candidates=candidates)


def cut_back(
    trees: Trees, live: NDArray[np.bool_], domain: Domain
) -> tuple[Trees, NDArray[np.bool_]]:
    """Trees whose only inner nodes are `live`, and which nodes are still there."""
    live = live & (trees.attribute >= 0)
    kept = np.zeros(trees.n_nodes, dtype=bool)
    kept[trees.roots] = True
    for node in np.flatnonzero(live):
        if kept[node]:
            kept[_below(trees, node, domain)] = True
    return keep_nodes(trees, kept), kept


def prune_empty(forest: Forest) -> Forest:
    """Subtrees that no record reached become one empty leaf (the last step of Algorithm 2 of
    Private-RDT).

    Only for exact forests: which leaves are empty is a fact about the records. Predictions stay
    the same, for an empty leaf adds nothing to any label.
    """
    return collapse(forest, forest.values.sum(axis=1) > 0)


def splits_worth_keeping(trees: Trees, domain: Domain, counts: NDArray) -> NDArray[np.bool_]:
    """Bottom-up pruning by Gini (eq. 27 of DPDF).

    A node whose children are all leaves loses them when its own Gini index is no worse than theirs
    on average, each weighed by its size.
    """
    sizes = np.maximum(counts, 0).sum(axis=1)
    shares = np.maximum(counts, 0) / np.maximum(sizes, 1e-300)[:, None]
    quality = np.where(sizes > 0, np.sum(shares**2, axis=1) - 1, 0.0)
    live = trees.attribute >= 0
    for node in np.flatnonzero(live)[::-1]:
        below = _below(trees, node, domain)
        if live[below].any():
            continue
        weight = sizes[below].sum()
        average = np.dot(sizes[below], quality[below]) / weight if weight > 0 else 0.0
        live[node] = weight > 0 and quality[node] < average - 1e-12
    return live


def splits_that_lower_errors(
    trees: Trees, domain: Domain, counts: NDArray, confidence: float = 0.25
) -> NDArray[np.bool_]:
    """C4.5's error-based pruning, on released counts.

    A node becomes a leaf when the errors it would make are, at the upper end of a confidence
    interval, no more than those of the subtree below it.
    """
    positive = np.maximum(counts, 0)
    sizes = positive.sum(axis=1)
    errors = sizes - positive.max(axis=1)
    with np.errstate(invalid="ignore"):
        worst = sizes * beta.ppf(1 - confidence, errors + 1, np.maximum(sizes - errors, 1e-9))
    worst = np.where(sizes > 0, worst, 0.0)
    live = trees.attribute >= 0
    for node in np.flatnonzero(live)[::-1]:
        below = worst[_below(trees, node, domain)].sum()
        if worst[node] <= below + 1e-9:
            live[node] = False
        else:
            worst[node] = below
    return live


def prune_unreliable(forest: Forest, leaf_noise: float) -> Forest:
    """Empty the unreliable nodes, and cut off splits without a reliable child."""
    trees, domain = forest.trees, forest.domain
    reliable = reliable_nodes(trees, domain, forest.values, leaf_noise)
    live = trees.attribute >= 0
    for node in np.flatnonzero(live):
        live[node] = reliable[_below(trees, node, domain)].any()
    return collapse(replace(forest, values=np.where(reliable[:, None], forest.values, 0)), live)


def reliable_nodes(
    trees: Trees, domain: Domain, counts: NDArray, leaf_noise: float
) -> NDArray[np.bool_]:
    """Nodes whose signal-to-noise ratio is at least 1, and so are all above (eq. 10 of DP-RF).

    Counts of inner nodes are sums over their leaves; the noise of a node of L leaves on its number
    of records is taken as labels x `leaf_noise` x sqrt(L). Roots always count as reliable.
    """
    n_leaves = np.where(trees.attribute < 0, 1.0, 0.0)
    inner = np.flatnonzero(trees.attribute >= 0)
    for node in inner[::-1]:
        n_leaves[node] = n_leaves[_below(trees, node, domain)].sum()
    noise = counts.shape[1] * leaf_noise * np.sqrt(n_leaves)
    reliable = counts.sum(axis=1) >= noise
    reliable[trees.roots] = True
    for node in inner:
        reliable[_below(trees, node, domain)] &= reliable[node]
    return reliable


def _below(trees: Trees, node: int | np.integer, domain: Domain) -> slice:
    children = trees.children(int(node), domain)
    return slice(children.start, children.stop)
