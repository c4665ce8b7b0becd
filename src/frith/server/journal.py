"""A job's noisy answers, kept until it is done, so that a rerun repeats them and draws no others.

A worker may die after an analyst has seen how many passes its job had begun, and that number can
depend on noise. If a rerun drew new noise, two draws would be known of for one charge. So answers
are stored before the next pass is shown, and a rerun is given them again, in order: with the same
seed and the same answers a learner asks the same questions. Answers that were not stored had shown
in nothing, and are drawn anew. What is stored is releases, never an exact sum.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.curator import Curator, Progress
from frith.engines import Engine
from frith.privacy.budget import Budget
from frith.privacy.mechanisms import SignChoice
from frith.privacy.shares import GaussianShare, LaplaceShare
from frith.privacy.sources import Choice, Noise, Source


class JournaledSource:
    """Gives the stored answers first, then those of the source behind it."""

    def __init__(self, source: Source, stored: Sequence[Any] = ()):
        self._source, self._stored = source, list(stored)
        self._given = 0
        self._fresh: list[Any] = []

    def take_fresh(self) -> list[Any]:
        """The answers drawn since this was last asked; whoever asks stores them."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        if isinstance(noise, LaplaceShare | GaussianShare):  # no release yet, so never stored
            return self._source.perturb(sums, noise, threads)
        answer = self._next()
        if answer is None:
            values = self._source.perturb(sums, noise, threads)
            self._fresh.append(values.tolist())
            return values
        values = np.array(answer, dtype=np.int64).reshape(sums.shape)
        return values

    def choose(self, scores: Sequence[int], choice: Choice) -> int:
        answer = self._next()
        if answer is None:
            answer = self._source.choose(scores, choice)
            self._fresh.append(answer)
        if not 0 <= answer < len(scores):
            raise RuntimeError("the journal is not of this job")
        return int(answer)

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        answer = self._next()
        if answer is None:
            index, signs = self._source.choose_signs(differences, log_weights, choice)
            self._fresh.append([int(index), signs.tolist()])
            return index, signs
        index, signs = answer
        return int(index), np.array(signs, dtype=np.int64)

    def _next(self) -> Any:
        if self._given == len(self._stored):
            return None
        self._given += 1
        return self._stored[self._given - 1]


class JobCurator(Curator):
    """A curator whose answers are journaled; its charge was made when the job was started."""

    def __init__(self, engine: Engine, budget: Budget, stored: Sequence[Any], progress: Progress):
        super().__init__(engine, budget, progress=progress)
        self.journal = JournaledSource(self._source, stored)
        self._source = self.journal


def pack(data: Any) -> bytes:
    """JSON, compressed; the same data give the same bytes."""
    return zlib.compress(json.dumps(data, separators=(",", ":")).encode(), 6)


def unpack(packed: bytes) -> Any:
    return json.loads(zlib.decompress(packed))
