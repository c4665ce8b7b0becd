"""Forests as earlier versions wrote them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.forest.kinds import scores_of_leaves
from frith.forest.trees import Trees

FIRST_FORMAT = "frith-forest/1"
_LEAST_SHARE = 1e-12  # no tree can rule a label out


def scores_of_counts(
    trees: Trees, domain: Domain, counts: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The first format held each leaf's scores as label shares times a support that nobody counted.

    Their noise is that of the logarithm of a share, by the delta method.
    """
    support = np.maximum(counts, 0).sum(axis=1, keepdims=True)
    shares = np.maximum(counts, 0) / np.maximum(support, 1e-300)
    scores = np.where(support > 0, np.log(np.maximum(shares, _LEAST_SHARE)), 0.0)
    noise = variance * (domain.n_labels / np.maximum(support[:, 0], 1)) ** 2
    return scores_of_leaves(trees, domain, scores, noise)
