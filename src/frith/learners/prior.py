"""Probabilities for a place where labels are more or less frequent than in training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.forest import Forest
from frith.forest.kinds import ValueKind


def reweighted(
    proba: NDArray[np.float64], forest: Forest, class_prior: Any, trained_prior: Any
) -> NDArray[np.float64]:
    """Probabilities times new over old shares of the labels, each row adding up to 1.

    This is right where the records of each label look alike in both places, and only their numbers
    differ. Columns are in the domain's order.
    """
    new = _shares("class_prior", class_prior, forest)
    old = (
        _released(forest)
        if trained_prior is None
        else _shares("trained_prior", trained_prior, forest)
    )
    weighted = proba * (new / old)
    totals = weighted.sum(axis=1, keepdims=True)
    return np.where(totals > 0, weighted / np.where(totals > 0, totals, 1.0), new)


def _shares(name: str, given: Any, forest: Forest) -> NDArray[np.float64]:
    labels = forest.domain.label_values
    if isinstance(given, str) and given == "balanced":
        return np.full(len(labels), 1 / len(labels))
    is_whole = isinstance(given, Mapping) and set(given) == set(labels)
    shares = np.array([given[v] for v in labels] if is_whole else [], dtype=np.float64)
    if not is_whole or not np.all(shares > 0) or not np.all(np.isfinite(shares)):
        raise ValueError(
            f"{name} has a share above 0 for each label of {forest.domain.label.name!r}, as in "
            f"{{{labels[0]!r}: 0.9, ...}}; or it is 'balanced'"
        )
    return shares / shares.sum()


def _released(forest: Forest) -> NDArray[np.float64]:
    """The labels' shares that were counted, each at least that of one record."""
    counted = forest if forest.kind is ValueKind.COUNTS else forest.measured
    if counted is None:
        raise ValueError(
            "this forest counted no labels, so nothing released says how frequent they were in training; "
            "pass trained_prior= with what is known, or learn with rules_share=0.1, which counts some"
        )
    counts = np.maximum(counted.values[counted.trees.roots].sum(axis=0), 1.0)
    return np.asarray(counts / counts.sum())
