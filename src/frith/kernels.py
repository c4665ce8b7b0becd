"""The closed set of questions about records: exact integer sums, each with its sensitivity.

A kernel is what a learner may ask of an engine. It names the attributes it reads, the public shape
of its answer, and how far one record can move that answer in each norm; the curator computes the
charge from those. Loops are numba over integer codes; threads are Python's, over batches.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.encoding import Batch
from frith.forest import Forest
from frith.jit import compiled
from frith.layout import Layout
from frith.structure import Trees, find_leaf

MAX_CELLS = 2**24
"""The public cap on the cells of one question, checked before anything is charged."""
_VOTED_ROWS = 4_096  # records whose votes are held at once


class ColumnKernel(Protocol):
    """An integer for every record, from its codes alone."""

    @property
    def attributes(self) -> tuple[int, ...]: ...

    def compute(self, batch: Batch) -> NDArray[Any]: ...


class Kernel(Protocol):
    """A sum over records."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The public shape of the answer."""
        ...

    @property
    def attributes(self) -> tuple[int, ...]:
        """The attributes it reads, so that engines read no others."""
        ...

    @property
    def derived(self) -> tuple[ColumnKernel, ...]:
        """The derived columns it reads."""
        ...

    @property
    def l1(self) -> int:
        """The most one record changes the answer in L1."""
        ...

    @property
    def l2_squared(self) -> int:
        """The most one record changes the answer in squared L2."""
        ...

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        """Add the batch's records to `out` in place."""
        ...


@dataclass(frozen=True)
class RecordCount:
    """The number of counted records. One record changes one cell by one."""

    shape: ClassVar[tuple[int, ...]] = (1,)
    attributes: ClassVar[tuple[int, ...]] = ()
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()
    l1: ClassVar[int] = 1
    l2_squared: ClassVar[int] = 1

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        out[0] += len(batch)


@dataclass(frozen=True, eq=False)
class LeafCounts:
    """Records of each label in each leaf of each tree, in one pass whatever the number of trees.

    A record is in exactly one leaf of each of the N trees and has one label, so it changes N cells
    by one: L1 = N and squared L2 = N.
    """

    trees: Trees
    domain: Domain

    derived = ()

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.trees.leaves), self.domain.n_labels

    @property
    def attributes(self) -> tuple[int, ...]:
        return self.trees.asked

    @property
    def l1(self) -> int:
        return self.trees.n_trees

    @property
    def l2_squared(self) -> int:
        return self.trees.n_trees

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        _count_leaves(
            batch.codes, batch.labels, self.trees.roots, self.trees.nodes, self.trees.sets, out
        )


@compiled
def _count_leaves(codes, labels, roots, nodes, sets, out):  # type: ignore[no-untyped-def]
    for start in range(0, len(codes), 512):  # a block of records stays in cache for all trees
        for root in roots:
            for i in range(start, min(start + 512, len(codes))):
                out[find_leaf(codes, i, root, nodes, sets), labels[i]] += 1


@dataclass(frozen=True, eq=False)
class SplitCounts:
    """node x bin x label histograms for a whole level of trees that grow together, in one pass.

    `open_nodes` are the leaves that may be split now and `asks[i, a]` says whether attribute a is
    counted there. A last column counts every record once.

    A record is at one leaf of each of the N trees. There it is counted once for every attribute
    asked, and once in the last column: bin histograms, never cumulated ones. What is released are
    the two views below, which know their own sensitivity; the whole has L1 = squared L2 =
    N (most attributes asked at one node + 1).
    """

    trees: Trees
    layout: Layout
    open_nodes: NDArray[np.int64]
    asks: NDArray[np.bool_]

    derived = ()

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

    @functools.cached_property
    def tree_of(self) -> NDArray[np.int64]:
        """The tree of each open node."""
        return self.trees.tree_of(self.layout.domain)[self.open_nodes]

    @property
    def n_trees(self) -> int:
        """Trees that still have an open node: the others count nothing."""
        return len(np.unique(self.tree_of))

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


@dataclass(frozen=True, eq=False)
class CorrectCounts:
    """How many records each of several classifiers gets right.

    A classifier adds up, over some attributes, the scores of each label in the record's bin, times
    a factor of its own, to a start that all share; the first best label wins. All numbers are
    integers, made from releases. A record moves each count by 0 or by 1, all the same way.
    """

    layout: Layout
    asked: tuple[int, ...]
    start: NDArray[np.int64]
    scores: NDArray[np.int64]
    factors: NDArray[np.int64]

    derived = ()

    @property
    def shape(self) -> tuple[int]:
        return (len(self.factors),)

    @property
    def attributes(self) -> tuple[int, ...]:
        return self.asked

    @property
    def l1(self) -> int:
        return len(self.factors)

    @property
    def l2_squared(self) -> int:
        return len(self.factors)

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        lookup, begins = self.layout.lookup
        asked = np.array(self.asked, dtype=np.int64)
        _count_correct(
            batch.codes, batch.labels, asked, self.start, self.scores, self.factors,
            lookup, begins, out,
        )  # fmt: skip


@compiled
def _count_correct(  # type: ignore[no-untyped-def]
    codes, labels, asked, start, scores, factors, lookup, begins, out
):
    total = np.zeros(len(start), dtype=np.int64)
    for i in range(len(codes)):
        total[:] = 0
        for a in asked:
            total += scores[lookup[begins[a] + codes[i, a]]]
        for f in range(len(factors)):
            best = 0
            for k in range(1, len(start)):
                if start[k] + factors[f] * total[k] > start[best] + factors[f] * total[best]:
                    best = k
            out[f] += best == labels[i]


@dataclass(frozen=True, eq=False)
class ConfusionCounts:
    """Records of each label (rows), by the label that a forest predicts for them (columns).

    A forest is made of releases and predicts one label for a record from that record alone, so the
    record is in one cell, whatever the forest and however it votes: L1 = 1 and squared L2 = 1.
    """

    forest: Forest

    derived = ()
    l1: ClassVar[int] = 1
    l2_squared: ClassVar[int] = 1

    @property
    def domain(self) -> Domain:
        return self.forest.domain

    @property
    def trees(self) -> Trees:
        return self.forest.trees

    @property
    def shape(self) -> tuple[int, int]:
        return self.domain.n_labels, self.domain.n_labels

    @property
    def attributes(self) -> tuple[int, ...]:
        return self.trees.asked

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        for start in range(0, len(batch), _VOTED_ROWS):
            rows = slice(start, start + _VOTED_ROWS)
            predicted = self.forest.labels_of_codes(batch.codes[rows], threads=1)
            _count_pairs(batch.labels[rows], predicted, out)


@compiled
def _count_pairs(labels, predicted, out):  # type: ignore[no-untyped-def]
    for i in range(len(labels)):
        out[labels[i], predicted[i]] += 1


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
