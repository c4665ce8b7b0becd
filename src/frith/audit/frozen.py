"""Frozen releases: a curator that returns invented answers and records the exact ones.

Only audits can freeze releases: no configuration reaches the classes below, and what they make
carries no guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.curator import Curator
from frith.engines.base import Engine
from frith.kernels import ColumnKernel, Kernel
from frith.privacy.budget import Budget
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import SignChoice
from frith.privacy.sources import Noise, NoiseSource, Selection

Invent = Callable[[int, tuple[int, ...]], NDArray[np.int64]]
"""Invents the release of question number i: integers of that shape, without looking at records."""

FROZEN = "releases frozen by an audit"


@dataclass(frozen=True)
class Exchange:
    """One question as the curator saw it: the exact numbers and the mechanism over them."""

    exact: NDArray[Any]
    mechanism: Noise | Selection | SignChoice | LabelingChoice
    weights: NDArray[np.float64] | None = None


@dataclass
class FrozenSource(NoiseSource):
    """Answers with invented releases and records the exact numbers they replace."""

    states = FROZEN

    invent: Invent
    exchanges: list[Exchange] = field(default_factory=list)

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        self.exchanges.append(Exchange(sums.copy(), noise))
        return self.invent(len(self.exchanges) - 1, sums.shape)

    def choose(self, scores: Sequence[int], log_weights: Sequence[float], choice: Selection) -> int:
        self.exchanges.append(Exchange(as_integers(choice.weighed(scores, log_weights)), choice))
        index = self.invent(len(self.exchanges) - 1, (1,))[0]
        return int(index % len(scores))

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        self.exchanges.append(Exchange(differences.copy(), choice, log_weights.copy()))
        n_questions, n_labels = differences.shape
        first, *rest = self.invent(len(self.exchanges) - 1, (1 + n_labels,))
        return int(first % n_questions), np.array(rest) % 3 - 1

    def choose_labels(
        self, counts: NDArray[np.int64], log_weights: NDArray[np.float64], choice: LabelingChoice
    ) -> tuple[int, NDArray[np.int64]]:
        self.exchanges.append(Exchange(counts.copy(), choice, log_weights.copy()))
        first, *rest = self.invent(len(self.exchanges) - 1, (1 + max(choice.parts),))
        place = int(first % len(choice.parts))
        return place, np.array(rest[: choice.parts[place]]) % counts.shape[1]


def as_integers(numbers: Sequence[int]) -> NDArray[Any]:
    """Keeps Python's integers: a flaw may produce numbers that 64 bits cannot hold."""
    return np.array(numbers, dtype=object)


class WatchedEngine(Engine):
    """Wraps an engine and records the kernels that it gets."""

    def __init__(self, engine: Engine):
        super().__init__(engine.domain, engine.threads)
        self.assumptions, self._engine = engine.assumptions, engine
        self.kernels: list[Kernel] = []

    def aggregate(self, kernel: Kernel) -> NDArray[np.int64]:
        self.kernels.append(kernel)
        return self._engine.aggregate(kernel)

    def derive(self, column: ColumnKernel) -> None:
        self._engine.derive(column)


OpenCurator = Callable[..., Any]
"""Opens a curator, sound or not: `open_curator(engine, budget, source=, progress=)`."""


def replay_curator(engine: Engine, budget: Budget, invent: Invent) -> Curator:
    """A curator whose releases are frozen. Its guarantee says so and promises nothing."""
    return Curator(engine, budget, source=FrozenSource(invent))


def arbitrary_releases(seed: int, spread: int = 50) -> Invent:
    """Releases drawn at random, a function of the question's number and shape alone."""

    def invent(i: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.random.default_rng((seed, i)).integers(
            -spread // 5, spread, shape, dtype=np.int64
        )

    return invent


def constant_releases(value: int) -> Invent:
    """Every released number is the same: all nodes large, or all empty."""

    def invent(i: int, shape: tuple[int, ...]) -> NDArray[np.int64]:
        return np.full(shape, value, dtype=np.int64)

    return invent
