"""The papers' own forms, for comparison: what they ask, at the noise they add.

A curator of this kind is made by `as_published=True` alone. It lets a learner see what its paper
lets it see, exact numbers included, and does not hold it to its budget; so what it releases
carries no guarantee, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith.curator import Curator, Release
from frith.kernels import Kernel, RecordCount, View
from frith.privacy.guarantee import Guarantee
from frith.privacy.mechanisms import DiscreteLaplace

AS_PUBLISHED = "as published: the paper's own form, which does not keep its claim"
_FIXED_POINT = 2**30


@dataclass(frozen=True)
class ExponentialChoice:
    """The exponential mechanism with weights exp(score / scale), as Gumbel noise draws it."""

    scale: float
    unit: str = "rho"


class PublishedCurator(Curator):
    """A curator without its promises."""

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, epsilon=float("inf")).assuming(AS_PUBLISHED)

    def exact_counts(self, kernel: Kernel | View) -> NDArray[np.int64]:
        """What no learner should see."""
        if isinstance(kernel, View):
            return kernel.take(self._sums(kernel.base, "exact"))
        return self._sums(kernel, "exact")

    def published_counts(self, kernel: Kernel | View, epsilon: Fraction) -> Release:
        """Counts with Laplace noise of scale 1 / epsilon, whatever their sensitivity is."""
        noise = DiscreteLaplace(epsilon, 1)
        exact = self.exact_counts(kernel)
        values = self._source.perturb(exact, noise, self._engine.threads)
        return Release(values, 0.0 if self.is_exact else noise.variance)

    def published_choice(self, utilities: Sequence[float], scale: float) -> int:
        """The exponential mechanism with weights exp(utility / scale)."""
        scores = [round(u * _FIXED_POINT) for u in utilities]
        return self._source.choose(scores, ExponentialChoice(scale * _FIXED_POINT))

    def records(self, share: Fraction) -> int:
        """The exact number of records, uncharged."""
        return max(1, int(self.exact_counts(RecordCount())[0]))
