"""The mechanisms: each a claim with its proof, its law in closed form, and its noise scale.

Nothing here draws noise; `sources` does. So most tests need no sampling: they compare
laws. Scales are floats because OpenDP takes floats and samples *exactly* at the float it is given;
each is rounded up, compared as a fraction, so that a share is never exceeded.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from frith.privacy.exact import float_at_least, float_root_at_least


@dataclass(frozen=True, slots=True)
class DiscreteLaplace:
    """Independent integer noise on each count, P[k] proportional to exp(-|k| / scale).

    Claim    D -> q(D) + noise is `epsilon`-DP when the integer vector q has L1 sensitivity at most
             `sensitivity` between neighbors.

    Proof    P[M(D)=z] / P[M(D')=z] = exp((|z - q(D')|_1 - |z - q(D)|_1) / scale), at most
             exp(sensitivity / scale) by the triangle inequality, and scale, as a fraction, is at
             least sensitivity / epsilon.

    Assumes  exact sampling at a float scale, which `laplace_draws` and OpenDP's sampler give. Sums
             saturate at the ends of 64 bits, which is a function of the release alone.

    Checked  tests/privacy/test_mechanisms.py: the ratio in closed form, the samples against the law.
    """

    epsilon: Fraction
    sensitivity: int

    @property
    def scale(self) -> float:
        return float_at_least(Fraction(self.sensitivity) / self.epsilon)

    @property
    def variance(self) -> float:
        p = np.exp(-1 / self.scale)
        return float(2 * p / np.expm1(-1 / self.scale) ** 2)

    def log_law(self, k: ArrayLike) -> NDArray[np.float64]:
        """log P[noise = k]."""
        return np.log(np.tanh(0.5 / self.scale)) - np.abs(np.asarray(k)) / self.scale


@dataclass(frozen=True, slots=True)
class DiscreteGaussian:
    """Independent integer noise on each count, P[k] proportional to exp(-k^2 / (2 scale^2)).

    Claim    D -> q(D) + noise is `rho`-zCDP when the integer vector q has squared L2 sensitivity at
             most `sensitivity_squared` between neighbors.

    Proof    Canonne, Kamath and Steinke 2020, Theorem 14 (the multivariate form): integer shifts of
             squared length s between the centers cost s / (2 scale^2), and scale^2, as a fraction,
             is at least sensitivity_squared / (2 rho).

    Assumes  exact sampling at a float scale, which `gaussian_draws` and OpenDP's sampler give.

    Checked  tests/privacy/test_mechanisms.py: Renyi divergences from the law, the samples against it.
    """

    rho: Fraction
    sensitivity_squared: int

    @property
    def scale(self) -> float:
        return float_root_at_least(Fraction(self.sensitivity_squared) / (2 * self.rho))

    @property
    def variance(self) -> float:
        return self.scale**2  # an upper bound, and within 1% from scale 0.8 on

    def log_law(self, k: ArrayLike) -> NDArray[np.float64]:
        """log P[noise = k]; the normalizer is summed to where terms vanish."""
        reach = int(40 * self.scale) + 2
        grid = np.arange(-reach, reach + 1, dtype=np.float64)
        weights = np.exp(-(grid**2) / (2 * self.scale**2))
        return -(np.asarray(k, dtype=np.float64) ** 2) / (2 * self.scale**2) - np.log(weights.sum())


@dataclass(frozen=True, slots=True)
class PrivateChoice:
    """One candidate of a scored list: the best one, or one nearly as good.

    `range_` is the largest minus the smallest change of a score between neighbors, over the whole
    list of candidates: the sensitivity when all scores move the same way, else twice that.
    Candidates may have public weights: scale times the logarithm of a weight is added to its score.

    Claim    Pure (`epsilon`): epsilon-DP. zCDP (`rho`): rho-zCDP.

    Proof    Adding one number to all scores changes no choice, so a list of range R behaves as a
             monotone list of sensitivity R. Pure: permute-and-flip with weights
             exp(epsilon * score / R) is epsilon-DP for monotone scores (McKenna and Sheldon 2020),
             and so is the exponential mechanism, `exponential`, with the same weights: a weight
             moves by a factor of 1 to e^epsilon, and so does their sum.
             zCDP: Gumbel noise of scale s draws from the exponential mechanism with weights
             exp(score / s), which is (R/s)-bounded-range, so (R/s)^2/8-zCDP (Cesar and Rogers
             2021), and s^2 >= R^2 / (8 rho).
             A weight adds the same integer on both tables. Scores are cut off at +-`LIMIT`: where
             scores change by numbers between a and b, a <= 0 <= b, b - a = R, they still do.

    Assumes  exact sampling, which `choice_draws` and OpenDP's noisy max give; integer scores that
             all move one way, or as far up as down, so that 0 is between the changes.

    Checked  tests/privacy/test_mechanisms.py: the ratio by enumeration, the samples against the law.
    """

    amount: Fraction
    range_: int
    unit: str = "epsilon"
    exponential: bool = False

    LIMIT: ClassVar[int] = 2**61

    @property
    def gumbel(self) -> bool:
        """Whether Gumbel noise draws it, by the exponential mechanism; else permute-and-flip."""
        return self.exponential or self.unit == "rho"

    @property
    def scale(self) -> float:
        if self.unit == "epsilon":
            return float_at_least(Fraction(self.range_) / self.amount)
        return float_root_at_least(Fraction(self.range_) ** 2 / (8 * self.amount))

    def weighed(self, scores: Sequence[int], log_weights: Sequence[float]) -> list[int]:
        """The scores with their public weights, as Python's integers, which do not overflow."""
        scale, low, high = self.scale, -self.LIMIT, self.LIMIT
        cut_off = [low if s < low else high if s > high else int(s) for s in scores]
        bonus = [round(scale * w) if w else 0 for w in log_weights]
        return [s + b for s, b in zip(cut_off, bonus, strict=True)]

    def law(self, scores: ArrayLike) -> NDArray[np.float64]:
        """The probability of each candidate."""
        weights = np.exp((np.asarray(scores, dtype=np.float64) - np.max(scores)) / self.scale)
        if self.gumbel:
            return np.asarray(weights / weights.sum())
        return np.array([_permute_and_flip(weights, i) for i in range(len(weights))])


