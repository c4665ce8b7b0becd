"""Which attributes a forest's splits gain by, read from its released values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.forest.kinds import ValueKind
from frith.forest.nodes import Nodes
from frith.forest.trees import sum_up
from frith.forest.voting import VotingTrees


def importances(forest: VotingTrees, *, errors: bool = False) -> Any:
    """How much each attribute's splits tell, as shares of their sum; see `Forest.importances`."""
    import pandas as pd

    nodes, count = Nodes(forest), len(forest.domain.attributes)
    inner = np.flatnonzero(forest.trees.attribute >= 0)
    place = forest.trees.attribute[inner]
    gain, variance = (_sum(place, each[inner], count) for each in gains_of_splits(nodes))
    # Noise can make an attribute's splits look worse than none, which says as much as no gain.
    total = np.maximum(gain, 0).sum() or 1.0
    shares = np.maximum(gain, 0) / total
    asked = list(forest.trees.asked)
    names = [forest.domain.names[a] for a in asked]
    series = pd.Series(shares[asked], index=names, name="importance")
    if not errors:
        return series
    error = np.minimum(np.sqrt(variance[asked]) / total, 1)
    return series.to_frame().assign(standard_error=error, is_clear=series.to_numpy() > error)


def gains_of_splits(nodes: Nodes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What the split at each node gains, and its variance; every tree weighs as much as any other."""
    is_scores = nodes.kind is ValueKind.SCORES
    gain, variance = (_moves if is_scores else _decreases)(nodes)
    whole = _leaves_below(nodes) if is_scores else nodes.totals
    size = np.maximum(whole[nodes.forest.trees.roots], 1e-100)[nodes.tree]
    return gain / size, variance / size**2


def importance_words(importance: float, error: float) -> str:
    """A share of the whole with the standard error of its noise, if that is smaller."""
    if importance <= error:
        return "this budget cannot tell"
    return f"{importance:.0%} ± {error:.0%}" if error else f"{importance:.0%}"


# -- scores ------------------------------------------------------------------------------------


def _moves(nodes: Nodes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far each node's split moves scores apart, squared, over all leaves below; its variance.

    A node has the mean score of its leaves, each weighing the same: how many records they have was
    not measured. Noise alone moves scores apart too, so what it adds counts as error.
    """
    scores, noise, n_labels = (
        nodes.forest.values,
        nodes.forest.variance,
        nodes.forest.domain.n_outputs,
    )
    leaves = _leaves_below(nodes)
    children = np.flatnonzero(nodes.parent >= 0)
    above = nodes.parent[children]
    apart = ((scores[children] - scores[above]) ** 2).sum(axis=1)
    gain = _sum(above, leaves[children] * apart, len(scores))
    slope = 4 * leaves[children] ** 2 * apart * noise[children]
    added = _sum(above, leaves[children] * n_labels * noise[children], len(scores))
    return gain, _sum(above, slope, len(scores)) + added**2


def _leaves_below(nodes: Nodes) -> NDArray[np.float64]:
    trees = nodes.forest.trees
    return sum_up(trees, np.ones((len(trees.leaves), 1)), nodes.forest.domain)[:, 0]


# -- counts ------------------------------------------------------------------------------------


def _gini(nodes: Nodes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The Gini impurity of each node, and its variance by the delta method.

    With noise of variance v on each of L counts it is 4 v g (L g - 1) / n^2, where g is the sum of
    squared shares and n the node's size.
    """
    n_labels, noise = nodes.forest.domain.n_labels, nodes.forest.variance
    squares = np.sum(nodes.forest.node_shares**2, axis=1)
    slope = 2 * np.sqrt(np.maximum(squares * (n_labels * squares - 1), 0))
    spread = (np.sqrt(noise) * slope / np.maximum(nodes.totals, 1e-100)) ** 2
    return 1 - squares, np.minimum(spread, 0.25)


def _decreases(nodes: Nodes) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each node's split takes off its impurity, times its size, and its variance."""
    gini, spread = _gini(nodes)
    children = np.flatnonzero(nodes.parent >= 0)
    above, size = nodes.parent[children], nodes.totals
    below = _sum(above, size[children], len(size))
    weight = size[children] / np.maximum(below[above], 1e-100)
    average = _sum(above, weight * gini[children], len(size))
    noise = _sum(above, weight**2 * spread[children], len(size))
    counted = np.where(below > 0, size, 0.0)
    return counted * (gini - average), counted**2 * (spread + noise)


def _sum(place: NDArray[Any], values: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    return np.bincount(place, values, length).astype(np.float64)
