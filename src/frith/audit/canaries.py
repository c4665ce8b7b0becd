"""One-run canaries: many records, each in the table or not by a coin, guessed from one forest.

Theorem (Steinke, Nasr and Jagielski 2023, Theorem 5.2)
    Let S in {-1, 1}^m be fair coins, and let a mechanism that is (epsilon, delta)-DP for one record
    added or removed be run on the records i with S_i = 1. Let T in {-1, 0, 1}^m be any function of
    its output that makes at most r guesses, 0 being none. Then, for every v,

        P[sum_i max(0, T_i S_i) >= v]  <=  f(v) + 2 m delta max over i in 1..m of (f(v - i) - f(v)) / i

    with f(v) = P[Binomial(r, e^epsilon / (1 + e^epsilon)) >= v].

Proof idea
    Given the output and the coins before it, a coin is Bayes-updated by a factor of at most e^epsilon
    either way, so each guess is right with a chance of at most e^epsilon / (1 + e^epsilon), whatever
    was learned from the others: the number of right guesses is stochastically dominated by a
    binomial. Delta lets a canary be right for free with a chance of at most delta on either side;
    spreading these best over all canaries gives the second term.

So an epsilon whose right-hand side, at the number of right guesses seen, is under 1 - confidence is
refuted; the bound is the largest refuted one. One fit is enough, so this rung suits large tables
and servers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.stats import binom

from frith.audit.outcomes import Outcome, Status
from frith.audit.sizes import Size
from frith.audit.subjects import Subject
from frith.domain import Categorical, Domain, Numeric
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_label
from frith.forest import Forest
from frith.forest.trees import find_leaf
from frith.privacy.budget import Budget

RUNG = "canaries"
CONFIDENCE = 0.95
FALSE_FAILURE = 1e-6
_MOST_EPSILON = 50.0


def p_value(m: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """The theorem's bound on the chance of at least this many right guesses under (epsilon, delta)-DP."""
    q = 1 / (1 + np.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, q))
    if not delta:
        return tail
    below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, q))  # f(v - i) - f(v)
    steepest = float(np.max(below / np.arange(1, right + 1), initial=0.0))
    return min(1.0, tail + 2 * m * delta * steepest)


def epsilon_bound(m: int, guesses: int, right: int, delta: float, confidence: float) -> float:
    """The largest epsilon that this many right guesses refute; 0 where they refute none."""
    low, high = 0.0, _MOST_EPSILON
    if p_value(m, guesses, right, 0.0, delta) >= 1 - confidence:
        return 0.0
    for _ in range(60):
        middle = (low + high) / 2
        if p_value(m, guesses, right, middle, delta) < 1 - confidence:
            low = middle
        else:
            high = middle
    return low


def canary_world(m: int, target: bool = False) -> tuple[Domain, pd.DataFrame]:
    """Canaries with a distinct value each, and all with the same label, or the largest number."""
    names = tuple(f"c{i}" for i in range(m))
    label = Numeric("label", 0, 1) if target else Categorical("label", ("no", "yes"))
    domain = Domain((Categorical("canary", names),), label, records=m // 2)
    return domain, pd.DataFrame({"canary": names, "label": 1.0 if target else "yes"})


def guess(scores: NDArray[np.float64], rng: np.random.Generator) -> NDArray[np.int64]:
    """1 for the quarter with the highest scores, -1 for the lowest; ties break at random."""
    order = np.lexsort((rng.random(len(scores)), scores))
    guesses, part = np.zeros(len(scores), dtype=np.int64), len(scores) // 4
    guesses[order[:part]], guesses[order[-part:]] = -1, 1
    return guesses


def audit_canaries(
    subject: Subject, budget: Budget, size: Size, seed: int | None = None
) -> Outcome:
    """One fit on about half of the canaries, and what its forest gives away about each."""
    domain, canaries = canary_world(size.canaries, subject.target)
    rng = np.random.default_rng(seed)
    inside = rng.random(len(canaries)) < 0.5
    _, forest = subject.fit(subject.open(canaries[inside], domain), budget)
    return audit_forest(forest, canaries, inside, budget, subject.name, rng)


def audit_forest(
    forest: Forest,
    canaries: pd.DataFrame,
    inside: NDArray[np.bool_],
    budget: Budget,
    name: str = "forest",
    rng: np.random.Generator | None = None,
) -> Outcome:
    """What a forest from anywhere, such as a server, gives away about canaries (labelled records).

    A fair coin for each, which only the auditor knows, put it `inside` the table or left it out. The
    table may hold any other records; canaries with unique values show the most.
    """
    if not len(canaries):
        return Outcome(RUNG, name, Status.NOT_CHECKED, "there are no canaries to guess about")
    guesses = guess(_scores(forest, canaries), rng or np.random.default_rng())
    made = int(np.abs(guesses).sum())
    right = int(np.sum((guesses == 1) & inside) + np.sum((guesses == -1) & ~inside))
    m, delta = len(canaries), float(budget.delta)
    shown = epsilon_bound(m, made, right, delta, CONFIDENCE)
    sure = epsilon_bound(m, made, right, delta, 1 - FALSE_FAILURE)
    text = f"{right:,} of {made:,} guesses about {m:,} canaries were right: at least {shown:.3f}"
    status = Status.of(sure > budget.epsilon)
    return Outcome(RUNG, name, status, text, shown, CONFIDENCE)


def _scores(forest: Forest, canaries: pd.DataFrame) -> NDArray[np.float64]:
    """What a canary's leaves release for its label, over all trees; nothing for an unknown label.

    For a number, what they predict: with the canary it is larger than without.
    """
    codes, trees = forest.encode(canaries, threads=1), forest.trees
    label = forest.domain.label
    labels = encode_label(columns_of(canaries)[0](label.name), label)
    values: NDArray[Any] = forest.values[trees.leaves]
    leaf_of = [[find_leaf(codes, i, r, trees.nodes, trees.sets) for r in trees.roots]
               for i in range(len(codes))]  # fmt: skip
    column = np.zeros_like(labels) if forest.domain.has_target else np.maximum(labels, 0)
    told = values[np.array(leaf_of), column[:, None]].sum(axis=1)
    return np.asarray(np.where(labels < 0, 0.0, told), dtype=np.float64)
