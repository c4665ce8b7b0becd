"""Trees that grow a level at a time, all of them together, from splits chosen by a learner."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.forest.trees import Trees
from frith.growing.builder import TreeBuilder, keep_nodes
from frith.kernels import SplitCounts
from frith.kernels.base import MAX_CELLS
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
        self.builder = TreeBuilder(n_trees)
        self.tree = list(range(n_trees))
        self.parent = [-1] * n_trees

    @property
    def roots(self) -> range:
        return range(self.n_trees)

    def split(self, node: int, candidate: int) -> range:
        """Let `node` ask a candidate; its new children are leaves."""
        attribute = int(self.layout.attribute_of[candidate])
        branches = self.domain.attributes[attribute].branches
        self.tree += [self.tree[node]] * branches
        self.parent += [node] * branches
        return self.builder.split(node, attribute, int(self.layout.cut_of[candidate]), branches)

    def split_all(
        self, nodes: Sequence[int], places: Iterable[int], candidates: Iterable[int]
    ) -> list[int]:
        """Split the nodes at these places, by a candidate each; return all new children."""
        picks = zip(places, candidates, strict=True)
        return [child for place, pick in picks for child in self.split(nodes[place], int(pick))]

    def allowed(self, node: int) -> NDArray[np.bool_]:
        """The candidates that would split `node`: no value twice, no cut outside what is left."""
        low = np.zeros(len(self.domain.attributes), dtype=np.int64)
        high = np.array([a.size for a in self.domain.attributes], dtype=np.int64)
        built, below, above = self.builder, node, self.parent[node]
        while above >= 0:
            a, cut_at = built.attribute[above], built.cut[above]
            branch = below - built.first_child[above]
            if cut_at < 0:
                low[a], high[a] = branch, branch + 1
            elif branch == 0:
                high[a] = min(high[a], cut_at)
            else:
                low[a] = max(low[a], cut_at)
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
        tree = np.array(self.tree)
        kept = np.isin(tree, tree[nodes])
        number = np.cumsum(kept) - 1
        return SplitCounts(
            keep_nodes(self.trees(), kept), self.layout, number[nodes], asks
        ), allowed

    def can_count(self, nodes: Sequence[int]) -> bool:
        """Whether one question may be about every split of these leaves: then also about their children."""
        return len(nodes) * self.layout.n_bins * self.domain.n_labels <= MAX_CELLS

    def trees(self) -> Trees:
        return self.builder.trees()
