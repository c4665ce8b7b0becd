"""Least squares over a tree of noisy counts: a parent should be the sum of its children.

Post-processing of releases with known noise variances (Hay, Rastogi, Miklau and Suciu 2010, for
trees of any shape and nodes of any variance).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith._jit import compiled
from frith.domain import Domain
from frith.forest.trees import Trees


def make_consistent(
    trees: Trees, domain: Domain, values: NDArray, variance: Floats
) -> tuple[Floats, Floats]:
    """The counts nearest to the released ones, in units of their noise, that add up.

    Returns them with the variance of what noise is left. An infinite variance marks a node that
    was not asked. Exact counts (variance 0) stay as they are.
    """
    fitted = values.astype(np.float64)
    if not np.any(variance > 0):
        return fitted, variance.copy()
    left = variance.astype(np.float64)
    _fit(trees.first_child, trees.widths(domain), fitted, left)
    return fitted, left


@compiled
def _fit(first_child, widths, values, variance):  # type: ignore[no-untyped-def]
    """Bottom up, join a node's own count with its children's sum; top down, share what is left."""
    n_labels = values.shape[1]
    total = np.zeros(n_labels)
    for node in range(len(widths) - 1, -1, -1):
        if widths[node] == 0:
            continue
        first, last = first_child[node], first_child[node] + widths[node]
        spread = variance[first:last].sum()
        own = 1.0 / variance[node] if variance[node] > 0 else 1e300
        below = 1.0 / spread if spread > 0 else 1e300
        for c in range(n_labels):
            values[node, c] = (own * values[node, c] + below * values[first:last, c].sum()) / (
                own + below
            )
        variance[node] = 1.0 / (own + below)
    for node in range(len(widths)):
        if widths[node] == 0:
            continue
        first, last = first_child[node], first_child[node] + widths[node]
        spread = variance[first:last].sum()
        for c in range(n_labels):
            total[c] = values[first:last, c].sum()
        for child in range(first, last):
            part = variance[child] / spread if spread > 0 else 0.0
            for c in range(n_labels):
                values[child, c] += part * (values[node, c] - total[c])
            variance[child] += part * part * variance[node] - part * variance[child]
