"""What privacy costs: one table, two private forests, and a budget that grows.

The flagship beside random decision trees. Those are always the same trees, so that only the noise
changes along their curve.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from frith import datasets
from frith.domain import Domain
from frith.forest import Forest
from frith.learners import ForestClassifier, RandomDecisionForestClassifier

EPSILONS = (0.05, 0.1, 0.25, 0.5, 1, 2, 5)
KEPT = 1
"""The epsilon whose forest is kept."""
REPEATS = 5
TREES = 10
TEST_SHARE = 0.3
SEED = 0
TABLES = ("nursery", "tic_tac_toe")
"""The table to show, and the one that every installation has."""

_BLUE, _ORANGE, _GREY = "#1b6ca8", "#b3541e", "#6b6b6b"
NEEDS_MATPLOTLIB = "the picture needs matplotlib: pip install 'frith[plot]'"


@dataclass(frozen=True)
class Sample:
    """A table in two parts; the domain declares the size of the first as public."""

    name: str
    domain: Domain
    train: tuple[pd.DataFrame, pd.Series]
    test: tuple[pd.DataFrame, pd.Series]


@dataclass(frozen=True)
class Point:
    """The accuracies of several forests at one epsilon, and of random trees beside them."""

    epsilon: float
    accuracies: tuple[float, ...]
    random: tuple[float, ...]

    @property
    def mean(self) -> float:
        return float(np.mean(self.accuracies))

    @property
    def deviation(self) -> float:
        return float(np.std(self.accuracies))

    @property
    def random_mean(self) -> float:
        return float(np.mean(self.random))


@dataclass(frozen=True)
class Curve:
    """Accuracy against epsilon, beside the forest without noise and the majority label."""

    sample: Sample
    points: tuple[Point, ...]
    exact: float
    majority: float
    forest: Forest


def load_sample(tables: Sequence[str] = TABLES) -> Sample:
    """The first of the tables that is installed, split with equal label shares."""
    X, y, domain, name = _load_first(tables)
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=SEED
    )
    domain = replace(domain, records=len(X_train))
    return Sample(name, domain, (X_train, y_train), (X_test, y_test))


def measure(
    sample: Sample,
    epsilons: Sequence[float] = EPSILONS,
    repeats: int = REPEATS,
    progress: Callable[[str], None] = lambda text: None,
) -> Curve:
    """Train at every epsilon, several times, because noise is drawn anew each time."""
    points, kept = [], None
    for epsilon in epsilons:
        progress(f"epsilon {epsilon:g}")
        forests = [_train(sample, epsilon) for _ in range(repeats)]
        accuracies = tuple(_accuracy(forest, sample) for forest in forests)
        random = (_random_trees(sample, epsilon) for _ in range(repeats))
        points.append(Point(epsilon, accuracies, tuple(_accuracy(f, sample) for f in random)))
        kept = forests[0] if epsilon == KEPT or kept is None else kept
    assert kept is not None
    progress("without noise")
    exact = _accuracy(_train(sample, math.inf), sample)
    return Curve(sample, tuple(points), exact, _majority(sample), kept)


def draw(curve: Curve, path: Path) -> None:
    """Write the curve as a picture. Needs matplotlib."""
    from matplotlib.figure import Figure

    epsilons = [p.epsilon for p in curve.points]
    lows, highs = ([pick(p.accuracies) for p in curve.points] for pick in (min, max))
    figure = Figure(figsize=(7.2, 4.4), dpi=160, layout="constrained")
    axes = figure.subplots()
    axes.fill_between(epsilons, lows, highs, color=_BLUE, alpha=0.18, linewidth=0)
    means = [p.mean for p in curve.points]
    axes.plot(epsilons, means, color=_BLUE, marker="o", linewidth=2, label="ForestClassifier")
    means, name = [p.random_mean for p in curve.points], f"{TREES} private random trees"
    axes.plot(epsilons, means, color=_ORANGE, marker=".", linewidth=1.4, label=name)
    name = f"ForestClassifier without noise, {curve.exact:.1%}"
    axes.axhline(curve.exact, color="black", linestyle="--", linewidth=1, label=name)
    name = f"always the majority label, {curve.majority:.1%}"
    axes.axhline(curve.majority, color=_GREY, linestyle=":", linewidth=1.4, label=name)
    axes.set_title(f"What privacy costs on {curve.sample.name}", loc="left", weight="bold", pad=12)
    axes.legend(loc="lower right", frameon=False)
    _dress(axes, epsilons)
    figure.savefig(path)


def _dress(axes: Any, epsilons: Sequence[float]) -> None:
    axes.set_xscale("log")
    axes.set_xticks(epsilons, [f"{e:g}" for e in epsilons])
    axes.set_xticks([], minor=True)
    axes.set_xlabel("epsilon: smaller is more private")
    axes.set_ylim(0, 1)
    axes.set_ylabel("accuracy")
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", alpha=0.25)


def _load_first(tables: Sequence[str]) -> tuple[pd.DataFrame, pd.Series, Domain, str]:
    for name in tables[:-1]:
        try:
            return *datasets.load(name), name
        except ValueError:  # the package that carries it is not installed
            continue
    return *datasets.load(tables[-1]), tables[-1]


def _train(sample: Sample, epsilon: float) -> Forest:
    return ForestClassifier(sample.domain, epsilon=epsilon).fit(*sample.train).forest_


def _random_trees(sample: Sample, epsilon: float) -> Forest:
    model = RandomDecisionForestClassifier(
        sample.domain, epsilon=epsilon, n_trees=TREES, random_state=SEED
    )
    return model.fit(*sample.train).forest_


def _accuracy(forest: Forest, sample: Sample) -> float:
    X, y = sample.test
    return float(np.mean(forest.predict(X) == y.to_numpy()))


def _majority(sample: Sample) -> float:
    """The accuracy of always naming the most frequent label of the training part."""
    majority = sample.train[1].mode()[0]
    return float(np.mean(sample.test[1].to_numpy() == majority))
