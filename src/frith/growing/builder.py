"""The one builder of trees, and what is done to whole trees: join them, keep some of their nodes.

Everything here is public structure. `random_trees` alone fills its arrays elsewhere: a compiled
loop grows millions of nodes there.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.forest.trees import Trees
from frith.kernels.splits import BinarySplit


class TreeBuilder:
    """Trees that begin as single leaves, numbered 0 .. n_trees - 1, and grow by splits."""

    def __init__(self, n_trees: int = 1):
        self.n_trees = n_trees
        self.attribute, self.cut, self.first_child = ([-1] * n_trees for _ in range(3))
        self.sets: list[NDArray[np.bool_]] = []

    def split(self, node: int, attribute: int, cut: int = -1, branches: int = 2) -> range:
        """Let a leaf ask for an attribute, and return its children, which are leaves."""
        children = range(len(self.attribute), len(self.attribute) + branches)
        self.attribute[node], self.cut[node] = attribute, cut
        self.first_child[node] = children.start
        for column in (self.attribute, self.cut, self.first_child):
            column.extend([-1] * branches)
        return children

    def split_by_set(self, node: int, attribute: int, members: NDArray[np.bool_]) -> range:
        """Let a leaf ask whether the value of an attribute is one of `members`."""
        self.sets.append(members)
        return self.split(node, attribute, -1 - len(self.sets))

    def ask(self, node: int, split: BinarySplit) -> range:
        """Let a leaf ask a split in two, and return its children."""
        if split.members is None:
            return self.split(node, split.attribute, split.cut)
        return self.split_by_set(node, split.attribute, split.members)

    def trees(self) -> Trees:
        roots, attribute, cut, first_child = (
            np.array(column, dtype=np.int32)
            for column in (range(self.n_trees), self.attribute, self.cut, self.first_child)
        )
        sets = _stack([members[None] for members in self.sets])
        return Trees(roots, attribute, cut, first_child, sets)


def single_leaf() -> Trees:
    """One tree of one leaf."""
    return TreeBuilder().trees()


def join_trees(parts: Sequence[Trees]) -> Trees:
    """The trees of all parts side by side."""
    nodes = np.cumsum([0, *(part.n_nodes for part in parts)])
    sets = np.cumsum([0, *(len(part.sets) for part in parts)])
    placed = list(zip(parts, nodes, sets, strict=False))
    return Trees(
        np.concatenate([p.roots + n for p, n, _ in placed]),
        np.concatenate([p.attribute for p in parts]),
        np.concatenate([np.where(p.cut < -1, p.cut - s, p.cut) for p, _, s in placed]),
        np.concatenate([np.where(p.first_child < 0, -1, p.first_child + n) for p, n, _ in placed]),
        _stack([part.sets for part in parts if len(part.sets)]),
    )


def keep_nodes(trees: Trees, kept: NDArray[np.bool_]) -> Trees:
    """The trees whose roots are kept, of their kept nodes alone.

    A node that loses its children becomes a leaf; a node is kept only with all above it.
    """
    number, first = np.cumsum(kept) - 1, trees.first_child[kept]
    inner = (first >= 0) & kept[first]
    return Trees(
        number[trees.roots[kept[trees.roots]]],
        np.where(inner, trees.attribute[kept], -1),
        np.where(inner, trees.cut[kept], -1),
        np.where(inner, number[first], -1),
        trees.sets,
    )


def each_tree(trees: Trees, domain: Domain) -> list[tuple[Trees, NDArray[np.int64]]]:
    """Every tree by itself, and where its leaves are among those of all."""
    widths, found = trees.widths(domain), []
    for root in trees.roots.tolist():
        kept, below = np.zeros(trees.n_nodes, dtype=bool), [root]
        while below:
            node = below.pop()
            kept[node] = True
            first = int(trees.first_child[node])
            below.extend(range(first, first + int(widths[node])) if first >= 0 else ())
        found.append((keep_nodes(trees, kept), np.flatnonzero(kept[trees.leaves])))
    return found


def _stack(sets: Sequence[NDArray[np.bool_]]) -> NDArray[np.bool_]:
    """All rows below each other, each as wide as the widest."""
    width = max((s.shape[1] for s in sets), default=0)
    padded = [np.pad(s, ((0, 0), (0, width - s.shape[1]))) for s in sets]
    return np.concatenate([np.zeros((0, width), dtype=bool), *padded])
