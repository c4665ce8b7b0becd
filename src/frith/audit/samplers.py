"""Samplers: every noise source of a learner against its exact law, by chi-squared.

A learner is run once to see which mechanisms it uses; then its own curator's source draws from each
of them, and the draws are compared with the law that the mechanism states.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom, chi2

from frith.audit.frozen import Exchange, arbitrary_releases, constant_releases
from frith.audit.laws import is_choice, label_option, log_law, n_options
from frith.audit.outcomes import Outcome, Status
from frith.audit.pairs import hard_pairs
from frith.audit.replay import observe
from frith.audit.sizes import Size
from frith.audit.subjects import Subject
from frith.privacy.budget import Budget
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PrivateChoice, SignChoice
from frith.privacy.shares import GaussianShare, LaplaceShare
from frith.privacy.sources import NoiseSource, default_source

RUNG = "samplers"
FALSE_FAILURE = 1e-9
"""The largest chance that draws from the right laws fail, over all mechanisms of one subject."""
_LEAST = 25.0  # draws that a pooled bin expects, where the approximation holds for such levels
_MECHANISMS = 8  # mechanisms of each kind that are drawn from


@dataclass(frozen=True)
class Fit:
    """How well draws fit a law."""

    mechanism: str
    p_value: float


def audit_samplers(subject: Subject, budget: Budget, size: Size) -> Outcome:
    """Draw from the noise source of the subject's own curator."""
    pair = hard_pairs(target=subject.target)[3]
    engine = subject.open(pair.table, pair.domain)
    source = subject.open_curator(engine, budget)._source
    asked: list[Exchange] = []
    for invent in (arbitrary_releases(0), constant_releases(150)):
        asked += observe(subject, engine, budget, invent).exchanges
    return _outcome(subject.name, [_fit(source, e, size.draws) for e in _distinct(asked)])


def audit_sources(size: Size) -> Outcome:
    """Draw from every mechanism of the package, including the noise shares of several parties."""
    fits = [_fit(default_source(), e, size.draws) for e in _every_mechanism()]
    return _outcome("all noise sources", fits)


def _every_mechanism() -> Iterator[Exchange]:
    zeros, scores = np.zeros(1, dtype=np.int64), np.array([3, 2, 0, -4])
    for amount in (Fraction(1, 5), Fraction(2)):
        yield Exchange(zeros, DiscreteLaplace(amount, 1))
        yield Exchange(zeros, DiscreteGaussian(amount / 4, 1))
        yield Exchange(zeros, LaplaceShare(amount, 1, 3))
        for unit in ("epsilon", "rho"):
            yield Exchange(scores, PrivateChoice(amount, 2, unit))
            signs = np.array([[3, -2], [0, 1], [-1, -1]])
            yield Exchange(signs, SignChoice(amount, 2, unit), np.array([0.0, 0.4, -0.3]))
            counts = np.array([[4, 3, 0], [3, 0, 0], [1, 3, 0], [2, 0, 0], [0, 3, 0], [2, 0, 0]])
            parts = LabelingChoice(amount, 1, (1, 2, 3), unit)
            yield Exchange(counts, parts, np.array([0.5, 0.0, -0.4]))
    yield Exchange(zeros, GaussianShare(Fraction(1, 40), 1, 3, 1))


def _distinct(asked: list[Exchange]) -> list[Exchange]:
    """One exchange for each mechanism; for choices, one with few candidates."""
    found: dict[Any, Exchange] = {}
    for exchange in asked:
        if exchange.exact.size and not (is_choice(exchange) and _is_long(exchange)):
            found.setdefault((type(exchange.mechanism), exchange.mechanism.scale), exchange)
    kinds: dict[type, list[Exchange]] = {}
    for exchange in found.values():
        kinds.setdefault(type(exchange.mechanism), []).append(exchange)
    return [e for many in kinds.values() for e in many[:_MECHANISMS]]


def _is_long(exchange: Exchange) -> bool:
    """Whether there are more candidates than a test of fit can tell apart."""
    is_labeling = isinstance(exchange.mechanism, LabelingChoice)
    return n_options(exchange) > 2**12 if is_labeling else len(exchange.exact) > 64


