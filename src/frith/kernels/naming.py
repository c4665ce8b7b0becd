"""Choices that name labels: candidates are scored by how many records get their own label."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import frozen
from frith._cached import cached_property
from frith.errors import FormatError
from frith.kernels.choices import Candidates
from frith.kernels.levels import SplitCounts, SplitTables
from frith.kernels.splits import BinarySplit, BinarySplits

_BONUS = 0.5  # of the logarithm of the number of candidates, for one label for all of a node
_KEPT = 1.0  # the logarithm of what the label that a node comes with weighs more


@dataclass(frozen=True, eq=False)
class NamedSplits(Candidates):
    """At each open node of one tree: a label for all of it, or a split and a label for either side.

    First come the labels for all of the node, then every split with two labels that differ. A score
    is the number of the node's records that get their own label. `kept` is the label that each node
    comes with from the level above, -1 for none.

    Range    1: one more record is at one node, on one side of every split there, and its label is
             the one that is named there or is not. So each score of that node rises by 0 or by 1,
             and no other node's moves.
    """

    kernel: SplitCounts
    splits: BinarySplits
    kept: NDArray[np.int64]
    range_: ClassVar[int] = 1
    n_trees: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "kept", frozen(self.kept, np.int64))
        check_all_asked(self.kernel, self.splits)
        n_labels = self.domain.n_labels
        if self.kept.shape != self.kernel.open_nodes.shape:
            raise FormatError("each open node comes with a label, or with none")
        if np.any((self.kept < -1) | (self.kept >= n_labels)):
            raise FormatError("the label that a node comes with is one of the domain's")

    def __len__(self) -> int:
        return len(self.kernel.open_nodes)

    @property
    def n_scores(self) -> int:
        return len(self) * len(self.splits) * self.domain.n_labels**2

    @property
    def n_options(self) -> int:
        """The candidates of each node."""
        n_labels = self.domain.n_labels
        return n_labels + (len(self.splits) - 1) * n_labels * (n_labels - 1)

    def options(self) -> list[NDArray[np.int64]]:
        return [np.arange(self.n_options)] * len(self)

    def node_weights(self) -> list[list[float]]:
        """For each node the logarithms of its candidates' public weights."""
        rows = []
        for label in self.kept.tolist():
            weights = self._weights.copy()
            weights[label] += _KEPT if label >= 0 else 0.0
            rows.append(weights.tolist())
        return rows

    @cached_property
    def _weights(self) -> NDArray[np.float64]:
        """What all nodes share: many splits are paid for by one label for everybody weighing more."""
        n_labels = self.domain.n_labels
        bonus = _BONUS * math.log(max(2, self.n_options - n_labels))
        of_splits = np.repeat(self.splits.weights[:-1], n_labels * (n_labels - 1))
        return np.concatenate([np.full(n_labels, bonus), of_splits])

    def scores(self, sums: NDArray[np.int64]) -> list[NDArray[Any]]:
        """For each node the scores of its candidates."""
        apart = ~np.eye(self.domain.n_labels, dtype=bool)
        rows = []
        for table in SplitTables(self.kernel).take(sums):
            left, right = both_sides(self.splits, table)
            pairs = (left[:-1, :, None] + right[:-1, None, :])[:, apart]
            rows.append(np.concatenate([left[-1], pairs.ravel()]))
        return rows

    def chosen(self, place: int) -> tuple[BinarySplit, int, int]:
        """The split, and the labels of its left and of its right side."""
        n_labels = self.domain.n_labels
        if place < n_labels:
            return BinarySplit(), place, place
        split, pair = divmod(place - n_labels, n_labels * (n_labels - 1))
        left, right = divmod(pair, n_labels - 1)
        return self.splits[split], left, right + (right >= left)


def check_all_asked(kernel: SplitCounts, splits: BinarySplits) -> None:
    """Raise unless every split can be scored at every open node of one tree."""
    if type(splits) is not BinarySplits or splits.layout is not kernel.layout:
        raise FormatError("the splits to choose from have another layout than what is summed")
    if kernel.trees.n_trees != 1 or not kernel.asks.all():
        raise FormatError("labels are named in one tree, where every attribute is asked")


def both_sides(
    splits: BinarySplits, table: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The label counts left and right of every split; the last split has everybody left."""
    differences = splits.differences(table)
    total = differences[-1]
    left = (differences + total) // 2  # twice the left side, exactly
    return left, total - left
