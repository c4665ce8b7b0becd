"""Learners that grow their trees before they look at a record, and then count leaves once.

Their structure is public, so parties can share it: each counts its own records, and anyone can add
up the counts. See `frith.parties`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from frith.curator import CuratorLike, Release
from frith.domain import Domain
from frith.forest import Forest
from frith.forest.trees import Trees, sum_up
from frith.growing.parts import Answered
from frith.kernels import LeafCounts
from frith.learners.classifier import PrivateForestClassifier
from frith.privacy.guarantee import Guarantee


@dataclass(frozen=True)
class Together:
    """What several answers have in common: their domain, and the guarantee of all of them."""

    domain: Domain
    guarantee: Guarantee


class PublicTreesClassifier(PrivateForestClassifier):
    """Trees from public facts, one question about their leaves; the rest is post-processing."""

    @abstractmethod
    def grow(self, curator: CuratorLike) -> Trees:
        """The trees, from the domain, the budget, the seed and the number of records."""

    @abstractmethod
    def finish(self, answered: Answered, trees: Trees, leaves: Release) -> Forest:
        """The forest, from noisy counts of the leaves."""

    def learn(self, curator: CuratorLike) -> Forest:
        return self.count(curator, self.grow(curator))

    def count(self, curator: CuratorLike, trees: Trees) -> Forest:
        """Count the records in the leaves of `trees`, for all that is left of the budget."""
        return self.finish(curator, trees, self.ask(curator, trees))

    @staticmethod
    def ask(curator: CuratorLike, trees: Trees) -> Release:
        """What one party says of its records, for all that is left of its budget."""
        return count_leaves(curator, trees)


def count_leaves(curator: CuratorLike, trees: Trees, share: Fraction | None = None) -> Release:
    """Labels in the leaves of all trees, for a share of the budget or for all that is left."""
    share = curator.remaining_share if share is None else share
    return curator.noisy_counts(LeafCounts(trees, curator.domain), share, "labels in the leaves")


def forest_of_leaves(answered: Answered, trees: Trees, leaves: Release, vote: str) -> Forest:
    """A forest whose leaves were released; what lies above them is their sum."""
    counts = sum_up(trees, leaves.values, answered.domain)
    each = np.full((len(trees.leaves), 1), leaves.variance)
    variance = sum_up(trees, each, answered.domain)[:, 0]
    return Forest(answered.domain, trees, counts, answered.guarantee, variance, vote)
