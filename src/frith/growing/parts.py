"""Trees whose scores add up: what each leaf adds to every label's score, or to a number; their forest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from frith._arrays import Floats
from frith.domain import Domain
from frith.forest import Forest
from frith.forest.kinds import scores_of_leaves
from frith.forest.trees import Trees
from frith.growing.builder import join_trees
from frith.privacy.guarantee import Guarantee


@dataclass(frozen=True, eq=False)
class Part:
    """A tree, what each of its leaves adds to every label's score (or to a number), and the noise on it.

    `variance` is that of the noise on each score of a leaf.
    """

    tree: Trees
    scores: Floats
    variance: Floats


class Answered(Protocol):
    """Who answered for what is released: a curator, or several parties together."""

    @property
    def domain(self) -> Domain: ...
    @property
    def guarantee(self) -> Guarantee: ...


def forest_of_parts(answered: Answered, parts: list[Part]) -> Forest:
    """The forest of all parts, whose values are scores."""
    domain, trees = answered.domain, join_trees([part.tree for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    noise = np.concatenate([part.variance for part in parts])
    values, variance = scores_of_leaves(trees, domain, scores, noise)
    vote = "sum" if domain.has_target else "product"
    return Forest(domain, trees, values, answered.guarantee, variance, vote=vote)
