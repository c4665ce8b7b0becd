"""Histograms of a whole level of trees that grow together, and the views of them that are released."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith._jit import compiled
from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest.trees import Trees, find_leaf
from frith.kernels.layout import Layout


@dataclass(frozen=True, eq=False)
class SplitCounts(Rebuilt):
    """node x bin x label histograms for a whole level of trees that grow together, in one pass.

    `open_nodes` are the leaves that may be split now and `asks[i, a]` says whether attribute a is
    counted there. A last column counts every record once.

    A record is at one leaf of each tree, so at no more open nodes than there are roots, nor more
    than there are open nodes: N is the smaller number. At each it is counted once for every
    attribute asked, and once in the last column: bin histograms, never cumulated ones. What is
    released are the views below, which know their own sensitivity; the whole has L1 = squared L2 =
    N (most attributes asked at one node + 1).
    """

    trees: Trees
    layout: Layout
    open_nodes: NDArray[np.int64]
    asks: NDArray[np.bool_]

    derived = ()

    def __post_init__(self) -> None:
        self.trees.check(self.layout.domain)
        object.__setattr__(self, "open_nodes", frozen(self.open_nodes, np.int64))
        object.__setattr__(self, "asks", frozen(self.asks, np.bool_))
        nodes, leaves = self.open_nodes, self.trees.leaves
        if (
            nodes.ndim != 1
            or len(np.unique(nodes)) < len(nodes)
            or not np.isin(nodes, leaves).all()
        ):
            raise FormatError("a level's open nodes are leaves, each named once")
        if self.asks.shape != (len(nodes), len(self.layout.domain.attributes)):
            raise FormatError("a level says for each open node which attributes are asked there")

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.open_nodes), self.layout.n_bins + 1, self.layout.domain.n_labels

    @property
    def attributes(self) -> tuple[int, ...]:
        asked = {int(a) for a in np.flatnonzero(self.asks.any(axis=0))}
        return tuple(sorted(asked | set(self.trees.asked)))

    @property
    def domain(self) -> Domain:
        return self.layout.domain

    @property
    def most_asked(self) -> int:
        return int(self.asks.sum(axis=1).max()) if len(self.asks) else 0

    @property
    def n_trees(self) -> int:
        """The most open nodes that one record can be at."""
        return min(self.trees.n_trees, len(self.open_nodes))

    @property
    def l1(self) -> int:
        return self.n_trees * (self.most_asked + 1)

    @property
    def l2_squared(self) -> int:
        return self.l1

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        leaf_to_open = np.full(len(self.trees.leaves), -1, dtype=np.int64)
        leaf_to_open[self.trees.nodes[self.open_nodes, 3]] = np.arange(len(self.open_nodes))
        counts = self.asks.sum(axis=1).astype(np.int64)
        asked = np.argsort(~self.asks, axis=1, kind="stable").astype(np.int64)
        lookup, begins = self.layout.lookup
        _count_splits(
            batch.codes, batch.labels, self.trees.roots, self.trees.nodes, self.trees.sets,
            leaf_to_open, asked, counts, lookup, begins, out,
        )  # fmt: skip


@dataclass(frozen=True)
class SplitTables:
    """The histograms of a level without the last column: L1 = N times the most attributes asked."""

    base: SplitCounts

    @property
    def shape(self) -> tuple[int, int, int]:
        nodes, bins, labels = self.base.shape
        return nodes, bins - 1, labels

    @property
    def l1(self) -> int:
        return self.base.n_trees * max(1, self.base.most_asked)

    @property
    def l2_squared(self) -> int:
        return self.l1

    def take(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        return sums[:, :-1]


@dataclass(frozen=True)
class NodeCounts:
    """Records of each label at each open node, the last column of a level: L1 = N."""

    base: SplitCounts

    @property
    def shape(self) -> tuple[int, int]:
        nodes, _, labels = self.base.shape
        return nodes, labels

    @property
    def l1(self) -> int:
        return max(1, self.base.n_trees)

    @property
    def l2_squared(self) -> int:
        return self.l1

    def take(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        return sums[:, -1]


@dataclass(frozen=True)
class NodeSizes:
    """Records at each open node: L1 = N."""

    base: SplitCounts

    @property
    def shape(self) -> tuple[int]:
        return (self.base.shape[0],)

    @property
    def l1(self) -> int:
        return max(1, self.base.n_trees)

    @property
    def l2_squared(self) -> int:
        return self.l1

    def take(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.asarray(sums[:, -1].sum(axis=-1))


View = SplitTables | NodeCounts | NodeSizes
"""What may be released of a level's sums."""


@compiled
def _count_splits(  # type: ignore[no-untyped-def]
    codes, labels, roots, nodes, sets, leaf_to_open, asked, counts, lookup, begins, out
):
    last = out.shape[1] - 1
    for i in range(len(codes)):
        label = labels[i]
        for root in roots:
            place = leaf_to_open[find_leaf(codes, i, root, nodes, sets)]
            if place < 0:
                continue
            out[place, last, label] += 1
            for j in range(counts[place]):
                attribute = asked[place, j]
                out[place, lookup[begins[attribute] + codes[i, attribute]], label] += 1
