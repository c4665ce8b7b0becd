"""What the values of a forest's nodes are."""

from __future__ import annotations

from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.errors import FrithError
from frith.forest.trees import Trees, sum_up


class ValueKind(StrEnum):
    """Whether a forest holds what was counted, or what it adds to the odds.

    COUNTS  label counts that were measured, with the variance of their noise
    SCORES  what each tree adds to the logarithm of every label's odds, or to a number that is
            predicted: the model's opinion
    """

    COUNTS = "counts"
    SCORES = "scores"


def kind_of(vote: str) -> ValueKind:
    """Trees that multiply, or that add up to a number, have scores; every other vote reads counts."""
    return ValueKind.SCORES if vote in ("product", "sum") else ValueKind.COUNTS


def refuse_number(domain: Domain, what: str) -> None:
    """Raise if a forest predicts a number, for what is made of labels."""
    if domain.has_target:
        raise FrithError(
            f"{what}: not offered for a forest that predicts a number; read it with effects(), "
            "explain(X) and importances(), or save it as JSON"
        )


def scores_of_leaves(
    trees: Trees, domain: Domain, scores: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Scores of all nodes, and the variance of their noise: a node has the mean of its leaves.

    Every leaf weighs the same, since how many records it has was not measured. What a leaf adds to
    all labels alike moves no odds, so scores of labels are shifted to add up to 0.
    """
    ones = np.ones((len(trees.leaves), 1))
    leaves = sum_up(trees, ones, domain)
    centered = scores if domain.has_target else scores - scores.mean(axis=1, keepdims=True)
    noise = sum_up(trees, variance[:, None], domain)
    return sum_up(trees, centered, domain) / leaves, (noise / leaves**2)[:, 0]
