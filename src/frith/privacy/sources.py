"""What stands behind the curator's noise: OpenDP, or nothing in the exact limit.

A third source, frozen releases, lives with the audits and is handed to a curator by tests alone.
None of them can be seeded: OpenDP draws from the operating system's entropy.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, SignChoice
from frith.privacy.polya import draw_shares
from frith.privacy.shares import GaussianShare, LaplaceShare

Noise = DiscreteLaplace | DiscreteGaussian | LaplaceShare | GaussianShare
_SLICE = 4_096  # integers drawn per OpenDP call; it releases the GIL, so slices run on all threads


class Choice(Protocol):
    """What a source needs to know of a choice: noisy max at a scale, by the law of a unit."""

    @property
    def scale(self) -> float: ...

    @property
    def unit(self) -> str: ...


class Source(Protocol):
    """Turns exact integers into a release."""

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]: ...

    def choose(self, scores: Sequence[int], choice: Choice) -> int: ...

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]: ...


class OpenDPSource:
    """Exact samplers with the operating system's entropy."""

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

    def choose(self, scores: Sequence[int], choice: Choice) -> int:
        return int(_choice_measurement(choice.unit, choice.scale)([int(s) for s in scores]))

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        """The question by its weight, then each label's sign by its own: Gumbel noise for both."""
        weights = choice.fixed_weights(differences, log_weights)
        question = int(_choice_measurement("rho", float(choice.POINT))(weights))
        coin = _choice_measurement("rho", choice.scale)
        signs = [int(coin([-d, 0, d])) - 1 for d in differences[question].tolist()]
        return question, np.array(signs, dtype=np.int64)


class ExactSource:
    """No noise: the deterministic limit, for tests and non-private references."""

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        return sums

    def choose(self, scores: Sequence[int], choice: Choice) -> int:
        return int(np.argmax(np.asarray(scores, dtype=object)))

    def choose_signs(
        self,
        differences: NDArray[np.int64],
        log_weights: NDArray[np.float64],
        choice: SignChoice,
    ) -> tuple[int, NDArray[np.int64]]:
        question = int(np.argmax(np.abs(differences).sum(axis=1)))
        return question, np.sign(differences[question])


def _mapped(measurement: Any, slices: list[NDArray[np.int64]], threads: int) -> list[Any]:
    if len(slices) < 2:  # a thread takes longer to start than a few numbers to draw
        return [measurement(part) for part in slices]
    with ThreadPoolExecutor(max_workers=max(1, threads)) as pool:
        return list(pool.map(measurement, slices))


@functools.lru_cache(maxsize=64)
def _noise_measurement(is_laplace: bool, scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    domain = dp.vector_domain(dp.atom_domain(T="i64"))
    if is_laplace:
        return dp.m.make_laplace(domain, dp.l1_distance(T="i64"), scale=scale)
    return dp.m.make_gaussian(domain, dp.l2_distance(T="f64"), scale=scale)


@functools.lru_cache(maxsize=64)
def _choice_measurement(unit: str, scale: float) -> Any:
    import opendp.prelude as dp

    dp.enable_features("contrib")
    measure = dp.max_divergence() if unit == "epsilon" else dp.zero_concentrated_divergence()
    return dp.m.make_noisy_max(
        dp.vector_domain(dp.atom_domain(T="i64")),
        dp.linf_distance(T="i64", monotonic=True),
        measure,
        scale=scale,
    )
