"""Pruning: what a learner cuts away after its values are released."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frith.forest import Forest, Trees


def prune_empty(forest: Forest) -> Forest:
    """Subtrees that no record reached become one empty leaf (the last step of Algorithm 2).

    Only for exact forests: which leaves are empty is a fact about the records. Predictions stay
    the same, for an empty leaf adds nothing to any label.
    """
    trees = forest.trees
    inner = trees.attribute >= 0
    live = inner & (forest.values.sum(axis=1) > 0)
    kept = np.zeros(trees.n_nodes, dtype=bool)
    kept[trees.roots] = True
    for node in np.flatnonzero(live):
        if kept[node]:
            children = trees.children(int(node), forest.domain)
            kept[children.start : children.stop] = True
    number = np.cumsum(kept) - 1
    live, first = live[kept], trees.first_child[kept]
    pruned = Trees(
        number[trees.roots].astype(np.int32),
        np.where(live, trees.attribute[kept], -1).astype(np.int32),
        np.where(live, trees.cut[kept], -1).astype(np.int32),
        np.where(live, number[np.maximum(first, 0)], -1).astype(np.int32),
    )
    return replace(forest, trees=pruned, values=forest.values[kept])
