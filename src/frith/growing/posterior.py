"""Values for the cells of an oblivious tree, from noisy gradients: a posterior mean.

Post-processing of releases with known noise. Cells that share answers should have similar values,
so the values have a Gaussian prior by how alike cells are, in each answer or in each attribute: main
effects of variance v, interactions of k of them of v r^(k-1). Several (v, r) are averaged by how well
they explain the released sums.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.special import expit, softmax

from frith._arrays import Floats
from frith._threads import one_blas_thread

_VARIANCES = (0.01, 0.04, 0.15, 0.5, 1.5)
_INTERACTIONS = (0.1, 0.5)
_LARGEST = 3.0
_NEWTON_STEPS = 12


def alike_by_answer(signs: NDArray[np.int64]) -> list[Floats]:
    """For each answer how alike two cells are: 1 where they share it, -1 where they do not."""
    return [np.outer(answers, answers).astype(np.float64) for answers in signs.T]


@one_blas_thread()
def cell_values(
    gradient: Floats,
    curvature: Floats,
    variance: float,
    likeness: Sequence[Floats],
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """The posterior mean of each cell's log-odds, given noisy sums of y - p and p (1 - p).

    And the variance that the noise on the sums of y - p gives it.

    `likeness` has for each answer, or for each attribute, how alike two cells are, from 1 to -1.
    `start` is the score of each cell where all its records have the same: then the likelihood is
    known and refitted by damped Newton steps; else it is taken to second order.
    """
    prior = _averaged_prior(gradient, curvature, variance, likeness)
    if start is None:
        slope = _slope(prior, curvature, variance)
        return np.clip(slope @ gradient, -_LARGEST, _LARGEST), variance * (slope**2).sum(axis=1)
    p = expit(start)
    size = curvature / (p * (1 - p))
    positive = gradient + size * p
    values = np.zeros(len(gradient))
    for _ in range(_NEWTON_STEPS):
        p = expit(start + values)
        here = size * p * (1 - p) + 1e-3
        slope = _slope(prior, here, variance)
        mean = slope @ (positive - size * p + here * values)
        values = (values + np.clip(mean, -_LARGEST, _LARGEST)) / 2
    return values, variance * (slope**2).sum(axis=1)


def _averaged_prior(
    gradient: Floats, curvature: Floats, variance: float, likeness: Sequence[Floats]
) -> Floats:
    """The mean of the candidate priors, each by its evidence for the released gradients."""
    shapes = [_shape(likeness, len(gradient), r) for r in _INTERACTIONS]
    noise = variance + curvature
    evidence = np.empty((len(shapes), len(_VARIANCES)))
    for i, shape in enumerate(shapes):
        signal = curvature[:, None] * shape * curvature
        for j, v in enumerate(_VARIANCES):
            spread = v * signal
            spread.flat[:: len(noise) + 1] += noise
            root = np.linalg.cholesky(spread)
            fit = solve_triangular(root, gradient, lower=True, check_finite=False)
            evidence[i, j] = -0.5 * float(fit @ fit) - float(np.log(np.diag(root)).sum())
    weights = softmax(evidence) @ np.array(_VARIANCES)
    return np.tensordot(weights, np.array(shapes), axes=1)


def _shape(likeness: Sequence[Floats], count: int, r: float) -> Floats:
    """The prior for v = 1: (prod of (1 + r likeness) - 1) / r and 1 / 2 for what all cells share."""
    product = np.ones((count, count))
    for alike in likeness:
        product *= 1 + r * alike
    return (product - 1) / r + 0.5


def _slope(prior: Floats, curvature: Floats, variance: float) -> Floats:
    """How the posterior mean of each cell follows the gradient of each.

    Gradients spread by signal, noise and sampling.
    """
    spread = curvature[:, None] * prior * curvature + np.diag(variance + curvature)
    return np.asarray(np.linalg.solve(spread, curvature[:, None] * prior).T)  # both are symmetric
