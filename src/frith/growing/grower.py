"""Trees that grow a level at a time, all of them together, from splits chosen by a learner."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.forest.trees import Trees
from frith.kernels import SplitCounts
from frith.kernels.layout import Layout, equal_width_cuts


class Grower:
    """Trees under construction. Everything it knows is public: the domain and chosen splits.

    Trees begin as single leaves, numbered 0 .. n_trees - 1. `split` makes a leaf ask a candidate
    of the layout and returns its children.
    """

    def __init__(self, domain: Domain, n_trees: int, bins: int):
        self.domain = domain
        self.layout = Layout(domain, equal_width_cuts(domain, bins))
        self.n_trees = n_trees
        self.tree = list(range(n_trees))
        self.parent = [-1] * n_trees
        self.depth = [0] * n_trees
        self.attribute = [-1] * n_trees
        self.cut = [-1] * n_trees
        self.first_child = [-1] * n_trees

    @property
    def roots(self) -> range:
        return range(self.n_trees)

    def split(self, node: int, candidate: int) -> range:
        """Let `node` ask a candidate; its new children are leaves."""
        attribute = int(self.layout.attribute_of[candidate])
        branches = self.domain.attributes[attribute].branches
        self.attribute[node] = attribute
        self.cut[node] = int(self.layout.cut_of[candidate])
        self.first_child[node] = len(self.tree)
        for column, value in (
            (self.tree, self.tree[node]), (self.parent, node), (self.depth, self.depth[node] + 1),
            (self.attribute, -1), (self.cut, -1), (self.first_child, -1),
        ):  # fmt: skip
            column.extend([value] * branches)
        return range(self.first_child[node], len(self.tree))

    def allowed(self, node: int) -> NDArray[np.bool_]:
        """The candidates that would split `node`: no value twice, no cut outside what is left."""
        low = np.zeros(len(self.domain.attributes), dtype=np.int64)
        high = np.array([a.size for a in self.domain.attributes], dtype=np.int64)
        below, above = node, self.parent[node]
        while above >= 0:
            a, branch = self.attribute[above], below - self.first_child[above]
            if self.cut[above] < 0:
                low[a], high[a] = branch, branch + 1
            elif branch == 0:
                high[a] = min(high[a], self.cut[above])
            else:
                low[a] = max(low[a], self.cut[above])
            below, above = above, self.parent[above]
        attribute, cut = self.layout.attribute_of, self.layout.cut_of
        whole = (cut < 0) & (high[attribute] - low[attribute] > 1)
        return whole | ((cut > low[attribute]) & (cut < high[attribute]))

    def asks(self, allowed: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """The attributes that have an allowed candidate."""
        asks = np.zeros(len(self.domain.attributes), dtype=bool)
        asks[self.layout.attribute_of[allowed]] = True
        return asks

    def level(
        self, nodes: Iterable[int], last: bool = False
    ) -> tuple[SplitCounts, NDArray[np.bool_]]:
        """The kernel that counts every split of these leaves, and the candidates of each.

        Trees without one of these leaves are left out: no record is counted in them, and none is
        paid for. At the `last` level nothing will be split, so no attribute is counted.
        """
        nodes = list(nodes)
        allowed = np.zeros((len(nodes), self.layout.n_candidates), dtype=bool)
        asks = np.zeros((len(nodes), len(self.domain.attributes)), dtype=bool)
        for place, node in enumerate(nodes if not last else ()):
            allowed[place] = self.allowed(node)
            asks[place] = self.asks(allowed[place])
        trees, number = self._trees_of(nodes)
        return SplitCounts(trees, self.layout, number[nodes], asks), allowed

    def _trees_of(self, nodes: list[int]) -> tuple[Trees, NDArray[np.int64]]:
        """The trees that have one of these nodes, and the number of every node in them."""
        tree, first = np.array(self.tree), np.array(self.first_child)
        kept = np.isin(tree, tree[nodes])
        number = np.where(kept, np.cumsum(kept) - 1, -1)
        children = np.where(first >= 0, number[np.maximum(first, 0)], -1)
        part = Trees(
            number[: self.n_trees][kept[: self.n_trees]],
            np.array(self.attribute)[kept], np.array(self.cut)[kept], children[kept],
        )  # fmt: skip
        return part, number

    def trees(self) -> Trees:
        arrays = (self.attribute, self.cut, self.first_child)
        return Trees(
            np.arange(self.n_trees, dtype=np.int32), *(np.array(a, dtype=np.int32) for a in arrays)
        )
