"""Choices as data: public candidates, how the curator scores them, and the range of the scores.

A list of candidates is one of the types below, made of public arrays. The curator alone turns sums
into scores; `range_` is the largest minus the smallest change of a score by one record, over the
whole list, and `weights` are the logarithms of public weights, which the mechanism adds.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith.domain import Domain
from frith.errors import FormatError
from frith.kernels.counts import CorrectCounts, LeafCounts
from frith.kernels.criteria import Criterion, EntropyMass, GiniMass, MaxMass, split_scores
from frith.kernels.gradients import GradientSums
from frith.kernels.label_gradients import LabelGradients
from frith.kernels.levels import SplitCounts, SplitTables
from frith.kernels.splits import BinarySplit, BinarySplits

MAX_WEIGHT = 2**9
"""No candidate's public weight is further than e to this from 1, either way."""


class Candidates(Rebuilt, ABC):
    """What all lists share: the domain of the kernel that scores them, and equal weights."""

    kernel: Any

    @property
    def domain(self) -> Domain:
        domain: Domain = self.kernel.domain
        return domain

    @property
    def weights(self) -> NDArray[np.float64]:
        return np.zeros(len(self))

    @property
    def n_scores(self) -> int:
        """How many numbers its scores are computed from, as far as they are no cells of the kernel."""
        return len(self)

    @abstractmethod
    def __len__(self) -> int: ...


@dataclass(frozen=True, eq=False)
class NodeSplits(Candidates):
    """At each of some open nodes of a level, the candidates that may split it.

    Range    that of the criterion: one more record moves every candidate's mass the same way, at
             each of the `n_trees` nodes it may be at.
    """

    kernel: SplitCounts
    places: NDArray[np.int64]
    allowed: NDArray[np.bool_]
    by: Criterion

    def __post_init__(self) -> None:
        if type(self.by) not in (GiniMass, EntropyMass, MaxMass):
            raise FormatError(f"{type(self.by).__name__} is no criterion that frith knows")
        object.__setattr__(self, "places", frozen(self.places, np.int64))
        object.__setattr__(self, "allowed", frozen(self.allowed, np.bool_))
        n_open = len(self.kernel.open_nodes)
        if len(np.unique(self.places)) < len(self.places):
            raise FormatError("each node is chosen for once")
        if self.places.ndim != 1 or np.any((self.places < 0) | (self.places >= n_open)):
            raise FormatError("a choice is at open nodes of its level")
        if self.allowed.shape != (len(self.places), self.kernel.layout.n_candidates):
            raise FormatError("a choice says for each node which candidates are allowed")
        if not self.allowed.any(axis=1).all():
            raise FormatError("a choice has a node without a candidate")

    @property
    def range_(self) -> int:
        return self.by.range_

    @property
    def n_trees(self) -> int:
        """The most of these nodes that one record can be at."""
        return max(1, min(self.kernel.trees.n_trees, len(self.places)))

    def __len__(self) -> int:
        return len(self.places)

    def options(self) -> list[NDArray[np.int64]]:
        """The candidates of each node."""
        return [np.flatnonzero(row) for row in self.allowed]

    def node_weights(self) -> list[list[float]]:
        """For each node the logarithms of its candidates' public weights: they are equal."""
        return [[0.0] * int(count) for count in self.allowed.sum(axis=1)]

    def scores(self, sums: NDArray[np.int64]) -> list[NDArray[Any]]:
        """For each node the scores of its candidates."""
        tables = SplitTables(self.kernel).take(sums)[self.places]
        scores = split_scores(tables, self.kernel.layout, self.by)
        return [row[options] for row, options in zip(scores, self.options(), strict=True)]


