"""Trees that multiply: what each leaf adds to every label's score, and the forest they make."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import softmax

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.forest import Forest
from frith.forest.trees import Trees, sum_up
from frith.growing.builder import join_trees


@dataclass(frozen=True, eq=False)
class Part:
    """A tree, what each of its leaves adds to every label's score, and the records behind it.

    `variance` is that of the noise on each label count.
    """

    tree: Trees
    scores: Floats
    support: Floats
    variance: float


def forest_of_parts(curator: CuratorLike, parts: list[Part]) -> Forest:
    """The forest of all parts; a leaf holds the label shares of its own scores."""
    domain, trees = curator.domain, join_trees([part.tree for part in parts])
    leaves = np.concatenate([softmax(p.scores, axis=1) * p.support[:, None] for p in parts])
    noise = np.concatenate([np.full(len(p.support), p.variance) for p in parts])
    values = sum_up(trees, leaves, domain)
    variance = sum_up(trees, noise[:, None], domain)[:, 0]
    return Forest(domain, trees, values, curator.guarantee, variance, vote="product")
