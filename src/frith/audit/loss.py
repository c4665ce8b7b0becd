"""The distribution of the privacy loss, and the delta that remains at a given epsilon.

The loss of a path is the logarithm of the ratio of its choices' probabilities plus, for each count
that differs by d under discrete Gaussian noise of scale s, (d^2 - 2 d k) / (2 s^2) with k the noise.
Losses are rounded up to a grid, so delta can only come out too large.
"""

from __future__ import annotations

import functools
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith.privacy.mechanisms import DiscreteGaussian

GRID = 2e-3
_REACH = 9.0  # standard deviations of noise beyond which its mass counts as infinite loss

Shifts = list[tuple[float, tuple[int, ...]]]


def delta_of(
    log_p: NDArray[np.float64],
    log_ratio: NDArray[np.float64],
    shifts: list[Shifts],
    epsilon: float,
) -> float:
    """The hockey-stick divergence: sum over paths of P x E[max(0, 1 - exp(epsilon - loss))]."""
    total = 0.0
    for logs, ratio, shift in zip(log_p, log_ratio, shifts, strict=True):
        law, start = _sum_of(tuple(sorted(shift)))
        losses = ratio + (start + np.arange(len(law))) * GRID
        over = -np.expm1(np.minimum(0.0, epsilon - losses))
        total += float(np.exp(logs) * ((law * over).sum() + max(0.0, 1 - law.sum())))
    return total


@functools.lru_cache(maxsize=1024)
def _sum_of(shifts: tuple[tuple[float, tuple[int, ...]], ...]) -> tuple[NDArray[np.float64], int]:
    """The distribution of the joint loss of all counts, and the start of its grid."""
    law, start = np.ones(1), 0
    for scale, moves in shifts:
        for move in moves:
            part, at = _single(scale, move)
            law, start = np.convolve(law, part), start + at
    return law, start


@functools.lru_cache(maxsize=256)
def _single(scale: float, move: int) -> tuple[NDArray[np.float64], int]:
    reach = int(_REACH * scale) + 2
    k = np.arange(-reach, reach + 1)
    chance = np.exp(-(k**2) / (2 * scale**2))
    chance /= np.exp(_gaussian(scale).log_law(0) * -1)
    steps = np.ceil((move**2 - 2 * move * k) / (2 * scale**2) / GRID).astype(np.int64)
    law = np.bincount(steps - steps.min(), weights=chance).astype(np.float64)
    return law, int(steps.min())


def _gaussian(scale: float) -> DiscreteGaussian:
    return DiscreteGaussian(1 / (2 * Fraction(scale) ** 2), 1)
