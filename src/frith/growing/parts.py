"""Trees whose scores add up: what each leaf adds to every label's score, or to a number; their forest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.forest import Forest
from frith.forest.kinds import scores_of_leaves
from frith.forest.trees import Trees
from frith.growing.builder import join_trees


@dataclass(frozen=True, eq=False)
class Part:
    """A tree, what each of its leaves adds to every label's score (or to a number), and the noise on it.

    `variance` is that of the noise on each score of a leaf.
    """

    tree: Trees
    scores: Floats
    variance: Floats


def forest_of_parts(curator: CuratorLike, parts: list[Part]) -> Forest:
    """The forest of all parts, whose values are scores."""
    domain, trees = curator.domain, join_trees([part.tree for part in parts])
    scores = np.concatenate([part.scores for part in parts])
    noise = np.concatenate([part.variance for part in parts])
    values, variance = scores_of_leaves(trees, domain, scores, noise)
    vote = "sum" if domain.has_target else "product"
    return Forest(domain, trees, values, curator.guarantee, variance, vote=vote)
