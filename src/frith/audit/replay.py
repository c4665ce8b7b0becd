"""Replay: run a learner on two neighbors with the *same* releases and add up what they differ by.

With releases frozen, everything a learner does is a function of public facts, so both runs must ask
the same questions in the same order and end in the same forest. What may differ are the exact
numbers behind the releases. Their distances, each in the norm and at the scale of the mechanism
that would have hidden them, add up to the privacy loss of this pair; it must stay within the
budget. Because all questions are added up, a record that is counted twice shows, even where each
question alone looks right.

Frozen releases are for audits only: they are set by `ReplayCurator`, which nothing in a
configuration reaches, and what it makes carries no guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.curator import Curator
from frith.engines.base import Engine
from frith.forest import Forest
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, SignChoice
from frith.privacy.shares import GaussianShare, LaplaceShare
from frith.privacy.sources import Choice, Noise

Invent = Callable[[int, tuple[int, ...]], NDArray[np.int64]]
"""Makes the release of question number i: any integers of that shape, blind to the records."""


class Learner(Protocol):
    """What can be replayed: anything that learns from a curator."""

    def learn(self, curator: Curator) -> Forest: ...


@dataclass(frozen=True)
class Exchange:
    """One question as the curator saw it: the exact numbers and the mechanism over them."""

    exact: NDArray[np.int64]
    mechanism: Noise | Choice | SignChoice


@dataclass
class FrozenSource:
    """Answers with invented releases and writes down the exact numbers they stand for."""

    invent: Invent
    exchanges: list[Exchange] = field(default_factory=list)

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        self.exchanges.append(Exchange(sums.copy(), noise))
        return self.invent(len(self.exchanges) - 1, sums.shape)

    def choose(self, scores: Sequence[int], choice: Choice) -> int:
        self.exchanges.append(Exchange(np.array(scores, dtype=np.int64), choice))
        index = self.invent(len(self.exchanges) - 1, (1,))[0]
        return int(index % len(scores))

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        self.exchanges.append(Exchange(differences.copy(), choice))
        n_questions, n_labels = differences.shape
        first, *rest = self.invent(len(self.exchanges) - 1, (1 + n_labels,))
        return int(first % n_questions), np.array(rest) % 3 - 1


class ReplayCurator(Curator):
    """A curator whose releases are frozen. Its guarantee says so and promises nothing."""

    def __init__(self, engine: Engine, budget: Budget, invent: Invent):
        super().__init__(engine, budget)
        self.frozen = FrozenSource(invent)
        self._source = self.frozen

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, epsilon=float("inf")).assuming(
            "releases frozen by an audit"
        )


@dataclass(frozen=True)
class Replay:
    """What a pair of neighbors showed: the loss it adds up to, against the budget, in one unit."""

    loss: Fraction
    budget: Fraction
    unit: str
    differences: tuple[str, ...]

    @property
    def holds(self) -> bool:
        """The loss is within the budget and nothing public differs between the two runs."""
        return self.loss <= self.budget and not self.differences


def replay(
    learner: Learner, table: Engine, neighbor: Engine, budget: Budget, invent: Invent
) -> Replay:
    """Replay `learner` on two neighboring tables under the same invented releases."""
    curators = [ReplayCurator(engine, budget, invent) for engine in (table, neighbor)]
    forests = [learner.learn(curator) for curator in curators]
    first, second = (c.frozen.exchanges for c in curators)
    pairs = list(zip(first, second, strict=False))
    differences = [name for name, same in _public_parts(forests, first, second) if not same]
    return Replay(
        sum((_loss(a, b) for a, b in pairs if a.exact.shape == b.exact.shape), Fraction(0)),
        budget.total,
        budget.unit,
        tuple(differences),
    )


def arbitrary_releases(seed: int, spread: int = 50) -> Invent:
    """Releases drawn at random, a function of the question's number and shape alone."""

    def invent(i: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.random.default_rng((seed, i)).integers(
            -spread // 5, spread, shape, dtype=np.int64
        )

    return invent


def _public_parts(forests: list[Forest], first: Any, second: Any) -> list[tuple[str, bool]]:
    return [
        ("the number of questions", len(first) == len(second)),
        (
            "the shapes of the questions",
            [e.exact.shape for e in first] == [e.exact.shape for e in second],
        ),
        ("the mechanisms", [e.mechanism for e in first] == [e.mechanism for e in second]),
        ("the forest", forests[0] == forests[1]),
    ]


def _loss(a: Exchange, b: Exchange) -> Fraction:
    """The loss of one question, in its mechanism's own norm, exactly."""
    change = a.exact.astype(object) - b.exact.astype(object)
    scale = Fraction(a.mechanism.scale)
    if isinstance(a.mechanism, DiscreteLaplace | LaplaceShare):
        return Fraction(int(np.abs(change).sum())) / scale
    if isinstance(a.mechanism, SignChoice):
        most = int(np.abs(change).sum(axis=1).max())  # each question's signs may be as they like
        spread = Fraction(2 * most) / scale + 4 * SignChoice.SLACK
        return spread if a.mechanism.unit == "epsilon" else spread**2 / 8
    if isinstance(a.mechanism, GaussianShare):
        return Fraction(int((change**2).sum())) / (2 * a.mechanism.honest * scale**2)
    if not isinstance(a.mechanism, DiscreteGaussian):
        spread = Fraction(int(change.max()) - int(change.min())) / scale
        return spread if a.mechanism.unit == "epsilon" else spread**2 / 8
    return Fraction(int((change**2).sum())) / (2 * scale**2)
