"""Values for the cells of an oblivious tree, from noisy gradients: a posterior mean.

Post-processing of releases with known noise. Cells that share answers should have similar values,
so the values have a Gaussian prior over the hypercube of answers (or what of it can be reached):
main effects of variance v, interactions of k answers of v r^(k-1). Several (v, r) are averaged by
how well they explain the released sums.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from frith._arrays import Floats

_VARIANCES = (0.01, 0.04, 0.15, 0.5, 1.5)
_INTERACTIONS = (0.1, 0.5)
_LARGEST = 3.0
_NEWTON_STEPS = 12


def cell_values(
    gradient: Floats,
    curvature: Floats,
    variance: float,
    signs: NDArray[np.int64],
    start: Floats | None = None,
) -> tuple[Floats, Floats]:
    """The posterior mean of each cell's log-odds, given noisy sums of y - p and p (1 - p).

    And the variance that the noise on the sums of y - p gives it.

    `start` is the score of each cell where all its records have the same: then the likelihood is
    known and refitted by damped Newton steps; else it is taken to second order.
    """
    prior = _averaged_prior(gradient, curvature, variance, signs)
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
    gradient: Floats, curvature: Floats, variance: float, signs: NDArray[np.int64]
) -> Floats:
    """The mean of the candidate priors, each by its evidence for the released gradients."""
    priors = [_covariance(signs, v, r) for v in _VARIANCES for r in _INTERACTIONS]
    evidence = []
    for prior in priors:
        spread = _spread(prior, curvature, variance)
        fit = gradient @ np.linalg.solve(spread, gradient)
        evidence.append(-0.5 * (np.linalg.slogdet(spread)[1] + fit))
    return np.tensordot(softmax(evidence), np.array(priors), axes=1)


def _covariance(signs: NDArray[np.int64], v: float, r: float) -> Floats:
    """v / r (prod_i (1 + r s_i s'_i) - 1) and v / 2 for what all cells have in common."""
    product = np.ones((len(signs), len(signs)))
    for answers in signs.T:
        product *= 1 + r * np.outer(answers, answers)
    return v / r * (product - 1) + v / 2


def _spread(prior: Floats, curvature: Floats, variance: float) -> Floats:
    """The covariance of the released gradients: signal, noise, and sampling."""
    return curvature[:, None] * prior * curvature + np.diag(variance + curvature)


def _slope(prior: Floats, curvature: Floats, variance: float) -> Floats:
    """How the posterior mean of each cell follows the gradient of each."""
    spread = _spread(prior, curvature, variance)
    return np.asarray(np.linalg.solve(spread, curvature[:, None] * prior).T)  # both are symmetric