def _fit(source: NoiseSource, exchange: Exchange, draws: int) -> Fit:
    mechanism = exchange.mechanism
    if isinstance(mechanism, SignChoice):
        p = _fit_signs(source, exchange, mechanism, draws)
    elif isinstance(mechanism, LabelingChoice):
        p = _fit_labels(source, exchange, mechanism, draws)
    elif is_choice(exchange):
        scores = exchange.exact.tolist()
        weights = [0.0] * len(scores)  # they are in the scores already
        drawn = [source.choose(scores, weights, mechanism) for _ in range(draws)]  # type: ignore[arg-type]
        p = p_value(np.bincount(drawn, minlength=len(scores)), np.exp(log_law(exchange)))
    else:
        zeros = np.zeros(10 * draws, dtype=np.int64)
        p = _fit_noise(source.perturb(zeros, mechanism, 1), mechanism)  # type: ignore[arg-type]
    return Fit(f"{type(mechanism).__name__} of scale {mechanism.scale:.4g}", p)


def _fit_noise(drawn: NDArray[np.int64], noise: Any) -> float:
    reach = int(np.abs(drawn).max()) + 1
    law = _noise_law(noise, reach)
    return p_value(np.bincount(drawn + reach, minlength=2 * reach + 1), law)


def _noise_law(noise: Any, reach: int) -> NDArray[np.float64]:
    """P[noise = k] for k from -reach to reach."""
    grid = np.arange(-reach, reach + 1)
    if isinstance(noise, GaussianShare):
        noise = DiscreteGaussian(1 / (2 * Fraction(noise.scale) ** 2), 1)
    if not isinstance(noise, LaplaceShare):
        return np.asarray(np.exp(noise.log_law(grid)))
    far = reach + int(50 * noise.scale) + 50  # a share is the difference of two such counts
    counts = np.exp(noise.log_law(np.arange(far + 1)))
    both = np.convolve(counts, counts[::-1])
    return both[far - reach : far + reach + 1]


def _fit_signs(source: NoiseSource, exchange: Exchange, choice: SignChoice, draws: int) -> float:
    n_labels = exchange.exact.shape[1]
    assert exchange.weights is not None
    places = 3 ** np.arange(n_labels)[::-1]
    counts = np.zeros(len(exchange.exact) * 3**n_labels)
    for _ in range(draws):
        question, signs = source.choose_signs(exchange.exact, exchange.weights, choice)
        counts[question * 3**n_labels + int((signs + 1) @ places)] += 1
    return p_value(counts, np.exp(log_law(exchange)))


def _fit_labels(
    source: NoiseSource, exchange: Exchange, choice: LabelingChoice, draws: int
) -> float:
    assert exchange.weights is not None
    n_labels = exchange.exact.shape[1]
    options = (label_option(i, choice.parts, n_labels) for i in range(n_options(exchange)))
    number = {(place, tuple(labels.tolist())): i for i, (place, labels) in enumerate(options)}
    counts = np.zeros(len(number))
    for _ in range(draws):
        place, labels = source.choose_labels(exchange.exact, exchange.weights, choice)
        counts[number[place, tuple(labels.tolist())]] += 1
    return p_value(counts, np.exp(log_law(exchange)))


def p_value(observed: NDArray[Any], law: NDArray[np.float64]) -> float:
    """Pearson's chi-squared test of counts against probabilities, rare outcomes pooled.

    The pool also gets an exact test of its own, which catches draws that the law all but excludes.
    """
    expected = law / law.sum() * observed.sum()
    order = np.argsort(-expected, kind="stable")
    e, o = expected[order], np.asarray(observed, dtype=float)[order]
    rare = int(np.searchsorted(-e, -_LEAST, side="right"))  # the first that expects too few
    many = int(o.sum())
    tail = float(binom.sf(o[rare:].sum() - 1, many, min(1.0, e[rare:].sum() / max(1, many))))
    e, o = np.append(e[:rare], e[rare:].sum()), np.append(o[:rare], o[rare:].sum())
    if e[-1] < _LEAST and len(e) > 1:
        e, o = np.append(e[:-2], e[-2:].sum()), np.append(o[:-2], o[-2:].sum())
    bulk = chi2.sf(np.sum((o - e) ** 2 / e), len(e) - 1) if len(e) > 1 else 1.0
    return float(min(1.0, 2 * min(bulk, tail)))


def _outcome(name: str, fits: list[Fit]) -> Outcome:
    if not fits:
        return Outcome(RUNG, name, Status.NOT_CHECKED, "no noise was drawn")
    level = FALSE_FAILURE / len(fits)
    bad = [f for f in fits if not f.p_value >= level]  # also if it is NaN
    worst = min(fits, key=lambda f: f.p_value if f.p_value >= 0 else -1.0)
    text = f"{len(fits)} laws; the worst fit is p = {worst.p_value:.2g} ({worst.mechanism})"
    if bad:
        text += f"; {len(bad)} do not follow their law"
    return Outcome(RUNG, name, Status.of(bool(bad)), text)