@dataclass(frozen=True)
class SignChoice:
    """One question of a list, and a sign or nothing for each of K labels, chosen together.

    `reach` bounds, for every question, the L1 change of its K differences by one record. Candidates
    are all pairs of a question q and s in {-1, 0, 1}^K, with score sum_k s_k d_k(q).

    Claim    Pure (`epsilon`): epsilon-DP. zCDP (`rho`): rho-zCDP.

    Proof    One record moves every score by at most `reach` either way, so the exponential
             mechanism with weights w_q exp(score / scale), w public, has range 2 reach / scale. Its
             sum over s factorises: q has weight w_q prod_k (exp(a_k) + 1 + exp(-a_k)) with
             a_k = d_k / scale, and given q the labels are independent, each with weights exp(a_k),
             1, exp(-a_k). The logarithm of q's weight is rounded. With every such one off by at
             most `SLACK`, the law of (q, s) has weights off by a factor of at most exp(SLACK) for
             each table, so its range grows by at most 4 SLACK, which the thousandth part by which
             `scale` is wider covers. A mechanism of range e is e-DP and e^2/8-zCDP.
             Logarithms are taken less the largest sum, which moves by t, |t| <= reach / scale, so
             all of them move by numbers from -reach / scale - t to reach / scale - t; 0 is one of
             these, so cutting logarithms off at -`LIMIT` keeps their changes in between.

    Assumes  exact sampling of each factor, which `choice_draws` and OpenDP's Gumbel noise give; sums
             of float64 logarithms between 0 and log 3 within 2^-31.

    Checked  tests/privacy/test_sign_choice.py: the ratio by enumeration, the samples against the law.
    """

    amount: Fraction
    reach: int
    unit: str = "epsilon"

    POINT: ClassVar[int] = 2**30
    LIMIT: ClassVar[int] = 2**61
    SLACK: ClassVar[Fraction] = Fraction(1, 2**26)
    _WIDER: ClassVar[Fraction] = 1 + Fraction(1, 1000)

    @property
    def scale(self) -> float:
        if self.unit == "epsilon":
            return float_at_least(Fraction(2 * self.reach) / self.amount * self._WIDER)
        return float_root_at_least(
            Fraction(2 * self.reach) ** 2 / (8 * self.amount) * self._WIDER**2
        )

    def check(self) -> None:
        """Raise where the range is so small that a thousandth of it does not cover the slack."""
        if Fraction(2 * self.reach) / Fraction(self.scale) / 1001 < 4 * self.SLACK:
            raise ValueError(f"{float(self.amount):.3g} is too little for one of many steps")

    def fixed_weights(
        self, differences: NDArray[np.int64], log_weights: NDArray[np.float64]
    ) -> list[int]:
        """The logarithm of each question's weight over the largest sum's, `POINT` to one.

        |d| / scale is divided in integers: as floats, logarithms of large sums would round by more
        than the slack.
        """
        sums = np.abs(differences).sum(axis=1).tolist()
        a = np.abs(differences) / self.scale
        rest = np.log1p(np.exp(-a) + np.exp(-2 * a)).sum(axis=1) + log_weights
        top, numerator, denominator = max(sums), *self.scale.as_integer_ratio()
        behind = ((top - s) * self.POINT * denominator // numerator for s in sums)
        return [
            max(round(r * self.POINT) - b, -self.LIMIT)
            for b, r in zip(behind, rest.tolist(), strict=True)
        ]

    def question_weights(
        self, differences: NDArray[np.int64], log_weights: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        """The same logarithms as floats."""
        return np.array(self.fixed_weights(differences, log_weights)) / self.POINT


def _permute_and_flip(weights: NDArray[np.float64], index: int) -> float:
    """P[index wins] = p_i * E[product of (1 - p_j) over those before i in a random order].

    The expectation is the integral over t in [0, 1] of prod_j (1 - t p_j): t is i's place in the
    order. The integrand is a polynomial, which Gauss-Legendre integrates exactly.
    """
    others = np.delete(weights, index)
    nodes, mass = np.polynomial.legendre.leggauss(len(weights) // 2 + 1)
    t = (nodes + 1) / 2
    products = np.prod(1 - np.outer(t, others), axis=1)
    return float(weights[index] * np.sum(mass / 2 * products))
