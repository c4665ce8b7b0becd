"""What a wide clip does to a quantile, for targets that follow a normal law. Public facts alone.

A clipped residual is a ramp where a sign would be a step. Scores at which tilted ramps add up to 0 are
quantiles of the targets after each was moved by up to a width either way, evenly. Widths r are in standard
deviations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr, ndtri


def level_for(level: int, r: float) -> int:
    """The level, in thousandths, to ask of ramps of width r for the quantile of a given level."""
    z = float(ndtri(level / 1_000))
    below = float(_integral(z + r) - _integral(z - r)) / (2 * r)  # of the moved targets
    return min(999, max(1, round(1_000 * below)))


def near_quantile(q: float, r: float | NDArray[np.float64]) -> NDArray[np.float64]:
    """Twice the mean of 1 - |c| at the quantile q of a normal law, for a width of r.

    The mean of max(0, 1 - |x - z| / r) is the second difference of an integral of the integral of the law.
    """
    z = float(ndtri(q))
    found = 2 * (_integral(z + r) - 2 * _integral(z) + _integral(z - r)) / r
    return np.asarray(found, dtype=np.float64)


def _integral(t: float | NDArray[np.float64]) -> float | NDArray[np.float64]:
    """Of the normal law's distribution function, up to t."""
    return t * ndtr(t) + np.exp(-np.square(t) / 2) / math.sqrt(2 * math.pi)
