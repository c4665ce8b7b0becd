"""Which attributes a forest's splits gain by, read from its released counts."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.forest.nodes import Nodes
from frith.forest.voting import VotingTrees


def importances(forest: VotingTrees, *, errors: bool = False) -> Any:
    """The mean decrease of Gini impurity by each attribute's splits; see `Forest.importances`."""
    import pandas as pd

    nodes = Nodes(forest)
    gini, spread = _gini(nodes)
    gain, variance = _by_attribute(nodes, *_decreases(nodes, gini, spread))
    # Noise can make an attribute's splits look worse than none, which says as much as no gain.
    total = np.maximum(gain, 0).sum() or 1.0
    shares = np.maximum(gain, 0) / total
    series = pd.Series(shares, index=list(forest.domain.names), name="importance")
    if not errors:
        return series
    return series.to_frame().assign(standard_error=np.minimum(np.sqrt(variance) / total, 1))


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


def _decreases(
    nodes: Nodes, gini: NDArray[np.float64], spread: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """What each node's split takes off its impurity, times its size, and its variance."""
    children = np.flatnonzero(nodes.parent >= 0)
    above, size = nodes.parent[children], nodes.totals
    below = _sum(above, size[children], len(size))
    weight = size[children] / np.maximum(below[above], 1e-100)
    average = _sum(above, weight * gini[children], len(size))
    noise = _sum(above, weight**2 * spread[children], len(size))
    counted = np.where(below > 0, size, 0.0)
    return counted * (gini - average), counted**2 * (spread + noise)


def _by_attribute(
    nodes: Nodes, gain: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums over the splits on each attribute, every tree counting as much as any other."""
    trees, count = nodes.forest.trees, len(nodes.forest.domain.attributes)
    inner = np.flatnonzero((trees.attribute >= 0) & (nodes.tree >= 0))
    asked = trees.attribute[inner]
    size = np.maximum(nodes.totals[trees.roots], 1e-100)[nodes.tree[inner]]
    return _sum(asked, gain[inner] / size, count), _sum(asked, variance[inner] / size**2, count)


def _sum(place: NDArray[Any], values: NDArray[np.float64], length: int) -> NDArray[np.float64]:
    return np.bincount(place, values, length).astype(np.float64)
