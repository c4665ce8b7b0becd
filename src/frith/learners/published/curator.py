"""The papers' own forms, for comparison: what they ask, at the noise they add.

A curator of this kind is made by `as_published=True` alone. It lets a learner see what its paper
lets it see, exact numbers included, and does not hold it to its budget; so what it releases
carries no guarantee, and says so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.curator import Curator, CuratorLike, Progress, Release
from frith.engines.base import Engine
from frith.kernels import Question, RecordCount, View, base_of
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee
from frith.privacy.mechanisms import DiscreteLaplace
from frith.privacy.sources import ExactSource, NoiseSource, default_source

AS_PUBLISHED = "as published: the paper's own form, which does not keep its claim"
_FIXED_POINT = 2**30


@dataclass(frozen=True)
class ExponentialChoice:
    """The exponential mechanism with weights exp(score / scale), as Gumbel noise draws it."""

    scale: float
    gumbel: bool = True

    def weighed(self, scores: Sequence[int], log_weights: Sequence[float]) -> list[int]:
        return [int(s) for s in scores]


class PublishedCurator:
    """Shows exact counts to whoever asks, and holds nobody to a budget. Promises nothing.

    Questions that a paper asks soundly go to a curator of the same budget.
    """

    receipt = None  # nothing is sold
    has_private_choices = True

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        *,
        progress: Progress | None = None,
        source: NoiseSource | None = None,
    ):
        self.domain, self.budget, self.is_exact = engine.domain, budget, budget.is_exact
        self._engine = engine
        self._source = source or (ExactSource() if budget.is_exact else default_source())
        self._progress = progress or (lambda purpose: None)
        self._sound = Curator(engine, budget, progress=progress, source=self._source)
        self.records_per_unit = self._sound.records_per_unit
        self.noisy_counts = self._sound.noisy_counts
        self.choose, self.choose_splits = self._sound.choose, self._sound.choose_splits
        self.choose_signs, self.choose_labels = self._sound.choose_signs, self._sound.choose_labels
        self.derive = self._sound.derive
        self._last: tuple[Any, NDArray[np.int64]] | None = None

    @property
    def remaining_share(self) -> Fraction:
        return self._sound.remaining_share

    @property
    def guarantee(self) -> Guarantee:
        return replace(self._sound.guarantee, epsilon=float("inf")).assuming(AS_PUBLISHED)

    def exact_counts(self, question: Question) -> NDArray[np.int64]:
        """What no learner should see."""
        kernel = base_of(question)
        if self._last is None or self._last[0] is not kernel:
            self._progress("exact")
            self._last = (kernel, self._engine.aggregate(kernel))
        sums = self._last[1]
        return question.take(sums) if isinstance(question, View) else sums

    def published_counts(self, question: Question, epsilon: Fraction) -> Release:
        """Counts with Laplace noise of scale 1 / epsilon, whatever their sensitivity is."""
        noise = DiscreteLaplace(epsilon, 1)
        values = self._source.perturb(self.exact_counts(question), noise, self._engine.threads)
        return Release(values, 0.0 if self.is_exact else noise.variance)

    def published_choice(self, utilities: Sequence[float], scale: float) -> int:
        """The exponential mechanism with weights exp(utility / scale)."""
        scores = [round(u * _FIXED_POINT) for u in utilities]
        choice = ExponentialChoice(scale * _FIXED_POINT)
        return self._source.choose(scores, [0.0] * len(scores), choice)

    def records(self, share: Fraction) -> int:
        """The exact number of records, uncharged."""
        return max(1, int(self.exact_counts(RecordCount())[0]))


def published(curator: CuratorLike) -> PublishedCurator:
    """The curator that a published form needs, or an error: no other one shows exact counts."""
    if not isinstance(curator, PublishedCurator):
        raise TypeError("as_published needs a PublishedCurator; call fit, which opens one")
    return curator
