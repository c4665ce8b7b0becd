"""Random stopping under audit: exact laws of small worlds, and a search that reveals too much.

`LosersKept` is a known flaw: it keeps the number of runs and the scores of those that lost, as
`cv_results_` would. The package offers nothing of this.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from frith.privacy.stopping import RandomStopping

RunLaw = Mapping[tuple[int, Any], float]
"""The probability of each (score, result) of one run."""


def best_law(run: RunLaw, stopping: RandomStopping) -> dict[tuple[int, Any], float]:
    """The exact law of what random stopping releases.

    The best score is s with probability f(p + q) - f(q), where f(x) = E[x^K]; see `privacy.stopping`.
    """
    scores = sorted({score for score, _ in run})
    of_score = {s: math.fsum(p for (t, _), p in run.items() if t == s) for s in scores}
    law, below = {}, 0.0
    for s in scores:
        best = _generating(below + of_score[s], stopping) - _generating(below, stopping)
        for (t, result), p in run.items():
            if t == s:
                law[t, result] = best * p / of_score[s]
        below += of_score[s]
    return law


def largest_loss(law: Mapping[Any, float], neighbor: Mapping[Any, float]) -> float:
    """The largest logarithm of a ratio of probabilities, either way round."""
    return max(abs(math.log(law[y] / neighbor[y])) for y in law)


def told_loss(run: RunLaw, neighbor: RunLaw, k: int) -> float:
    """The largest loss of the best run if the number of runs, k, is known."""
    return largest_loss(_best_of_known(run, k), _best_of_known(neighbor, k))


def _best_of_known(run: RunLaw, k: int) -> dict[int, float]:
    scores = sorted({score for score, _ in run})
    law, below = {}, 0.0
    for s in scores:
        p = math.fsum(p for (t, _), p in run.items() if t == s)
        law[s] = (below + p) ** k - below**k
        below += p
    return law


def _generating(x: float, stopping: RandomStopping) -> float:
    eta, gamma = float(stopping.eta), float(stopping.gamma)
    rest = 1 - (1 - gamma) * min(1.0, x)
    if eta == 0:
        return math.log(rest) / math.log(gamma)
    return (rest**-eta - 1) / (gamma**-eta - 1)


class LosersKept:
    """A known flaw: the best of a random number of runs, together with how the others did."""

    def best_of(
        self, stopping: RandomStopping, run: Callable[[], tuple[int, Any]]
    ) -> tuple[Any, int, float]:
        """The best, the number of runs, and their mean score."""
        runs = [run() for _ in range(stopping.draw())]
        best = max(runs, key=lambda found: found[0])
        return best[1], len(runs), float(np.mean([score for score, _ in runs]))
