"""What epsilon allows an attacker, and whether an attack got more.

Every bound below follows from the definition: with x in the table or not, every event is within a factor of
e^epsilon as likely (delta 0). Membership is decided by independent fair coins, one a record, so that this
is the question that each guess answers.

- true positives <= e^epsilon x false positives, at every threshold, for every record
- advantage, true less false positives: at most (e^epsilon - 1) / (e^epsilon + 1)
- of r guesses by one forest, at most Binomial(r, e^epsilon / (e^epsilon + 1)) are right (Steinke, Nasr and
  Jagielski 2023): each guess is right with no larger chance, whatever the others are
- an attribute of one record that has prior chance p, all other records known: at most
  p e^2epsilon / (p e^2epsilon + 1 - p), since another value is one record removed and one added
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

FALSE_ALARM = 1e-3
"""The chance that an attack on a forest that keeps its word is said to have got too much."""


def largest_advantage(epsilon: float) -> float:
    """The most that true positives can exceed false positives."""
    return math.tanh(epsilon / 2)


def largest_accuracy(epsilon: float) -> float:
    """The most that a guess about membership can be right, after a fair coin."""
    return 1 / (1 + math.exp(-epsilon)) if epsilon < 700 else 1.0


def largest_inference(prior: float, epsilon: float) -> float:
    """The most that a guess about one record's attribute can be right, all other records known."""
    return 1 / (1 + (1 - prior) / prior * math.exp(-2 * epsilon)) if epsilon < 350 else 1.0


@dataclass(frozen=True)
class Verdict:
    """Guesses and how many were right, the most that epsilon allows, and the epsilon they show at least."""

    guesses: int
    right: int
    allowed: int
    at_least: float

    @property
    def beats(self) -> bool:
        return self.right > self.allowed


def judge(members: NDArray[np.bool_], scores: NDArray[np.float64], epsilon: float) -> Verdict:
    """Guess the half with the highest scores in, the others out; ties are broken by a coin.

    The order of scores must not depend on who is a member, and neither does the number of guesses.
    """
    rng = np.random.default_rng(0)
    order = np.lexsort([rng.random(len(scores)), scores])
    guess = np.zeros(len(scores), dtype=bool)
    guess[order[len(order) // 2 :]] = True
    right = int(np.sum(guess == members))
    chance = largest_accuracy(epsilon)
    allowed = len(scores) if chance >= 1 else int(binom.isf(FALSE_ALARM, len(scores), chance))
    return Verdict(len(scores), right, allowed, epsilon_shown(right, len(scores)))


def epsilon_shown(right: int, guesses: int) -> float:
    """The largest epsilon at which so many right guesses would still be a false alarm."""
    low, high = 0.0, 40.0
    if binom.sf(right - 1, guesses, 0.5) > FALSE_ALARM:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        surprising = binom.sf(right - 1, guesses, largest_accuracy(middle)) <= FALSE_ALARM
        low, high = (middle, high) if surprising else (low, middle)
    return low


def roc(members: NDArray[np.bool_], scores: NDArray[np.float64]) -> dict[str, float]:
    """AUC, the best advantage at any threshold, and true positives at a false positive in 100 and in 10."""
    from sklearn.metrics import roc_auc_score, roc_curve

    false, true, _ = roc_curve(members, scores)
    at = {f"tpr_at_{f:g}": float(np.max(true[false <= f])) for f in (0.01, 0.1)}
    return {
        "auc": float(roc_auc_score(members, scores)),
        "advantage": float(np.max(true - false)),
    } | at
