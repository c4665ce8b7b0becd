"""Posterior means of cells against a direct solution, and what they do with noise."""

import numpy as np
import pytest
from scipy.special import softmax

from frith.growing import cell_means as module
from frith.growing.cell_means import cell_means

ALIKE = [np.array([[1.0, 0.2, -1.0], [0.2, 1.0, 0.1], [-1.0, 0.1, 1.0]]), np.eye(3)]


def naive(sums, sizes, variance):
    """Every prior by itself: E[v | sums] for sums = sizes v + noise, weighed by its evidence."""
    evidence, means, slopes = [], [], []
    for spread in module._SPREADS:
        for r in module._INTERACTIONS:
            for v in module._VARIANCES:
                prior = v * (((1 + r * ALIKE[0]) * (1 + r * ALIKE[1]) - 1) / r + 0.5)
                own = np.diag(variance + sizes * spread + 1e-9)
                total = sizes[:, None] * prior * sizes + own
                fit = sums @ np.linalg.solve(total, sums)
                evidence.append(-0.5 * (np.linalg.slogdet(total)[1] + fit))
                slopes.append((prior * sizes) @ np.linalg.inv(total))
                means.append(slopes[-1] @ sums)
    weights = softmax(evidence)
    slope = sum(w * s for w, s in zip(weights, slopes, strict=True) if w > module._FAINT)
    return weights @ np.array(means), variance * (slope**2).sum(axis=1)


@pytest.mark.parametrize("variance", [0.0, 3.0, 400.0])
def test_values_equal_the_direct_solution(variance):
    rng = np.random.default_rng(0)
    for _ in range(20):
        sizes = rng.uniform(1, 200, 3)
        sums = sizes * rng.normal(0, 0.4, 3)
        values, noise = cell_means(sums, sizes, variance, ALIKE)
        expected, expected_noise = naive(sums, sizes, variance)
        assert values == pytest.approx(expected, abs=1e-6)
        assert noise == pytest.approx(expected_noise, abs=1e-6)


def test_noise_pulls_values_to_zero():
    sums, sizes = np.array([50.0, -20.0, 10.0]), np.full(3, 100.0)
    pulled = [np.abs(cell_means(sums, sizes, v, ALIKE)[0]).max() for v in (0, 100, 10**4, 10**7)]
    assert pulled[0] == pytest.approx(0.5, abs=0.05)
    assert np.all(np.diff(pulled) < 0)
    assert pulled[-1] < 0.01


def test_one_cell_needs_no_likeness():
    values, _ = cell_means(np.array([30.0]), np.array([100.0]), 0.0, [])
    assert values == pytest.approx([0.3], abs=0.05)
