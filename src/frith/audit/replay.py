"""Replay: run a learner on two neighbors with the *same* releases and add up what they differ by.

With releases frozen, everything a learner does is a function of public facts. So both runs must ask
the same questions in the same order, report the same progress, and fail alike or end in the same
forest. Only the exact numbers behind the releases may differ. Their distances, each in the norm
and at the scale of the mechanism that would have hidden them, add up to the privacy loss of this
pair; it must stay within the budget. Because all questions are added up, a record that is counted
twice shows, even where each question alone looks right.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from frith.audit.frozen import (
    Exchange,
    FrozenSource,
    Invent,
    OpenCurator,
    WatchedEngine,
    arbitrary_releases,
    replay_curator,
)
from frith.audit.subjects import Learner, Subject
from frith.curator import Curator
from frith.engines.base import Engine
from frith.kernels import Kernel
from frith.privacy.budget import Budget
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, SignChoice
from frith.privacy.shares import GaussianShare, LaplaceShare

__all__ = [
    "Exchange",
    "FrozenSource",
    "Replay",
    "Trace",
    "arbitrary_releases",
    "compare",
    "observe",
    "replay",
    "replay_curator",
]


@dataclass(frozen=True)
class Trace:
    """Everything that one run shows: to the public, and to the curator only (`exchanges`)."""

    exchanges: tuple[Exchange, ...]
    kernels: tuple[Kernel, ...]
    public: dict[str, str]


@dataclass(frozen=True)
class Replay:
    """What a pair of neighbors showed: its total loss and the budget, in one unit."""

    loss: Fraction
    budget: Fraction
    unit: str
    differences: tuple[str, ...]
    questions: int = 0

    @property
    def holds(self) -> bool:
        """Whether the loss is within the budget and nothing public differs between the two runs."""
        return self.loss <= self.budget and not self.differences


def replay(
    learner: Learner,
    table: Engine,
    neighbor: Engine,
    budget: Budget,
    invent: Invent,
    open_curator: OpenCurator = Curator,
) -> Replay:
    """Replay `learner` on two neighboring tables under the same invented releases."""
    subject = Subject("this learner", lambda: learner, open_curator)
    first, second = (observe(subject, engine, budget, invent) for engine in (table, neighbor))
    return compare(first, second, budget)


def observe(
    subject: Subject, engine: Engine, budget: Budget, source: Invent | FrozenSource
) -> Trace:
    """Run a subject once on frozen releases, and keep everything that it shows."""
    frozen = source if isinstance(source, FrozenSource) else FrozenSource(source)
    heard: list[str] = []
    watched = WatchedEngine(engine)
    curator = subject.open_curator(watched, budget, source=frozen, progress=heard.append)
    learner, error, made = subject.make(), "", None
    try:
        made = learner.learn(curator)
    except Exception as raised:  # noqa: BLE001 - whatever is raised is an output too
        error = f"{type(raised).__name__}: {raised}"
    public = {"the error": error, "the progress": "\n".join(heard)} | _shown(made, learner)
    return Trace(tuple(frozen.exchanges), tuple(watched.kernels), public)


def compare(first: Trace, second: Trace, budget: Budget) -> Replay:
    """The loss of two runs on the same releases, and the names of all public parts that differ."""
    others = [type(e.mechanism).__name__ for e in first.exchanges if not _has_loss(e, budget.unit)]
    pairs = list(zip(first.exchanges, second.exchanges, strict=False))
    alike = [(a, b) for a, b in pairs if a.exact.shape == b.exact.shape]
    return Replay(
        sum((loss_of(a, b, budget.unit) for a, b in alike), Fraction(0)),
        budget.total,
        budget.unit,
        (*_differences(first, second), *(f"no loss in {budget.unit} for {o}" for o in others)),
        len(alike),
    )


def _has_loss(exchange: Exchange, unit: str) -> bool:
    """Gaussian noise has a loss in rho and none in pure epsilon."""
    return unit == "rho" or not isinstance(exchange.mechanism, DiscreteGaussian | GaussianShare)


def _shown(made: Any, learner: Any) -> dict[str, str]:
    """What a reader of the model sees: the whole forest, and the learner's fitted attributes."""
    parts = made.to_json() if hasattr(made, "to_json") else {}
    noted = {k: v for k, v in vars(learner).items() if k.endswith("_") and not k.startswith("_")}
    return {f"the forest's {k}": json.dumps(v) for k, v in parts.items()} | {
        f"the learner's {k}": repr(v) for k, v in noted.items()
    }


def _differences(first: Trace, second: Trace) -> list[str]:
    one, other = first.exchanges, second.exchanges
    checks = [
        ("the number of questions", len(one), len(other)),
        (
            "the shapes of the questions",
            [e.exact.shape for e in one],
            [e.exact.shape for e in other],
        ),
        ("the mechanisms", [e.mechanism for e in one], [e.mechanism for e in other]),
    ]
    names = sorted({*first.public, *second.public})
    checks += [(name, first.public.get(name), second.public.get(name)) for name in names]
    return [name for name, a, b in checks if a != b]


def loss_of(a: Exchange, b: Exchange, unit: str) -> Fraction:
    """The loss of one question, in its mechanism's own norm, exactly, in a budget's unit."""
    change = a.exact.astype(object) - b.exact.astype(object)
    scale = Fraction(a.mechanism.scale)
    if isinstance(a.mechanism, DiscreteLaplace | LaplaceShare):
        return _in_unit(Fraction(int(np.abs(change).sum())) / scale, unit, Fraction(1, 2))
    if isinstance(a.mechanism, GaussianShare):
        return Fraction(int((change**2).sum())) / (2 * a.mechanism.honest * scale**2)
    if isinstance(a.mechanism, DiscreteGaussian):
        return Fraction(int((change**2).sum())) / (2 * scale**2)
    if isinstance(a.mechanism, SignChoice):
        change_of_one = int(np.abs(change).sum(axis=1).max())  # each question's signs may be any
        spread = Fraction(2 * change_of_one) / scale + 4 * SignChoice.SLACK
        return _in_unit(spread, unit, Fraction(1, 8))
    if isinstance(a.mechanism, LabelingChoice):
        starts = a.mechanism.starts  # a partition's parts may have any labels
        most = np.add.reduceat(change.max(axis=1), starts).max()
        least = np.add.reduceat(change.min(axis=1), starts).min()
        spread = Fraction(int(most) - int(least)) / scale + 4 * a.mechanism.slack
        return _in_unit(spread, unit, Fraction(1, 8))
    spread = Fraction(int(change.max()) - int(change.min())) / scale
    # Gumbel noise has a bounded range; permute-and-flip is pure and no more than that
    return _in_unit(spread, unit, Fraction(1, 8 if a.mechanism.gumbel else 2))


def _in_unit(epsilon: Fraction, unit: str, factor: Fraction) -> Fraction:
    """A pure loss in a budget's unit: itself, or the rho that it implies."""
    return epsilon if unit == "epsilon" else factor * epsilon**2
