"""A lower bound on epsilon from outcomes alone: the best event on one half, its ratio on the other.

Claim    With probability at least `confidence`, the bound is at most the epsilon of the mechanism
         at its delta.
Proof    The event E is chosen on the first half of the runs, so on the second half its numbers are
         two independent binomial counts. Clopper-Pearson gives P[E | D] >= low and P[E | D'] <= high
         together with probability at least `confidence` (each side has half of the error). Where
         both hold, P[E | D] <= e^epsilon P[E | D'] + delta makes epsilon at least
         log((low - delta) / high).
Checked  tests/audit/test_black_box.py: over many audits of a mechanism that is exactly
         epsilon-DP, no more than the stated share is above epsilon.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import beta, norm

_THRESHOLDS = 64  # tried for each feature
_BINS = 12  # of a feature, for its likelihoods


@dataclass(frozen=True)
class Bound:
    """A lower bound on epsilon, and the event that shows it."""

    epsilon: float
    event: str


@dataclass(frozen=True)
class Event:
    """One feature is at least, at most or equal to a number; `turned` swaps the two tables."""

    feature: int
    relation: str
    number: float
    turned: bool

    def happens(self, outcomes: NDArray[np.float64]) -> NDArray[np.bool_]:
        column = outcomes[:, self.feature]
        if self.relation == "at least":
            return np.asarray(column >= self.number)
        return np.asarray(
            column <= self.number if self.relation == "at most" else column == self.number
        )


def lower_bound(
    first: NDArray[np.float64],
    second: NDArray[np.float64],
    delta: float,
    confidence: float,
    names: list[str] | None = None,
) -> Bound:
    """The bound from two arrays of outcomes, one run a row and one feature a column."""
    width = max(first.shape[1], second.shape[1])
    first, second = (_padded(side, width) for side in (first, second))
    searched, held = _with_scores(first[0::2], second[0::2], first[1::2], second[1::2])
    event = _best_event(searched[0], searched[1], delta, confidence)
    if event is None:
        return Bound(0.0, "no event")
    a, b = (event.happens(side) for side in held)
    hits, misses = (b, a) if event.turned else (a, b)
    epsilon = epsilon_bound(
        int(hits.sum()), len(hits), int(misses.sum()), len(misses), delta, confidence
    )
    return Bound(epsilon, f"{_name(event, width, names)} {event.relation} {event.number:g}")


def epsilon_bound(
    hits: int, of_hits: int, misses: int, of_misses: int, delta: float, confidence: float
) -> float:
    """log((low - delta) / high), at least 0, from Clopper-Pearson bounds of two binomial counts."""
    error = (1 - confidence) / 2
    low = float(beta.ppf(error, hits, of_hits - hits + 1)) if hits else 0.0
    high = float(beta.ppf(1 - error, misses + 1, of_misses - misses)) if misses < of_misses else 1.0
    return max(0.0, math.log((low - delta) / high)) if low > delta else 0.0


def _name(event: Event, width: int, names: list[str] | None) -> str:
    if event.feature >= width:
        return ("direction", "likelihood")[event.feature - width]
    known = names or []
    return known[event.feature] if event.feature < len(known) else f"feature {event.feature}"


def _padded(side: NDArray[np.float64], width: int) -> NDArray[np.float64]:
    return np.pad(side, ((0, 0), (0, width - side.shape[1])), constant_values=-1.0)


def _with_scores(
    a: NDArray[np.float64], b: NDArray[np.float64], *held: NDArray[np.float64]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float64]]]:
    """Two more features, learned on the half that is searched.

    How far an outcome lies in the direction from one mean to the other, and how much likelier its
    features are on one side, as if they were independent.
    """
    spread = np.concatenate([a, b]).std(axis=0)
    some = spread > 0
    direction = np.where(some, a.mean(axis=0) - b.mean(axis=0), 0) / np.where(some, spread, 1) ** 2
    ratios = [_log_ratios(a[:, j], b[:, j]) for j in range(a.shape[1])]

    def scored(x: NDArray[np.float64]) -> NDArray[np.float64]:
        likelihood = np.zeros(len(x))
        for j, (edges, logs) in enumerate(ratios):
            likelihood += logs[np.searchsorted(edges, x[:, j], side="right")]
        return np.column_stack([x, x @ direction, likelihood])

    return [scored(a), scored(b)], [scored(x) for x in held]


def _log_ratios(
    a: NDArray[np.float64], b: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Bins between quantiles, and the logarithm of how much likelier each is on the first side."""
    both = np.concatenate([a, b])
    edges = np.unique(np.quantile(both, np.linspace(0.05, 0.95, _BINS - 1), method="nearest"))
    counts = [
        np.bincount(np.searchsorted(edges, x, side="right"), minlength=len(edges) + 1)
        for x in (a, b)
    ]
    shares = [(c + 1) / (c.sum() + len(c)) for c in counts]
    return edges, np.log(shares[0] / shares[1])


def _best_event(
    a: NDArray[np.float64], b: NDArray[np.float64], delta: float, confidence: float
) -> Event | None:
    """The event with the largest bound on the half that is searched, by Wilson's faster interval."""
    events = list(_events(a, b))
    if not events:
        return None
    counts = np.array([[e.happens(a).sum(), e.happens(b).sum()] for e in events], dtype=float)
    turned = np.array([e.turned for e in events])
    hits = np.where(turned, counts[:, 1], counts[:, 0])
    misses = np.where(turned, counts[:, 0], counts[:, 1])
    z = float(norm.isf((1 - confidence) / 2))
    low = _wilson(hits, np.where(turned, len(b), len(a)), -z) - delta
    high = _wilson(misses, np.where(turned, len(a), len(b)), z)
    ratios = np.maximum(low, 0) / high
    best = int(np.argmax(ratios))
    return events[best] if ratios[best] > 1 else None


def _wilson(hits: NDArray[np.float64], of: NDArray[np.int64], z: float) -> NDArray[np.float64]:
    """The end of Wilson's interval z standard deviations up, or down where z is negative."""
    p = hits / of
    spread = z * np.sqrt(p * (1 - p) / of + z**2 / (4 * of**2))
    return np.asarray((p + z**2 / (2 * of) + spread) / (1 + z**2 / of))


def _events(a: NDArray[np.float64], b: NDArray[np.float64]) -> Iterator[Event]:
    for feature in range(a.shape[1]):
        values = np.unique(np.concatenate([a[:, feature], b[:, feature]]))
        if len(values) < 2:
            continue
        steps = np.unique(np.linspace(0, len(values) - 1, _THRESHOLDS).astype(int))
        few = len(values) <= _THRESHOLDS
        for number in values[steps].tolist():
            for relation in ("at least", "at most", "equal to")[: 3 if few else 2]:
                for turned in (False, True):
                    yield Event(feature, relation, number, turned)