@dataclass(frozen=True, eq=False)
class AttributeChoice(Candidates):
    """Some attributes, each by the records that its values' most common labels get right.

    Range    1: one more record raises the largest count of one value of each attribute, or none.
    """

    kernel: SplitCounts
    attributes: tuple[int, ...]
    range_: ClassVar[int] = 1

    def __post_init__(self) -> None:
        n_attributes = len(self.domain.attributes)
        if len(self.kernel.open_nodes) != 1 or self.kernel.trees.n_trees != 1:
            raise FormatError("attributes are chosen at one node of one tree")
        known = all(type(a) is int and 0 <= a < n_attributes for a in self.attributes)
        if not self.attributes or not known:
            raise FormatError("attributes to choose from are some of the domain's")

    @property
    def weights(self) -> NDArray[np.float64]:
        advantages: NDArray[np.float64] = self.kernel.layout.advantages
        return advantages[list(self.attributes)]

    def __len__(self) -> int:
        return len(self.attributes)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[Any]:
        best = sums[0].max(axis=1)
        return np.array([best[self.kernel.layout.bins(a)].sum() for a in self.attributes])


@dataclass(frozen=True, eq=False)
class CorrectChoice(Candidates):
    """Some classifiers, each by the records that it gets right. Range 1: all move the same way."""

    kernel: CorrectCounts
    range_: ClassVar[int] = 1

    def __len__(self) -> int:
        return len(self.kernel.factors)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[Any]:
        return sums


@dataclass(frozen=True, eq=False)
class LabelChoice(Candidates):
    """The labels, each by how many records have it. Range 1: a record raises one count by one."""

    kernel: LeafCounts
    range_: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if len(self.kernel.trees.leaves) != 1:
            raise FormatError("the label is chosen in one leaf")

    def __len__(self) -> int:
        return self.domain.n_labels

    def scores(self, sums: NDArray[np.int64]) -> NDArray[Any]:
        return sums[0]


@dataclass(frozen=True, eq=False)
class StepChoice(Candidates):
    """Every split in two, each followed by itself with the sign turned.

    A score is the sum of y - p over the left side minus that over the right side, or the reverse.
    `bonus` is a public advantage of the split that sends everybody left: the logarithm of a weight.

    Range    twice the kernel's `max_gradient`: one more record moves each score by g or by -g, and
             |g| is at most `max_gradient`.
    """

    kernel: GradientSums
    splits: BinarySplits
    bonus: float = 0.0

    def __post_init__(self) -> None:
        _check_splits(self.kernel, self.splits)
        if not math.isfinite(self.bonus) or abs(self.bonus) > MAX_WEIGHT / 2:
            raise FormatError("the bonus of a split is the logarithm of a weight, and not so large")

    @property
    def range_(self) -> int:
        return 2 * self.kernel.max_gradient

    @property
    def weights(self) -> NDArray[np.float64]:
        weights = self.splits.weights.copy()
        weights[-1] += self.bonus
        return np.repeat(weights, 2)

    def __len__(self) -> int:
        return 2 * len(self.splits)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[Any]:
        differences = self.splits.differences(sums)
        return np.column_stack([differences, -differences]).ravel()

    def chosen(self, place: int) -> tuple[BinarySplit, int]:
        """The split and its sign."""
        return self.splits[place // 2], 1 if place % 2 == 0 else -1


@dataclass(frozen=True, eq=False)
class SignsChoice(Candidates):
    """Every split in two, and for every label a sign or none.

    `reach` is the most, in L1 over the labels, that one record moves the differences of a split.
    """

    kernel: LabelGradients
    splits: BinarySplits

    def __post_init__(self) -> None:
        _check_splits(self.kernel, self.splits)

    @property
    def reach(self) -> int:
        return self.kernel.max_gradient

    @property
    def weights(self) -> NDArray[np.float64]:
        return self.splits.weights

    @property
    def n_scores(self) -> int:
        return len(self.splits) * self.domain.n_labels

    def __len__(self) -> int:
        return len(self.splits)

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        return self.splits.differences(sums)


def _check_splits(kernel: GradientSums | LabelGradients, splits: BinarySplits) -> None:
    if type(splits) is not BinarySplits or splits.layout is not kernel.layout:
        raise FormatError("the splits to choose from have another layout than what is summed")
