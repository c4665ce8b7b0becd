"""Intervals hold as often as they say: against the exact laws of the noise, and on small counts."""

import math

import numpy as np
import pytest

from frith.forest.intervals import deviation, noise_factor, share_interval

CHANCES = (0.05, 0.01, 1e-3, 1e-5)


def laplace(epsilon, reach):
    """The law of whole-number noise P[k] ~ exp(-epsilon |k|), from -reach to reach."""
    weights = np.exp(-epsilon * np.abs(np.arange(-reach, reach + 1)))
    return weights / weights.sum()


def gauss(sigma, reach):
    weights = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * sigma**2))
    return weights / weights.sum()


def moments(law):
    k = np.arange(len(law)) - len(law) // 2
    return k, float(law @ k**2)


@pytest.mark.parametrize("chance", CHANCES)
@pytest.mark.parametrize("n_terms", [1, 2, 3, 8, 40])
def test_sums_of_noise_leave_the_margin_as_rarely_as_stated(chance, n_terms):
    t = noise_factor(chance)
    for epsilon in (9, 6, 5, 4, 3.5, 3, 2.5, 2.2, 2, 1.7, 1.5, 1.2, 1, 0.7, 0.5, 0.2, 0.1):
        law = laplace(epsilon, math.ceil(40 / epsilon))
        total = law
        for _ in range(n_terms - 1):
            total = np.convolve(total, law)
        k, variance = moments(total)
        out = total[np.abs(k) > t * deviation(np.array(variance), t)].sum()
        assert out <= chance, (epsilon, out)


@pytest.mark.parametrize("chance", CHANCES)
def test_gaussian_noise_leaves_it_more_rarely(chance):
    t = noise_factor(chance)
    for sigma in (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.5, 2, 10):
        k, variance = moments(law := gauss(sigma, math.ceil(20 * sigma + 5)))
        assert law[np.abs(k) > t * deviation(np.array(variance), t)].sum() <= chance


def test_the_factor_is_little_more_than_one_laplace_variable_needs():
    """And it can fail: the margin that fits Gaussian noise is too small for Laplace noise."""
    assert noise_factor(0.05) == pytest.approx(2.345, abs=0.01)
    assert noise_factor(1e-4) < 1.02 * math.log(1e4) / math.sqrt(2)
    law = laplace(0.1, 400)
    k, variance = moments(law)
    assert law[np.abs(k) > 3.29 * math.sqrt(variance)].sum() > 5 * 0.001


@pytest.mark.parametrize("counts", [(0, 3), (1, 1), (5, 0), (20, 2), (300, 100), (2, 3, 0, 40)])
@pytest.mark.parametrize("epsilon", [3, 1, 0.2])
def test_the_share_of_small_counts_is_covered(counts, epsilon):
    """All noises enumerated for two labels, drawn for four; the first label's share of all."""
    reach = math.ceil(14 / epsilon)
    law = laplace(epsilon, reach)
    k, variance = moments(law)
    m, factor = len(counts), noise_factor(0.05)
    if m == 2:
        first, second = np.meshgrid(k, k)
        weight = np.outer(law, law).ravel()
        noise = [first.ravel(), second.ravel()]
    else:
        rng = np.random.default_rng(0)
        noise = list(rng.choice(k, (m, 100_000), p=law))
        weight = np.full(100_000, 1e-5)
    noisy = [c + z for c, z in zip(counts, noise, strict=True)]
    v = np.full(len(weight), variance)
    low, high = share_interval(noisy[0], sum(noisy), v, 1, m, factor)
    truth = counts[0] / sum(counts)
    outside = weight[(truth < low - 1e-12) | (truth > high + 1e-12)].sum()
    assert outside <= 0.05 + 5e-6 + (0.003 if m > 2 else 0)


def test_without_noise_a_share_is_its_own_interval():
    low, high = share_interval(np.array([3.0]), np.array([4.0]), np.zeros(1), 1, 2, 5.0)
    assert low == pytest.approx(0.75)
    assert high == pytest.approx(0.75)


def test_nothing_is_claimed_of_a_share_of_noise():
    low, high = share_interval(np.array([9.0]), np.array([10.0]), np.array([200.0]), 1, 2, 2.3)
    assert (low, high) == (0, 1)
