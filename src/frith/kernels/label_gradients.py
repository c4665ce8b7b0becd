"""Questions of a boosted forest for many labels: sums of how wrong it is about each of them.

A record has a score for every label, in fixed point as in `gradients`; its probabilities are their
softmax, from a table of exponentials, in integers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frith._arrays import frozen
from frith._jit import compiled
from frith.domain.encoding import Batch
from frith.forest.leaf_tables import leaves_of
from frith.kernels.gradients import POINT, UNIT, BinSums, Cells

_SHIFT = 8
_LARGEST = 16 * POINT >> _SHIFT  # labels further behind than this have no weight left
_WEIGHT = 2**20
WEIGHTS: NDArray[np.int64] = frozen(
    np.round(_WEIGHT * np.exp(-np.arange(_LARGEST + 1) * 2**_SHIFT / POINT)), np.int64
)
"""What a label weighs that is so many steps behind the best one."""


@dataclass(frozen=True, eq=False)
class LabelGradients(BinSums):
    """In every bin of every attribute, the sums over its records of y_k - p_k for every label k.

    A record adds one vector to one bin of each attribute. Vectors are scaled down, and rounded
    towards zero, to an L1 norm of at most UNIT.
    """

    def __post_init__(self) -> None:
        self.column.check(self.domain, self.domain.n_labels)

    @property
    def shape(self) -> tuple[int, int]:
        return self.layout.n_bins, self.layout.domain.n_labels

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        lookup, begins = self.layout.lookup
        _sum_vectors(
            batch.codes, batch.labels, batch.derived[self.column], WEIGHTS, lookup, begins, out
        )


@dataclass(frozen=True, eq=False)
class LabelCells(Cells):
    """In every leaf of one tree and for every label k, half the sums of y_k - p_k and p_k (1 - p_k).

    A record is in one leaf. What it adds there is scaled down, and rounded towards zero, to an L1
    norm of at most UNIT, so its squared L2 norm is at most UNIT squared.
    """

    def __post_init__(self) -> None:
        self.check_tree(self.domain.n_labels)

    @property
    def shape(self) -> tuple[int, int, int]:
        return len(self.tree.leaves), self.domain.n_labels, 2

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        leaves = leaves_of(self.tree, batch.codes)
        _sum_label_cells(leaves, batch.labels, batch.derived[self.column], WEIGHTS, out)


@compiled
def _probabilities(scores, weights, out):  # type: ignore[no-untyped-def]
    """The softmax of one record's scores, UNIT to one, rounded down."""
    best = np.int64(scores.max())
    total = np.int64(0)
    for k in range(len(scores)):
        out[k] = weights[min((best - np.int64(scores[k])) >> _SHIFT, _LARGEST)]
        total += out[k]
    for k in range(len(scores)):
        out[k] = out[k] * UNIT // total


@compiled
def _shrink(vector, norm):  # type: ignore[no-untyped-def]
    """Scale a vector of this L1 norm down to one of at most UNIT, towards zero."""
    if norm > UNIT:
        for k in range(len(vector)):
            size = abs(vector[k]) * UNIT // norm
            vector[k] = size if vector[k] > 0 else -size


@compiled
def _sum_vectors(codes, labels, scores, weights, lookup, begins, out):  # type: ignore[no-untyped-def]
    vector = np.zeros(scores.shape[1], dtype=np.int64)
    for i in range(len(codes)):
        _probabilities(scores[i], weights, vector)
        norm = np.int64(0)
        for k in range(len(vector)):
            vector[k] = (UNIT if k == labels[i] else 0) - vector[k]
            norm += abs(vector[k])
        _shrink(vector, norm)
        for a in range(codes.shape[1]):
            place = lookup[begins[a] + codes[i, a]]
            for k in range(len(vector)):
                out[place, k] += vector[k]


@compiled
def _sum_label_cells(leaves, labels, scores, weights, out):  # type: ignore[no-untyped-def]
    n_labels = scores.shape[1]
    p = np.zeros(n_labels, dtype=np.int64)
    both = np.zeros(2 * n_labels, dtype=np.int64)
    for i in range(len(leaves)):
        _probabilities(scores[i], weights, p)
        norm = np.int64(0)
        for k in range(n_labels):
            gradient = (UNIT if k == labels[i] else 0) - p[k]
            half = abs(gradient) // 2
            both[2 * k] = half if gradient > 0 else -half
            both[2 * k + 1] = p[k] * (UNIT - p[k]) // (2 * UNIT)
            norm += half + both[2 * k + 1]
        _shrink(both, norm)
        for k in range(n_labels):
            out[leaves[i], k, 0] += both[2 * k]
            out[leaves[i], k, 1] += both[2 * k + 1]
