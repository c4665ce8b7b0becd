"""Statistical tests with a stated chance of failing a correct build."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import chi2

FALSE_FAILURE = 1e-9
"""At most this chance that a correct build fails an assertion on random draws."""


def fits_law(draws: np.ndarray, log_law: Callable[[np.ndarray], np.ndarray]) -> bool:
    """Pearson's chi-squared test of integer draws against a law, at level `FALSE_FAILURE`.

    Values are pooled from the tails inwards until every bin expects at least 25 draws, where the
    chi-squared approximation is good enough for levels this small.
    """
    reach = int(max(np.abs(draws).max(), 1))
    values = np.arange(-reach, reach + 1)
    expected = np.exp(log_law(values)) * len(draws)
    observed = np.bincount(draws + reach, minlength=len(values)).astype(float)
    edges = _pool(expected, least=25)
    e = np.add.reduceat(expected, edges)
    o = np.add.reduceat(observed, edges)
    e *= len(draws) / e.sum()
    statistic = np.sum((o - e) ** 2 / e)
    return bool(chi2.sf(statistic, len(e) - 1) >= FALSE_FAILURE)


def _pool(expected: np.ndarray, least: float) -> list[int]:
    edges, mass = [0], 0.0
    for i, value in enumerate(expected):
        if mass >= least and expected[i:].sum() >= least:
            edges.append(i)
            mass = 0.0
        mass += value
    return edges
