"""Frozen releases: a curator that answers what an audit invents and writes down what it hid.

Releases can be frozen by audits only: nothing in a configuration reaches the classes below, and
what they make carries no guarantee.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.curator import Curator
from frith.engines.base import Engine
from frith.kernels import Kernel
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee
from frith.privacy.mechanisms import SignChoice
from frith.privacy.sources import Choice, Noise

Invent = Callable[[int, tuple[int, ...]], NDArray[np.int64]]
"""Makes the release of question number i: any integers of that shape, blind to the records."""

FROZEN = "releases frozen by an audit"


@dataclass(frozen=True)
class Exchange:
    """One question as the curator saw it: the exact numbers and the mechanism over them."""

    exact: NDArray[np.int64]
    mechanism: Noise | Choice | SignChoice
    weights: NDArray[np.float64] | None = None


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
        self.exchanges.append(Exchange(differences.copy(), choice, log_weights.copy()))
        n_questions, n_labels = differences.shape
        first, *rest = self.invent(len(self.exchanges) - 1, (1 + n_labels,))
        return int(first % n_questions), np.array(rest) % 3 - 1


class Frozen(Curator):
    """What a frozen curator is beside its kind: it says so, and remembers the kernels it asked."""

    frozen: FrozenSource
    kernels: list[Kernel]

    def _sums(self, kernel: Kernel, purpose: str) -> NDArray[np.int64]:
        if not any(known is kernel for known in self.kernels):
            self.kernels.append(kernel)
        return super()._sums(kernel, purpose)

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, epsilon=float("inf")).assuming(FROZEN)


class ReplayCurator(Frozen):
    """A curator whose releases are frozen. Its guarantee says so and promises nothing."""

    def __init__(self, engine: Engine, budget: Budget, invent: Invent):
        super().__init__(engine, budget)
        self.frozen, self.kernels = FrozenSource(invent), []
        self._source = self.frozen


def freeze(
    kind: type[Curator],
    engine: Engine,
    budget: Budget,
    source: FrozenSource,
    progress: Callable[[str], None],
) -> Frozen:
    """A curator of some kind, sound or not, with `source` in the place of its noise."""
    made: Any = type(f"Frozen{kind.__name__}", (Frozen, kind), {})
    curator: Frozen = made(engine, budget, progress=progress)
    curator.frozen, curator.kernels = source, []
    curator._source = source
    return curator


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
