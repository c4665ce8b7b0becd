"""Values for cells whose residuals were summed: a posterior mean.

Post-processing of releases with known noise. The values of cells have a Gaussian prior by how alike
the cells are in each attribute: main effects of variance v, effects of k attributes together of
v r^(k-1). Several (v, r) and spreads of the records' own residuals are averaged by how well they
explain the released sums.
"""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from frith._arrays import Floats
from frith._threads import one_blas_thread

_VARIANCES = (0.003, 0.01, 0.04, 0.15, 0.5)
_INTERACTIONS = (0.1, 0.5)
_SPREADS = (0.05, 0.2)  # the variance of a record's clipped residual within its cell
_FAINT = 0.01  # what has less evidence than this is left out of the noise
_COMMON = 0.5  # of v, the variance of what all cells have in common


@one_blas_thread()
def cell_means(
    sums: Floats,
    sizes: Floats,
    variance: float,
    likeness: list[Floats],
    spreads: tuple[float, ...] = _SPREADS,
) -> tuple[Floats, Floats]:
    """The posterior mean residual of each cell, and the variance that the noise on its sum gives it.

    `sums` are noisy sums of residuals, `sizes` the cells' numbers of records, `variance` that of the
    noise on each sum, `spreads` guesses of that of a record's own residual.
    """
    evidence, found = [], []
    for spread in spreads:
        own = np.sqrt(variance + sizes * spread + 1e-9)
        scale = sizes / own
        for r in _INTERACTIONS:
            prior = _prior(likeness, r, len(sums))
            lengths, axes = np.linalg.eigh(scale[:, None] * prior * scale)
            lengths, seen = np.maximum(lengths, 0), axes.T @ (sums / own)
            for v in _VARIANCES:
                e = 1 + v * lengths
                evidence.append(-0.5 * (np.log(e).sum() + (seen**2 / e).sum()) - np.log(own).sum())
                found.append((v * prior * scale, axes, e, own))
    values, slope = np.zeros(len(sums)), np.zeros((len(sums), len(sums)))
    for weight, (reach, axes, e, own) in zip(softmax(evidence), found, strict=True):
        values += weight * (reach @ (axes @ (axes.T @ (sums / own) / e)))
        if variance and weight > _FAINT:
            slope += weight * (reach @ (axes / e) @ (axes.T / own))
    return values, variance * (slope**2).sum(axis=1)


def _prior(likeness: list[Floats], r: float, count: int) -> Floats:
    """(prod over attributes of (1 + r likeness) - 1) / r, and what all cells have in common."""
    product = np.ones((count, count))
    for alike in likeness:
        product *= 1 + r * alike
    return (product - 1) / r + _COMMON
