"""Intervals for what was counted, from noisy counts and the known size of their noise.

Claim    An interval of level 1 - a holds the exact count, sum or share of the table that was counted
         with probability at least 1 - a, over the noise. k of them that get a / k each hold together.
Proof    Every value shown is a sum of released counts with weights w_i, and its noise is
         X = sum w_i Z_i, where the Z_i are independent and Laplace or Gaussian. With s^2 the variance
         of X, X / s is sqrt(V) N: N is a standard Gaussian, V = sum u_i E_i with u_i = (w_i s_i / s)^2,
         sum u_i = 1, and E_i is exponential of mean 1 for Laplace noise and 1 for Gaussian.
         Given V, P[|X| > t s] is h(V) = 2 Phi(-t / sqrt V), convex up to V = t^2 / 3 and concave
         after. Let g be h up to there and its tangent beyond: g >= h, and g is convex. By Jensen's
         inequality, twice, E g(V) <= sum u_i E g(E_i) <= E g(E) for one exponential E. And
             E g(E) <= E h(E) + h'(t^2 / 3) E max(0, E - t^2 / 3)
                    = exp(-sqrt2 t) + (3 sqrt3 phi(sqrt3) / t^2) exp(-t^2 / 3),
         since E h(E) is the tail of one Laplace variable, and h >= h(t^2 / 3) beyond that point.
         `noise_factor` is the t at which this is a.
         Noise here is whole numbers: P[|Z| >= n] = 2 q^n / (1 + q) with q = exp(-e) is at most
         exp(-e (n - 1/2)), so |Z| is at most half a count over |L| for a Laplace variable L of scale
         1 / e, where sinh(e / 2) = 1 / sqrt(2 v) for noise of variance v. `deviation` is that of L
         and half a count; for sums, test_intervals.py enumerates the exact laws. Releases that
         parties sum have lighter tails: their E_i are gamma of mean 1 and shape over 1.
Shares   A share p of k among m counts satisfies part - p total = 0 exactly. So the p for which the
         noisy part - p total is within its own noise, of variance (k (1-p)^2 + (m-k) p^2) v, form a set
         of level 1 - a (Fieller 1954), also where counts are small. It is an interval where the total
         stands out from its noise; where it does not, nothing is claimed: 0 to 1.
         So it is for any two sums with weights w and u: part - p total has the weights w - p u, and
         `ratio_interval` is the set of p for which it is within its own noise.
Assumes  Counts as released, or sums and least squares of them; never shrunk or emptied ones.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

LEVEL = 0.95
"""How often the intervals of one forest hold, all at once."""
_TANGENT = 3 * math.sqrt(3) * math.exp(-1.5) / math.sqrt(2 * math.pi)


@functools.lru_cache(maxsize=1024)
def noise_factor(chance: float) -> float:
    """The number of standard deviations that noise exceeds with at most this chance."""
    return float(brentq(lambda t: _log_tail(t) - math.log(chance), 0.5, 2 - math.log(chance)))


def _log_tail(t: float) -> float:
    return float(np.logaddexp(-math.sqrt(2) * t, math.log(_TANGENT / t**2) - t**2 / 3))


def deviation(variance: NDArray[np.float64], factor: float) -> NDArray[np.float64]:
    """The standard deviation of the noise on a count, with what its whole steps add."""
    noisy = np.maximum(variance, 1e-300)
    return np.where(
        variance > 0, math.sqrt(0.5) / np.arcsinh(1 / np.sqrt(2 * noisy)) + 0.5 / factor, 0.0
    )


def share_interval(
    part: NDArray[np.float64],
    total: NDArray[np.float64],
    variance: NDArray[np.float64],
    k: int,
    m: int,
    factor: float,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Both ends of an interval for the share that k of m noisy counts have of their sum."""
    c = (factor * deviation(variance, factor)) ** 2
    a, b, d = total**2 - c * m, part * total - c * k, part**2 - c * k
    clear = (total > 0) & (a > 0)
    root = np.sqrt(np.maximum(b**2 - a * d, 0))
    least = np.where(clear, a, 1.0)
    low, high = np.where(clear, (b - root) / least, 0.0), np.where(clear, (b + root) / least, 1.0)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)


def ratio_interval(
    counts: NDArray[np.float64],
    part: NDArray[np.float64],
    total: NDArray[np.float64],
    variance: float,
    factor: float,
) -> tuple[float, float]:
    """Both ends of an interval for sum(part counts) / sum(total counts), of weights for noisy counts."""
    return fieller(float(part @ counts), float(total @ counts), part, total, variance, factor)


def fieller(
    above: float,
    below: float,
    part: NDArray[np.float64],
    total: NDArray[np.float64],
    variance: float,
    factor: float,
) -> tuple[float, float]:
    """The ends of all p for which above - p below is within the noise that the weights give it.

    Minus and plus infinity where `below` does not stand out from its noise.
    """
    c = float((factor * deviation(np.array(variance), factor)) ** 2)
    a, b = below**2 - c * float(total @ total), above * below - c * float(part @ total)
    if below <= 0 or a <= 0:
        return -math.inf, math.inf
    root = math.sqrt(max(0.0, b**2 - a * (above**2 - c * float(part @ part))))
    return (b - root) / a, (b + root) / a
