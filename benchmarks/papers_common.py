"""What the four papers share: an experiment and its scores, claims about them, tables, plots."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

from frith.learners.published.curator import AS_PUBLISHED

PUBLISHED = {"as_published": True}
FOLDS, TRAINING = "10-fold", "training set"
QUICK = ("car", "votes", "tic_tac_toe", "nursery")
SMALL, LARGE = 20, 2  # repeats of small sets and of large ones

# -- the measurements --------------------------------------------------------------------------

Learner = Callable[[Any, float, int], Any]  # a model for a domain, an epsilon and a seed


def learner(kind: type, **parameters: Any) -> Learner:
    """A learner of ours on one thread; the seed reaches public tree shapes only."""
    return functools.partial(_build, kind, parameters)


def _build(kind: Any, parameters: dict[str, Any], domain: Any, epsilon: float, seed: int) -> Any:
    model = kind(domain, epsilon=epsilon, n_jobs=1, **parameters)
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


@dataclass(frozen=True)
class Experiment:
    """What is measured for a paper: sets with their repeats, learners with and without noise."""

    repeats: dict[str, int]
    epsilons: tuple[str, ...]
    learners: dict[str, Learner]
    exact: dict[str, Learner] = field(default_factory=dict)
    tests: tuple[str, ...] = (FOLDS,)
    fewer: dict[str, int] = field(default_factory=dict)
    """Repeats of slow learners whose scores vary little, by the end of their names."""

    @property
    def runs(self) -> list[tuple[str, str]]:
        noisy = [(n, e) for n in self.learners for e in self.epsilons]
        return noisy + [(n, "inf") for n in self.exact]

    def jobs(self, quick: bool) -> list[dict[str, Any]]:
        return [
            {"set": name, "learner": learner, "epsilon": epsilon, "test": test, "repeat": repeat}
            for name in common.loadable(
                [n for n in self.repeats if not quick or n.split(",")[0] in QUICK]
            )
            for learner, epsilon in self.runs
            for test in self.tests
            for repeat in range(2 if quick else self._repeats(name, learner))
        ]

    def score(self, job: dict[str, Any]) -> dict[str, Any]:
        """Mean accuracy of ten fits: one repeat of 10-fold, or ten times the training set itself."""
        X, y, domain = common.load(job["set"])
        build = (self.learners | self.exact)[job["learner"]]
        hits = []
        for number, (train, test) in enumerate(splits(job, y)):
            model = build(domain, float(job["epsilon"]), common.FOLDS * job["repeat"] + number)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=f".*{AS_PUBLISHED}")
                model.fit(X.iloc[train], y.iloc[train])
            hits.append(np.mean(model.predict(X.iloc[test]) == y.iloc[test]))
        return {"accuracy": f"{np.mean(hits):.6f}"}

    def complete(self, scores: Scores) -> bool:
        """Whether no cell is missing, of the sets that were measured at all."""
        cells = len(self.runs) * len(self.tests)
        return len(scores.wide) == cells * len(scores.values("set"))

    def _repeats(self, name: str, learner: str) -> int:
        few = [n for word, n in self.fewer.items() if learner.endswith(word)]
        return min([self.repeats[name], *few])


def splits(job: dict[str, Any], labels: pd.Series) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if job["test"] == FOLDS:
        yield from common.folds(labels, job["repeat"])
    else:
        everyone = np.arange(len(labels))
        yield from [(everyone, everyone)] * common.FOLDS


# -- reading them ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """Accuracies: a row for each set, test, learner and epsilon, a column for each repeat."""

    wide: pd.DataFrame

    @classmethod
    def read(cls, path: Path) -> Scores | None:
        if not path.is_file():
            return None
        rows = pd.read_csv(path)
        keys = ["set", "test", "learner", "epsilon"]
        return cls(rows.pivot_table(index=keys, columns="repeat", values="accuracy", sort=False))

    def values(self, level: str) -> list[Any]:
        return list(self.wide.index.get_level_values(level).unique())

    @functools.cached_property
    def epsilons(self) -> list[float]:
        return [e for e in self.values("epsilon") if np.isfinite(e)]

    def of(self, name: str, learner: str, epsilon: float, test: str = FOLDS) -> pd.Series:
        return self.wide.loc[(name, test, learner, epsilon)].dropna()

    def mean(self, name: str, learner: str, epsilon: float | None = None) -> float:
        """At one epsilon, or over all of them."""
        epsilons = self.epsilons if epsilon is None else [epsilon]
        return float(np.mean([self.of(name, learner, e).mean() for e in epsilons]))

    def lead(self, name: str, first: str, second: str, epsilon: float, test: str = FOLDS) -> Lead:
        """First minus second, paired by folds."""
        return Lead.of(
            (self.of(name, first, epsilon, test) - self.of(name, second, epsilon, test)).dropna()
        )

    def cell(self, name: str, learner: str, epsilon: float, test: str = FOLDS) -> str:
        return str(Lead.of(self.of(name, learner, epsilon, test)))


@dataclass(frozen=True)
class Lead:
    """A mean and its standard error over repeats."""

    mean: float
    error: float

    @classmethod
    def of(cls, values: pd.Series) -> Lead:
        return cls(float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values))))

    @classmethod
    def average(cls, leads: Sequence[Lead]) -> Lead:
        """Of independent ones."""
        error = np.sqrt(np.sum([lead.error**2 for lead in leads])) / len(leads)
        return cls(float(np.mean([lead.mean for lead in leads])), float(error))

    @property
    def clear(self) -> int:
        """1 or -1 where the mean is over two standard errors from 0."""
        return int(np.sign(self.mean)) if abs(self.mean) > 2 * self.error else 0

    def __str__(self) -> str:
        return f"{100 * self.mean:.1f} ± {100 * self.error:.1f}"


@dataclass(frozen=True)
class Claim:
    """What a paper says, and for our form and the paper's own: does it hold, and the numbers.

    None for a verdict means that it cannot be told.
    """

    text: str
    paper: str
    sound: tuple[bool | None, str]
    published: tuple[bool | None, str] | None = None


@dataclass(frozen=True)
class Report:
    title: str
    claims: list[Claim]
    paragraphs: list[str]
    figure: Any

    def words(self, image: str, repeats: str) -> str:
        return "\n".join([f"## {self.title}\n", *self.paragraphs, repeats, f"![plot]({image})\n"])


# -- tables ------------------------------------------------------------------------------------


def score_rows(
    scores: Scores, learners: Mapping[str, Any], names: dict[str, str]
) -> list[list[str]]:
    return [
        [f"{name}, {names[learner]}", *(scores.cell(name, learner, e) for e in scores.epsilons)]
        for name in scores.values("set")
        for learner in learners
    ]


def score_table(scores: Scores, rows: list[list[str]]) -> str:
    return common.markdown_table(("epsilon", *(f"{e:g}" for e in scores.epsilons)), rows)


# -- plots -------------------------------------------------------------------------------------

BLUE, ORANGE, GREEN, GREY = common.LINE, common.GUIDE, "#2e7d5b", "#8a8a8a"
Lines = dict[str, tuple[str, str]]  # color and style of each learner


def grid(titles: Sequence[str], columns: int) -> tuple[Any, list[Any]]:
    """Small multiples with one scale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = -(-len(titles) // columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(3.9 * columns, 3 * rows + 0.6), squeeze=False, layout="constrained"
    )
    for axis in axes.flat[len(titles) :]:
        axis.set_visible(False)
    for axis, title in zip(axes.flat, titles, strict=False):
        axis.set_title(title.replace("_", "-"), loc="left", fontweight="bold", color=common.INK)
        axis.grid(axis="y", color="#dddddd", linewidth=0.7)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    for axis in axes[:, 0]:
        axis.set_ylabel("accuracy (%)")
    return figure, list(axes.flat[: len(titles)])


def draw_lines(
    axis: Any, scores: Scores, name: str, lines: Lines, names: dict[str, str], test: str = FOLDS
) -> None:
    for learner, (color, style) in lines.items():
        leads = [Lead.of(scores.of(name, learner, e, test)) for e in scores.epsilons]
        axis.errorbar(
            scores.epsilons, [100 * a.mean for a in leads], [200 * a.error for a in leads],
            color=color, linestyle=style, marker="o", markersize=3, linewidth=1.4,
            label=names[learner],
        )  # fmt: skip


def draw_level(axis: Any, height: float, text: str) -> None:
    axis.axhline(100 * height, color=GREY, linestyle=":", linewidth=1.3, label=text)


def finish(figure: Any, axes: Sequence[Any], ticks: Sequence[float], log: bool = True) -> Any:
    for axis in axes:
        if log:
            axis.set_xscale("log")
        axis.set_xticks(ticks, [f"{t:g}" for t in ticks])
        axis.minorticks_off()
        axis.set_ylim(0, 102)
        axis.set_xlabel("epsilon")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure
