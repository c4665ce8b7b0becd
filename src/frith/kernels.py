"""The closed set of questions about records: exact integer sums, each with its sensitivity.

A kernel is what a learner may ask of an engine. It names the attributes it reads, the public shape
of its answer, and how far one record can move that answer in each norm; the curator computes the
charge from those. Loops are numba over integer codes; threads are Python's, over batches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.encoding import Batch
from frith.forest import Trees, find_leaf
from frith.jit import compiled

MAX_CELLS = 2**24
"""The public cap on the cells of one question, checked before anything is charged."""


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

    shape: tuple[int, ...] = (1,)
    attributes: tuple[int, ...] = ()
    derived: tuple[ColumnKernel, ...] = ()
    l1: int = 1
    l2_squared: int = 1

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
        _count_leaves(batch.codes, batch.labels, self.trees.roots, self.trees.nodes, out)


@compiled
def _count_leaves(codes, labels, roots, nodes, out):  # type: ignore[no-untyped-def]
    for start in range(0, len(codes), 512):  # a block of records stays in cache for all trees
        for root in roots:
            for i in range(start, min(start + 512, len(codes))):
                out[find_leaf(codes, i, root, nodes), labels[i]] += 1
