"""Shares of noise: each of several parties adds one, and the honest parties' shares alone suffice.

A party knows its own share and can take it off a sum, and so can up to t parties that put their
knowledge together. So shares are calibrated to the m - t others: their sum has the law of the
central mechanism, or better, and the sum of all m shares has m / (m - t) times its variance. With
two parties nothing is gained: each must add all of the noise.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln

from frith.privacy.exact import float_at_least, float_root_at_least
from frith.privacy.window import MAX_SCALE

LEAST_SCALE = 2.0
"""Sums of discrete Gaussians narrower than this are too far from one."""
MOST_SCALE = 10_000.0
"""Counts are drawn one unit at a time, so a wider share of Laplace noise would take too long."""


@dataclass(frozen=True, slots=True)
class LaplaceShare:
    """The difference of two negative binomial counts of shape 1 / honest: a share of Laplace noise.

    Claim    D -> q(D) + the sum of `honest` independent shares is `epsilon`-DP when the integer
             vector q has L1 sensitivity at most `sensitivity`; further independent noise keeps it so.

    Proof    Let r = 1 / honest and let A have P[A=n] = C(n+r-1, n) (1-q)^r q^n with q = exp(-1/scale).
             Its generating function is ((1-q) / (1-qz))^r, so the sum of `honest` of them has
             (1-q) / (1-qz): it is geometric. A share is A - B with A, B independent of this law, so
             the sum of `honest` shares is the difference of two geometric counts, P[k] proportional
             to q^|k|: discrete Laplace noise of that scale, whose claim is DiscreteLaplace's. What
             the other parties add is independent of it, hence post-processing.

    Assumes  exact sampling, which `polya` gives, and `laplace_draws` for a single share.

    Checked  tests/privacy/test_shares.py: the law by convolution, samples against it, and that one
             share fewer is rejected.
    """

    epsilon: Fraction
    sensitivity: int
    honest: int

    def __post_init__(self) -> None:
        _check_amounts(self.epsilon, self.sensitivity, self.honest)
        _check_width(Fraction(self.sensitivity) / self.epsilon, MAX_SCALE)

    @property
    def scale(self) -> float:
        return float_at_least(Fraction(self.sensitivity) / self.epsilon)

    @property
    def variance(self) -> float:
        """Of one share: the central one over `honest`."""
        q = np.exp(-1 / self.scale)
        return float(2 * q / np.expm1(-1 / self.scale) ** 2) / self.honest

    def check(self) -> None:
        """Raise where drawing would take too long; all of the noise at once is no share."""
        if self.honest > 1 and self.scale > MOST_SCALE:
            raise ValueError(
                f"noise of scale {self.scale:.3g} is too wide to be drawn in exact shares; ask with "
                "a delta, or for a larger epsilon, or add full noise at every party"
            )

    def log_law(self, n: ArrayLike) -> NDArray[np.float64]:
        """log P[A = n] of one of the two counts, n at least 0."""
        n, r = np.asarray(n, dtype=np.float64), 1 / self.honest
        choose = gammaln(n + r) - gammaln(r) - gammaln(n + 1)
        return choose + r * np.log(-np.expm1(-1 / self.scale)) - n / self.scale


@dataclass(frozen=True, slots=True)
class GaussianShare:
    """Discrete Gaussian noise on each count, of 1 / honest of the central variance.

    Claim    D -> q(D) + the sum of `honest` independent shares is `rho`-zCDP when the integer vector
             q of at most `cells` entries has squared L2 sensitivity at most `sensitivity_squared`;
             further independent noise keeps it so.

    Proof    Kairouz, Liu and Steinke 2021 (the distributed discrete Gaussian): h shares of scale s
             give (e^2 / 2)-zCDP with e^2 = sensitivity_squared / (h s^2) + cells tau / 2, where tau =
             10 sum over k < h of exp(-2 pi^2 s^2 k / (k+1)). For s >= 2 each term is at most
             exp(-4 pi^2) < 1e-17, so tau <= 1e-16 (h - 1). With s^2, as a fraction, at least
             sensitivity_squared / (2 h (rho - cells tau / 4)), e^2 / 2 is at most rho.

    Assumes  exact sampling at a float scale, which `gaussian_draws` gives.

    Checked  tests/privacy/test_shares.py: Renyi divergences of the convolved law, samples against it.
    """

    rho: Fraction
    sensitivity_squared: int
    honest: int
    cells: int

    def __post_init__(self) -> None:
        _check_amounts(self.rho, self.sensitivity_squared, self.honest)
        if self._left > 0:
            _check_width(self._scale_squared, MAX_SCALE**2)
        if self.scale < LEAST_SCALE:
            raise ValueError(
                "the noise is too small to be shared by so many parties; ask for a smaller epsilon, "
                "or add full noise at every party"
            )

    @property
    def _left(self) -> Fraction:
        """What is left of rho after the term of the sum's distance from a Gaussian."""
        tau = Fraction(self.honest - 1, 10**16)
        return self.rho - self.cells * tau / 4

    @property
    def _scale_squared(self) -> Fraction:
        return Fraction(self.sensitivity_squared) / (2 * self.honest * self._left)

    @property
    def scale(self) -> float:
        return float_root_at_least(self._scale_squared) if self._left > 0 else 0.0

    @property
    def variance(self) -> float:
        return self.scale**2


def _check_amounts(amount: Fraction, sensitivity: int, honest: int) -> None:
    """Each at least what a share of noise has a meaning for."""
    if amount <= 0:
        raise ValueError(f"a share of noise is for a positive amount, and this is for {amount}")
    if sensitivity < 1:
        raise ValueError(f"a question has a sensitivity of at least 1, and this has {sensitivity}")
    if honest < 1:
        raise ValueError(f"at least 1 party adds noise and tells nobody, and here {honest} do")


def _check_width(asked: Fraction, most: float) -> None:
    """As fractions: what is asked may be beyond every float."""
    if asked > Fraction(most):
        raise ValueError(
            f"the noise would be wider than a scale of 2^{round(math.log2(MAX_SCALE))}; ask for a "
            "larger epsilon"
        )
