"""Counts of records: all of them, by leaf, by whether a classifier is right, by predicted label.

Loops are numba over integer codes; threads are Python's, over batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith._cached import cached_property
from frith._jit import compiled
from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest import Forest
from frith.forest.trees import Trees, find_leaf, step
from frith.kernels.base import ColumnKernel
from frith.kernels.layout import Layout

_BLOCK = 512  # records that stay in cache for all trees
_VOTED_ROWS = 4_096  # records whose votes are held at once


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
class LeafCounts(Rebuilt):
    """Records of each label in each leaf of each tree, in one pass whatever the number of trees.

    A record is in exactly one leaf of each of the N trees and has one label, so it changes N cells
    by one: L1 = N and squared L2 = N.
    """

    trees: Trees
    domain: Domain

    derived = ()

    def __post_init__(self) -> None:
        self.trees.check(self.domain)

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
        trees = self.trees
        if len(trees.sets):
            _count_leaves_of_sets(
                batch.codes, batch.labels, trees.roots, trees.nodes, trees.sets, out
            )
        else:
            number = trees.nodes[:, 3]
            _count_leaves(
                batch.codes, batch.labels, trees.roots, trees.steps, self._heights, number, out
            )

    @cached_property
    def _heights(self) -> NDArray[np.int32]:
        return self.trees.heights(self.domain)


@compiled
def _count_leaves(codes, labels, roots, steps, heights, number, out):  # type: ignore[no-untyped-def]
    """Records go down a tree side by side, so that one need not wait for another's node."""
    at = np.empty(_BLOCK, dtype=np.uint32)
    for start in range(0, len(codes), _BLOCK):
        n = min(_BLOCK, len(codes) - start)
        for tree in range(len(roots)):
            at[:n] = roots[tree]
            for _ in range(heights[tree]):
                for k in range(n):
                    at[k] = step(codes, start + k, at[k], steps)
            for k in range(n):
                out[number[at[k]], labels[start + k]] += 1


@compiled
def _count_leaves_of_sets(codes, labels, roots, nodes, sets, out):  # type: ignore[no-untyped-def]
    for start in range(0, len(codes), _BLOCK):
        for root in roots:
            for i in range(start, min(start + _BLOCK, len(codes))):
                out[find_leaf(codes, i, root, nodes, sets), labels[i]] += 1


@dataclass(frozen=True, eq=False)
class CorrectCounts(Rebuilt):
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

    def __post_init__(self) -> None:
        for name in ("start", "scores", "factors"):
            object.__setattr__(self, name, frozen(getattr(self, name), np.int64))
        n_labels, n_attributes = self.domain.n_labels, len(self.domain.attributes)
        if self.start.shape != (n_labels,) or self.scores.shape != (self.layout.n_bins, n_labels):
            raise FormatError("a classifier has a score of every label, for every bin")
        known = all(type(a) is int and 0 <= a < n_attributes for a in self.asked)
        if self.factors.ndim != 1 or not known:
            raise FormatError(
                "classifiers differ by a factor each and ask attributes of the domain"
            )

    @property
    def domain(self) -> Domain:
        return self.layout.domain

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
