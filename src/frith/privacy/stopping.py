"""The best of a random number of private runs: a choice among many for two to three times the price of one.

Claim    Let a run be epsilon-DP and give a result with a score. Do K independent runs, where K is drawn from
         the truncated negative binomial law with a fixed eta >= 0 and 0 < gamma < 1, and release the
         result of the best score, and nothing else: that is (2 + eta) epsilon-DP.
Proof    (After Liu and Talwar 2019, and Papernot and Steinke 2022.) P[K = k] is proportional to
         (1 - gamma)^k times the product over l < k of (l + eta) / (l + 1), for k >= 1; for eta = 1 it is the
         geometric law. With f(x) = E[x^K], f'(x) is C (1 - (1 - gamma) x)^-(1 + eta), C a constant.
         Of equal scores the first run wins. Let Q be the law of a run and y a result with score s. A
         run scores s with probability p, and less with probability q, so the best has score s with
         probability f(p + q) - f(q), and is y with Q(y) / p of that, since runs are independent:
             P[y] = Q(y) (f(q + p) - f(q)) / p = Q(y) * (mean of f'(q + u p) over u from 0 to 1).
         On a neighbor, Q'(y) >= e^-epsilon Q(y). For every u, x = q + u p and x' = q' + u p' have
         1 - x' <= e^epsilon (1 - x), because 1 - x is the probability of a better score plus 1 - u times p.
         So 1 - (1 - gamma) x' = gamma + (1 - gamma)(1 - x') <= e^epsilon (1 - (1 - gamma) x), and
         f'(x) <= e^((1 + eta) epsilon) f'(x'). Together P[y] <= e^((2 + eta) epsilon) P'[y].
Assumes  Pure runs: for runs that are only zCDP or (epsilon, delta)-DP this is not the price. K, the runs that
         lost and the time that all of them took are never seen: k runs that are known to be k cost
         k epsilon. K has no cap, and eta and gamma are fixed before the first run.
Checked  tests/privacy/test_stopping.py: the law and the derivative against sums, draws against the law;
         tests/audit/test_stopping.py: exact laws of small worlds, and what a told K gives away.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeVar

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class RandomStopping:
    """How many runs there are: the truncated negative binomial law, drawn exactly from OS entropy."""

    eta: Fraction
    gamma: Fraction

    def __post_init__(self) -> None:
        if type(self.eta) is not Fraction or not 0 <= self.eta <= 1:
            raise ValueError("eta is from 0 to 1: the price is 2 + eta runs")
        if type(self.gamma) is not Fraction or not 0 < self.gamma < 1:
            raise ValueError("gamma is between 0 and 1")

    @classmethod
    def of_mean(cls, eta: Fraction, mean: int) -> RandomStopping:
        """The law whose number of runs has about this mean, of at least 2."""
        low, high = 1e-9, 1 - 1e-9
        for _ in range(60):
            middle = math.sqrt(low * high)
            low, high = (middle, high) if _mean(float(eta), middle) > mean else (low, middle)
        return cls(eta, Fraction(round(low * 2**32) or 1, 2**32))

    @property
    def price(self) -> Fraction:
        """What the best costs, in epsilons of one run."""
        return 2 + self.eta

    @property
    def mean(self) -> float:
        """The expected number of runs."""
        return _mean(float(self.eta), float(self.gamma))

    def probability(self, k: int) -> float:
        """P[K = k]."""
        eta, gamma = float(self.eta), float(self.gamma)
        total = -math.log(gamma) if eta == 0 else (gamma**-eta - 1) / eta
        weights = (math.log((j + eta) / (j + 1)) for j in range(1, k))
        return math.exp(k * math.log1p(-gamma) + math.fsum(weights)) / total

    def draw(self) -> int:
        """A number of runs: a geometric one, accepted with the probability that is left to the law.

        What it is accepted by is drawn step by step, so that one that fails has cost little.
        """
        k = 1
        while not _happens(self.gamma):
            k = k + 1 if _happens((k + self.eta) / (k + 1)) else 1
        return k


def best_of(stopping: RandomStopping, run: Callable[[], tuple[int, Result]]) -> Result:
    """The result of the best score among a random number of runs. Nothing else of them is kept."""
    best: Any = None
    for _ in range(stopping.draw()):
        score, result = run()
        if best is None or score > best[0]:
            best = (score, result)
    found: Result = best[1]
    return found


def _happens(chance: Fraction) -> bool:
    """True with exactly this probability."""
    return secrets.randbelow(chance.denominator) < chance.numerator


def _mean(eta: float, gamma: float) -> float:
    if eta == 0:
        return (1 / gamma - 1) / math.log(1 / gamma)
    return eta * (1 - gamma) / (gamma * (1 - gamma**eta))
