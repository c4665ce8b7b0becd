"""Curators with one flaw each, for audits of the audit alone.

The package offers none of them. Whatever they release states that it has no guarantee.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.curator import Progress, Release, records_per_unit
from frith.engines.base import Engine
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PrivateChoice, SignChoice
from frith.privacy.sources import Noise, NoiseSource, OpenDPSource, Selection

KNOWN_BAD = "a known flaw, kept to test audits with"


class UnsoundCurator:
    """Believes what any object states about itself, and shows exact sums. Promises nothing."""

    is_exact = False

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        *,
        progress: Progress | None = None,
        source: NoiseSource | None = None,
    ):
        self.domain, self.budget, self._engine = engine.domain, budget, engine
        self._source = source or self.own_source()
        self._progress = progress or (lambda purpose: None)

    def own_source(self) -> NoiseSource:
        return OpenDPSource()

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(float("inf"), assumptions=(KNOWN_BAD,))

    def exact_counts(self, question: Any, purpose: str = "exact") -> NDArray[np.int64]:
        self._progress(purpose)
        sums = self._engine.aggregate(getattr(question, "base", question))
        return np.asarray(question.take(sums) if hasattr(question, "take") else sums)

    def noise(self, question: Any, share: Fraction) -> Noise:
        amount, records = share * self.budget.total, records_per_unit(self.domain)
        if self.budget.unit == "rho":
            return DiscreteGaussian(amount, question.l2_squared * records**2)
        return DiscreteLaplace(amount, question.l1 * records)

    def noisy_counts(self, question: Any, share: Fraction, purpose: str) -> Release:
        noise = self.noise(question, share)
        values = self._source.perturb(self.exact_counts(question, purpose), noise, 1)
        return Release(values, noise.variance)

    def choose(self, list_: Any, share: Fraction, purpose: str) -> int:
        range_ = list_.range_ * records_per_unit(self.domain)
        choice = PrivateChoice(share * self.budget.total, range_, self.budget.unit)
        scores = list_.scores(self.exact_counts(list_.kernel, purpose)).tolist()
        return self._source.choose(scores, [0.0] * len(scores), choice)


class HalfScale(OpenDPSource):
    """Noise at half the scale that the mechanism states."""

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        if isinstance(noise, DiscreteLaplace):
            noise = DiscreteLaplace(2 * noise.epsilon, noise.sensitivity)
        elif isinstance(noise, DiscreteGaussian):
            noise = DiscreteGaussian(4 * noise.rho, noise.sensitivity_squared)
        return super().perturb(sums, noise, threads)


class HalfScaleCurator(UnsoundCurator):
    def own_source(self) -> NoiseSource:
        return HalfScale()


class Seeded(NoiseSource):
    """Noise from a generator with a seed."""

    states = KNOWN_BAD

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        p = -np.expm1(-1 / noise.scale)
        drawn = self.rng.geometric(p, sums.shape) - self.rng.geometric(p, sums.shape)
        return np.asarray(sums + drawn)

    def choose(self, scores: Sequence[int], log_weights: Sequence[float], choice: Selection) -> int:
        raise NotImplementedError

    def choose_signs(
        self, differences: NDArray[np.int64], log_weights: NDArray[np.float64], choice: SignChoice
    ) -> tuple[int, NDArray[np.int64]]:
        raise NotImplementedError

    def choose_labels(
        self, counts: NDArray[np.int64], log_weights: NDArray[np.float64], choice: LabelingChoice
    ) -> tuple[int, NDArray[np.int64]]:
        raise NotImplementedError


class SeededCurator(UnsoundCurator):
    def __init__(self, *args: Any, seed: int | None = None, **kwargs: Any):
        self.seed = secrets.randbits(31) if seed is None else seed
        super().__init__(*args, **kwargs)

    def own_source(self) -> NoiseSource:
        return Seeded(self.seed)


class OccupiedCurator(UnsoundCurator):
    """Adds noise only to occupied cells; the others stay zero."""

    def noisy_counts(self, question: Any, share: Fraction, purpose: str) -> Release:
        noise = self.noise(question, share)
        exact = self.exact_counts(question, purpose)
        values, held = np.zeros_like(exact), exact > 0
        values[held] = self._source.perturb(exact[held], noise, 1)
        return Release(values, noise.variance)


class OtherUnitCurator(UnsoundCurator):
    """Spends as much rho as the budget has epsilon: a round that binds a number but no unit."""

    def noise(self, question: Any, share: Fraction) -> Noise:
        amount = share * self.budget.total
        if self.budget.unit == "epsilon":
            return DiscreteGaussian(amount, question.l2_squared)
        return DiscreteLaplace(amount, question.l1)


class FreeCurator(UnsoundCurator):
    """Adds hardly any noise where a question says that it needs none."""

    def noise(self, question: Any, share: Fraction) -> Noise:
        if question.l1:
            return super().noise(question, share)
        return DiscreteLaplace(10**6 * share * self.budget.total, 1)
