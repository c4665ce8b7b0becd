"""The exact laws of choices: the logarithm of each candidate's probability."""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from frith.audit.frozen import Exchange
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, SignChoice
from frith.privacy.shares import GaussianShare, LaplaceShare

SLACK = 1e-9
"""How far a logarithm of a probability may be off by rounding."""


def is_choice(exchange: Exchange) -> bool:
    return not isinstance(
        exchange.mechanism, DiscreteLaplace | DiscreteGaussian | LaplaceShare | GaussianShare
    )


def n_options(exchange: Exchange) -> int:
    """How many outcomes a choice has; signs and labels are part of an outcome."""
    if isinstance(exchange.mechanism, SignChoice):
        questions, labels = exchange.exact.shape
        return int(questions * 3**labels)
    if isinstance(exchange.mechanism, LabelingChoice):
        return sum(exchange.exact.shape[1] ** parts for parts in exchange.mechanism.parts)
    return len(exchange.exact)


def log_law(exchange: Exchange) -> NDArray[np.float64]:
    """log P of every outcome of a choice: noisy max, a question and signs, a partition and labels."""
    mechanism = exchange.mechanism
    if isinstance(mechanism, SignChoice | LabelingChoice):
        return np.array([log_probability(exchange, i) for i in range(n_options(exchange))])
    scores = exchange.exact.astype(object)
    logs = (scores - max(scores)).astype(np.float64) / mechanism.scale
    if getattr(mechanism, "gumbel", True):
        return logs - _log_sum(logs)
    return np.array([logs[i] + _log_flips(np.delete(logs, i)) for i in range(len(logs))])


@functools.lru_cache(maxsize=64)
def _gauss(count: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    nodes, mass = np.polynomial.legendre.leggauss(count)
    return nodes, mass


def _log_flips(others: NDArray[np.float64]) -> float:
    """Permute-and-flip: the logarithm of the integral over t in [0, 1] of prod_j (1 - t p_j)."""
    nodes, mass = _gauss(len(others) // 2 + 1)
    t = (nodes + 1) / 2
    products = np.prod(1 - np.outer(t, np.exp(others)), axis=1)
    return float(np.log(np.sum(mass / 2 * products)))


def log_probability(exchange: Exchange, option: int) -> float:
    """log P of one outcome of a choice."""
    mechanism = exchange.mechanism
    if not isinstance(mechanism, SignChoice | LabelingChoice):
        return float(log_law(exchange)[option])
    assert exchange.weights is not None
    if isinstance(mechanism, LabelingChoice):
        weights = np.array(mechanism.fixed_weights(exchange.exact, exchange.weights))
        weights = weights / mechanism.point
        place, labels = label_option(option, mechanism.parts, exchange.exact.shape[1])
        rows = exchange.exact[mechanism.rows_of(place)]
        given = [mechanism.log_weights_of_labels(r)[k] for r, k in zip(rows, labels, strict=True)]
        return float(weights[place] - _log_sum(weights) + sum(given))
    weights = mechanism.question_weights(exchange.exact, exchange.weights)
    question, signs = sign_option(option, exchange.exact.shape[1])
    a = exchange.exact[question] / mechanism.scale
    normal = np.abs(a) + np.log1p(np.exp(-np.abs(a)) + np.exp(-2 * np.abs(a)))
    return float(weights[question] - _log_sum(weights) + (signs * a - normal).sum())


def sign_option(option: int, n_labels: int) -> tuple[int, NDArray[np.int64]]:
    """The question and the signs that an outcome's number stands for."""
    question, place = divmod(option, 3**n_labels)
    signs = [place // 3**k % 3 - 1 for k in reversed(range(n_labels))]
    return question, np.array(signs, dtype=np.int64)


def label_option(
    option: int, parts: tuple[int, ...], n_labels: int
) -> tuple[int, NDArray[np.int64]]:
    """The partition and the labels that an outcome's number stands for."""
    place = 0
    while option >= n_labels ** parts[place]:
        option -= n_labels ** parts[place]
        place += 1
    labels = [option // n_labels**v % n_labels for v in reversed(range(parts[place]))]
    return place, np.array(labels, dtype=np.int64)


def _log_sum(logs: NDArray[np.float64]) -> float:
    return float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))
