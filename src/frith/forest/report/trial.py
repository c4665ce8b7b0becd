"""How a forest does on records that its reader has: exact numbers, as private as those records."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.domain import spelling
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_label
from frith.forest.forest import Forest

_BINS = 10
_MARGIN = 1.96  # standard errors in a 95% interval


@dataclass(frozen=True)
class Bin:
    """Predictions of about the same confidence: how sure they were, and how often right."""

    confidence: float
    right: float
    records: int

    @property
    def margin(self) -> float:
        """Half of a 95% interval for the share that is right."""
        return _MARGIN * math.sqrt(
            max(self.right * (1 - self.right), 1 / self.records) / self.records
        )


@dataclass(frozen=True)
class Trial:
    """Predictions against labels."""

    confusion: NDArray[np.int64]
    bins: tuple[Bin, ...]
    log_loss: float
    unknown: int

    @property
    def records(self) -> int:
        return int(self.confusion.sum())

    @property
    def accuracy(self) -> float:
        return float(np.trace(self.confusion) / max(1, self.records))

    @property
    def margin(self) -> float:
        n = max(1, self.records)
        return _MARGIN * math.sqrt(self.accuracy * (1 - self.accuracy) / n)

    @property
    def majority(self) -> float:
        """The accuracy of always naming the most frequent label."""
        return float(self.confusion.sum(axis=1).max() / max(1, self.records))


def try_forest(forest: Forest, data: Any) -> Trial:
    """Predict a table that has the label column, and compare."""
    label = forest.domain.label
    columns, rows = columns_of(data, (*forest.domain.names, label.name))
    codes = encode_label(columns(label.name), label)
    known = codes >= 0
    chances = forest.proba_of_codes(forest.encode(data))[known]
    truth, said = codes[known], forest.labels_of_codes(forest.encode(data))[known]
    confusion = np.zeros((label.size, label.size), dtype=np.int64)
    np.add.at(confusion, (truth, said), 1)
    of_truth = np.clip(chances[np.arange(len(truth)), truth], 1e-12, 1)
    loss = float(-np.log(of_truth).mean()) if len(truth) else 0.0
    return Trial(confusion, _bins(chances, truth == said), loss, int(rows - known.sum()))


def _bins(chances: NDArray[np.float64], right: NDArray[np.bool_]) -> tuple[Bin, ...]:
    """Ten groups from least to most sure, none of them empty."""
    sure = chances.max(axis=1) if len(chances) else np.zeros(0)
    groups = np.array_split(np.argsort(sure, kind="stable"), _BINS)
    return tuple(
        Bin(float(sure[g].mean()), float(right[g].mean()), len(g)) for g in groups if len(g)
    )


def score_words(result: Trial) -> str:
    """How often predictions are right, and on which records."""
    return (
        f"On {result.records:,} records that were given for this test, {100 * result.accuracy:.1f}% ± "
        f"{100 * result.margin:.1f}% are predicted right; always naming the most frequent label gets "
        f"{100 * result.majority:.1f}%. Mean log loss {result.log_loss:.3f}. ± is half of a 95% interval for "
        "further records of the same kind; if the forest has learned from these, others fare worse."
    )


def number_words(forest: Forest, data: Any) -> str:
    """How far predictions of a number are off, on which records."""
    domain, target = forest.domain, forest.domain.target
    columns, rows = columns_of(data, (*domain.names, target.name))
    codes = encode_label(columns(target.name), domain.label)
    known = codes >= 0
    step = (target.high - target.low) / target.cells
    middles = np.asarray(target.low + step * (codes[known] + 0.5), dtype=np.float64)
    sums = forest.numbers_of_codes(forest.encode(data))[known]
    truth = domain.from_target(middles)
    error = domain.from_target(sums) - truth
    left_out = f" {rows - known.sum():,} records without a target were left out."
    left_out = left_out if rows > known.sum() else ""
    if not len(truth) or not truth.std():
        return f"The {rows:,} records that were given have no targets that differ.{left_out}"
    log = (
        f" On the log scale, which it was learned on, R2 is "
        f"{1 - np.mean((sums - middles) ** 2) / middles.var():.3f}, and the root of the mean squared error "
        f"of the natural logarithm {np.sqrt(np.mean((sums - middles) ** 2)):.4g}."
    )
    return (
        f"On {len(truth):,} records that were given for this test, R2 is "
        f"{1 - np.mean(error**2) / truth.var():.3f}; the root of the mean squared error is "
        f"{np.sqrt(np.mean(error**2)):.4g}, the mean absolute error {np.abs(error).mean():.4g}. Always "
        f"naming their mean gets an R2 of 0 and errors of {truth.std():.4g}. Targets are rounded to the "
        f"declared grid. If the forest has learned from these records, others fare worse."
        f"{log if domain.has_log_target else ''}{left_out}"
    )


def label_names(forest: Forest) -> list[str]:
    return [spelling(value) for value in forest.domain.label_values]
