"""What stands behind the curator's noise: exact draws of our own, OpenDP, or nothing in the exact limit.

A journal repeats the answers of a run that died. One more source, frozen releases, lives with the
audits. None of them can be seeded: all draw from the operating system's entropy.
"""

from __future__ import annotations

import contextlib
import functools
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.privacy import choice_draws, gaussian_draws, laplace_draws
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import (
    DiscreteGaussian,
    DiscreteLaplace,
    PrivateChoice,
    SignChoice,
)
from frith.privacy.polya import draw_shares
from frith.privacy.shares import GaussianShare, LaplaceShare

Noise = DiscreteLaplace | DiscreteGaussian | LaplaceShare | GaussianShare
_SLICE = 4_096  # integers drawn per OpenDP call; it releases the GIL, so slices run on all threads
_ENDS = np.iinfo(np.int64)
_BULK = 1 << 16  # integers drawn by our own loops at a time


class Selection(Protocol):
    """What a source needs to know of a choice: noisy max at a scale, by Gumbel noise or not."""

    @property
    def scale(self) -> float: ...

    @property
    def gumbel(self) -> bool: ...

    def weighed(self, scores: Sequence[int], log_weights: Sequence[float]) -> list[int]: ...


class NoiseSource(ABC):
    """Turns exact integers into a release. A curator takes no other object in this place.

    `states` is None where releases keep what their mechanisms claim; otherwise it says why a
    guarantee over this source promises nothing.
    """

    states: str | None = "releases of an unknown source"

    @abstractmethod
    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        """The sums with noise."""

    @abstractmethod
    def choose(self, scores: Sequence[int], log_weights: Sequence[float], choice: Selection) -> int:
        """The place of one candidate."""

    @abstractmethod
    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        """The place of one candidate, and a sign or nothing for every label."""

    @abstractmethod
    def choose_labels(
        self,
        counts: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: LabelingChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        """The place of one partition, and a label for each of its parts."""


class OpenDPSource(NoiseSource):
    """OpenDP's exact samplers: the reference."""

    states = None

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        if isinstance(noise, LaplaceShare) and noise.honest > 1:
            return np.asarray(sums + draw_shares(noise, sums.size).reshape(sums.shape))
        is_laplace = isinstance(noise, DiscreteLaplace | LaplaceShare)
        measurement = _noise_measurement(is_laplace, noise.scale)
        flat = np.ascontiguousarray(sums, dtype=np.int64).reshape(-1)
        slices = [flat[i : i + _SLICE] for i in range(0, len(flat), _SLICE)]
        parts = _mapped(measurement, slices, threads)
        noisy = np.array([v for part in parts for v in part], dtype=np.int64)
        return noisy.reshape(sums.shape)

    def choose(self, scores: Sequence[int], log_weights: Sequence[float], choice: Selection) -> int:
        scale = choice.scale
        return self._pick(_weighed(scores, log_weights, choice, scale), scale, choice.gumbel)

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        """The question by its weight, then each label's sign by its own."""
        weights = np.array(choice.fixed_weights(differences, log_weights), dtype=np.int64)
        question = self._pick(weights, float(choice.POINT), True)
        scores = np.array([[-d, 0, d] for d in differences[question].tolist()], dtype=np.int64)
        signs = [self._pick(row, choice.scale, True) - 1 for row in scores]
        return question, np.array(signs, dtype=np.int64)

    def choose_labels(
        self,
        counts: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: LabelingChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        """The partition by its weight, then each part's label by its own."""
        weights = np.array(choice.fixed_weights(counts, log_weights), dtype=np.int64)
        place = self._pick(weights, float(choice.point), True)
        rows = np.array(counts[choice.rows_of(place)], dtype=np.int64)
        labels = [self._pick(row, choice.scale, True) for row in rows]
        return place, np.array(labels, dtype=np.int64)

    def _pick(self, scores: NDArray[np.int64], scale: float, exponential: bool) -> int:
        """One candidate by the exponential mechanism, which Gumbel noise draws, or permute-and-flip."""
        return int(_choice_measurement(exponential, scale)(scores))


class BulkSource(OpenDPSource):
    """Our own draws of the same laws, many times as fast; OpenDP's for scales that they do not fit."""

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        is_laplace = isinstance(noise, DiscreteLaplace | LaplaceShare)
        draws = laplace_draws if is_laplace else gaussian_draws
        is_share = isinstance(noise, LaplaceShare) and noise.honest > 1
        if is_share or not draws.fits(noise.scale):
            return super().perturb(sums, noise, threads)
        counts = [min(_BULK, sums.size - i) for i in range(0, sums.size, _BULK)]
        parts = _mapped(lambda n: draws.draw(noise.scale, n), counts, threads)
        drawn = np.concatenate([np.empty(0, dtype=np.int64), *parts]).reshape(sums.shape)
        return _add_saturated(np.asarray(sums, dtype=np.int64), drawn)

    def _pick(self, scores: NDArray[np.int64], scale: float, exponential: bool) -> int:
        if not choice_draws.fits(scale):
            return super()._pick(scores, scale, exponential)
        draw = choice_draws.exponential if exponential else choice_draws.permute_and_flip
        return draw(scores, scale)


def default_source() -> NoiseSource:
    """What a curator draws with; `FRITH_NOISE=opendp` leaves all of it to OpenDP."""
    return OpenDPSource() if os.environ.get("FRITH_NOISE") == "opendp" else BulkSource()


class ExactSource(NoiseSource):
    """No noise: the deterministic limit, for tests and non-private references."""

    states = None  # its budget is infinite, and says so

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        return sums.copy()  # the curator may keep its own for further questions

    def choose(self, scores: Sequence[int], log_weights: Sequence[float], choice: Selection) -> int:
        return int(np.argmax(np.asarray(scores, dtype=object)))

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        question = int(np.argmax(np.abs(differences).sum(axis=1)))
        return question, np.sign(differences[question])

    def choose_labels(
        self,
        counts: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: LabelingChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        right = np.add.reduceat(counts.max(axis=1), choice.starts)
        place = int(np.argmax(right))
        return place, counts[choice.rows_of(place)].argmax(axis=1)


class JournaledSource(NoiseSource):
    """Repeats the answers of an earlier run, then gives those of the source behind it.

    Answers to masked questions are no releases, so they are neither stored nor repeated.
    """

    def __init__(self, source: NoiseSource, stored: Sequence[Any] = ()):
        self._source, self._stored = source, list(stored)
        self._given = 0
        self._fresh: list[Any] = []

    @property
    def states(self) -> str | None:  # type: ignore[override]
        return self._source.states

    def take_fresh(self) -> list[Any]:
        """The answers drawn since this was last asked; whoever asks stores them."""
        fresh, self._fresh = self._fresh, []
        return fresh

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        if isinstance(noise, LaplaceShare | GaussianShare):
            return self._source.perturb(sums, noise, threads)
        answer = self._answer(lambda: self._source.perturb(sums, noise, threads).tolist())
        values = np.array(answer, dtype=np.int64)
        _check_journal(values.shape == sums.shape)
        return values

    def choose(self, scores: Sequence[int], log_weights: Sequence[float], choice: Selection) -> int:
        place = self._answer(lambda: self._source.choose(scores, log_weights, choice))
        _check_journal(type(place) is int and 0 <= place < len(scores))
        return int(place)

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        def draw() -> list[Any]:
            place, signs = self._source.choose_signs(differences, log_weights, choice)
            return [int(place), signs.tolist()]

        answer = self._answer(draw)
        _check_journal(type(answer) is list and len(answer) == 2)
        place, signs = answer[0], np.array(answer[1], dtype=np.int64)
        _check_journal(0 <= place < len(differences) and signs.shape == differences.shape[1:])
        return int(place), signs

    def choose_labels(
        self,
        counts: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: LabelingChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        def draw() -> list[Any]:
            place, labels = self._source.choose_labels(counts, log_weights, choice)
            return [int(place), labels.tolist()]

        answer = self._answer(draw)
        _check_journal(type(answer) is list and len(answer) == 2)
        place, labels = answer[0], np.array(answer[1], dtype=np.int64)
        _check_journal(type(place) is int and 0 <= place < len(choice.parts))
        _check_journal(labels.shape == (choice.parts[place],))
        _check_journal(bool(np.all((labels >= 0) & (labels < counts.shape[1]))))
        return place, labels

    def _answer(self, draw: Callable[[], Any]) -> Any:
        """The next stored answer; after the last one, a new one, to be stored."""
        if self._given < len(self._stored):
            self._given += 1
            return self._stored[self._given - 1]
        self._fresh.append(draw())
        return self._fresh[-1]


def _check_journal(fits: bool) -> None:
    if not fits:
        raise RuntimeError("the journal is not of this job")


def _weighed(
    scores: Sequence[int], log_weights: Sequence[float], choice: Selection, scale: float
) -> NDArray[np.int64]:
    """What `choice.weighed` gives, in 64 bits throughout where they provably suffice.

    Scores are cut off at 2^61, and a float is rounded to the nearest integer, the even one of two,
    and converted without loss: with |scale w| at most 2^61 no sum is past 2^62.
    """
    if type(choice) is PrivateChoice:
        with contextlib.suppress(OverflowError):  # a score past 64 bits
            cut_off = np.clip(np.array(scores, dtype=np.int64), -choice.LIMIT, choice.LIMIT)
            bonus = np.rint(scale * np.array(log_weights, dtype=np.float64))
            if np.all(np.abs(bonus) <= choice.LIMIT):
                return np.asarray(cut_off + bonus.astype(np.int64))
    return np.array(choice.weighed(scores, log_weights), dtype=np.int64)


def _add_saturated(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """The sum, or the end of 64 bits that it is beyond."""
    with np.errstate(over="ignore"):
        total = a + b
    wrapped = ((a ^ total) & (b ^ total)) < 0
    return np.where(wrapped, np.where(a < 0, _ENDS.min, _ENDS.max), total)


def _mapped(draw: Callable[[Any], Any], parts: Sequence[Any], threads: int) -> list[Any]:
    if len(parts) < 2:  # a thread takes longer to start than a few numbers to draw
        return [draw(part) for part in parts]
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        return list(pool.map(draw, parts))


@functools.lru_cache(maxsize=64)
def _noise_measurement(is_laplace: bool, scale: float) -> Any:
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance

    numbers = _numbers()
    if is_laplace:
        return make_laplace(numbers, l1_distance(T="i64"), scale=scale)
    return make_gaussian(numbers, l2_distance(T="f64"), scale=scale)


@functools.lru_cache(maxsize=64)
def _choice_measurement(gumbel: bool, scale: float) -> Any:
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence, zero_concentrated_divergence
    from opendp.metrics import linf_distance

    measure = zero_concentrated_divergence() if gumbel else max_divergence()
    distance = linf_distance(T="i64", monotonic=True)
    return make_noisy_max(_numbers(), distance, measure, scale=scale)


def _numbers() -> Any:
    """OpenDP's domain of whole numbers. Its modules one by one: all of them take a second to import."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.mod import enable_features

    enable_features("contrib")
    return vector_domain(atom_domain(T="i64"))
