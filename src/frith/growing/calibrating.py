"""How far two labels' scores are to be believed: labels counted by score, and two numbers from them.

count labels by the score that the forest gives, in a few bins
score <- a + b score, with a and b from what the noisy counts make likely

Steps alone speak with one strength, whatever the label shares are and however much noise chose them. A
record is in one bin and has one label, so all counts together have sensitivity 1. No step's label turns:
the counts are too noisy to overrule the choices, and are about how sure to be.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
from scipy.special import expit, logit, softmax

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.growing.builder import single_leaf
from frith.growing.parts import Part, forest_of_parts
from frith.kernels.scores import ScoreCounts

ENOUGH = 50.0
"""The signal below which counts say too little of how common labels are."""
_SHARE, _MOST = 1.2, 0.15  # of the budget, over the root of the signal; and never more
_MOST_EDGES = 5
_SHIFTS = np.linspace(-6.0, 6.0, 121)
_FACTORS = np.linspace(0.0, 2.4, 25)
_SHIFT, _FACTOR = (0.4, 2.0), 0.5  # what is likely beforehand: near 0 or far from it, and near 1
_HELD = 0.8  # of the least score of a label, which no shift goes beyond
_LEAST_FACTOR = 0.05  # scores go on telling records apart
_ANCHOR = 0.01  # of all records, worth of holding the factor where the bins say nothing of it


def share_of_calibration(signal: float) -> Fraction:
    """The share of the budget for the counts: less where records and epsilon are many."""
    if not ENOUGH <= signal < math.inf:
        return Fraction(0)
    return Fraction(round(1000 * min(_MOST, _SHARE / math.sqrt(signal))), 1000)


def calibrated(
    curator: CuratorLike, parts: list[Part], scores: Floats, n_records: int, share: Fraction
) -> list[Part]:
    """The parts as strong as counts for `share` make them, after a leaf that says how common labels are.

    `scores` are those that steps can give a record, of which there are few.
    """
    edges, middles = bins_of(scores)
    question = ScoreCounts(forest_of_parts(curator, parts), 1, expit(edges))
    counts = curator.noisy_counts(question, share, "labels by score")
    found = counts.values[0].astype(np.float64)
    size = n_records if curator.domain.records is not None else None  # too noisy to lean on
    shift, factor, noise = fitted(found, counts.variance, middles, size)
    start = Part(single_leaf(), np.array([[-shift / 2, shift / 2]]), np.array([noise / 4]))
    return [start] + [
        replace(p, scores=factor * p.scores, variance=factor**2 * p.variance) for p in parts
    ]


def bins_of(scores: Floats) -> tuple[Floats, Floats]:
    """Edges between scores, those nearest to 0 where there are many; and the mean score of each bin."""
    distinct = np.unique(np.round(scores, 6))
    edges = (distinct[1:] + distinct[:-1]) / 2
    edges = np.sort(edges[np.argsort(np.abs(edges), kind="stable")[:_MOST_EDGES]])
    place = np.searchsorted(edges, distinct)
    return edges, np.array([distinct[place == i].mean() for i in range(len(edges) + 1)])


# -- post-processing ---------------------------------------------------------------------------


def fitted(
    counts: Floats, variance: float, scores: Floats, n_records: int | None
) -> tuple[float, float, float]:
    """The shift and the factor that scores need, and the variance of the shift.

    `counts` has a row for each bin, with records of the first label and of the second. The share of
    the second in a bin is its mean over all pairs of a shift and a factor, by how likely each is: under
    log loss nothing better can be said. The line through these shares, as log-odds, is what is taken.
    """
    shift, factor = (g.reshape(-1, 1) for g in np.meshgrid(_SHIFTS, _FACTORS, indexing="ij"))
    p = expit(shift + factor * scores)
    sizes = _sizes(counts, p, n_records)
    off = (counts[:, 1] - sizes * p) ** 2 + (counts[:, 0] - sizes * (1 - p)) ** 2
    near, far = (-0.5 * (shift / s) ** 2 - math.log(s) for s in _SHIFT)
    doubt = -2 * np.logaddexp(near, far) + ((factor - 1) / _FACTOR) ** 2
    weight = softmax(-0.5 * (off.sum(axis=1) / max(variance, 1e-9) + doubt[:, 0]))
    shares, records = weight @ p, weight @ sizes
    a, b = _line(scores, shares, records, float(weight @ factor[:, 0]))
    return a, b, float(weight @ (shift[:, 0] - a) ** 2)


def _sizes(counts: Floats, p: Floats, n_records: int | None) -> Floats:
    """For each pair, the bins' sizes that fit the counts best; they add up to `n_records`, if known."""
    room = 1 / (p**2 + (1 - p) ** 2)
    sizes = (counts[:, 1] * p + counts[:, 0] * (1 - p)) * room
    if n_records is not None:
        missing = n_records - sizes.sum(axis=1, keepdims=True)
        sizes = sizes + missing * room / room.sum(axis=1, keepdims=True)
    return np.maximum(sizes, 0.0)


def _line(scores: Floats, shares: Floats, records: Floats, usual: float) -> tuple[float, float]:
    """Intercept and slope of the shares' log-odds along the scores, where no step's label turns.

    `usual` is the slope where bins say nothing of it, as where there is only one.
    """
    odds, weight = logit(shares), records * shares * (1 - shares) + 1e-9
    anchor = _ANCHOR * max(float(records.sum()), 1.0)
    line = np.column_stack([np.ones(len(scores)), scores])
    spread = line.T @ (weight[:, None] * line) + np.diag([0.0, anchor])
    a, b = np.linalg.solve(spread, line.T @ (weight * odds) + np.array([0.0, anchor * usual]))
    b = max(float(b), _LEAST_FACTOR)
    least = -_HELD * np.min(scores[scores > 0], initial=np.inf)
    most = -_HELD * np.max(scores[scores < 0], initial=-np.inf)
    if least * b <= a <= most * b:
        return float(a), b
    pivot = least if a < 0 else most
    seen = scores + pivot
    b = (weight @ (seen * odds) + anchor * usual) / (weight @ seen**2 + anchor)
    b = max(float(b), _LEAST_FACTOR)
    return b * float(pivot), b
