"""What is audited: a learner, how it opens a table, and the curator that it gets."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from frith.audit.frozen import OpenCurator
from frith.audit.twins import Quantiles
from frith.curator import Curator, CuratorLike
from frith.domain import Domain
from frith.engines import Engine, open_table
from frith.engines.memory import MemoryEngine
from frith.growing.additive import AdditiveTables
from frith.growing.boosting import SignBoosting
from frith.growing.builder import single_leaf
from frith.growing.label_boosting import VectorBoosting
from frith.growing.naming import NamingTree
from frith.growing.oblivious import ask_once
from frith.growing.parts import Part, forest_of_parts
from frith.growing.residual_boosting import Plan, ResidualBoosting
from frith.growing.trusting import trusted
from frith.kernels import LeafCounts
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplits
from frith.learners import (
    C45Classifier,
    ForestClassifier,
    ForestRegressor,
    GiniForestClassifier,
    ID3Classifier,
    InfoGainForestClassifier,
    RandomDecisionForestClassifier,
    RandomDecisionForestRegressor,
    SignalForestClassifier,
)


class Learner(Protocol):
    """What can be audited: anything that learns from a curator."""

    def learn(self, curator: CuratorLike) -> Any: ...


def open_in_memory(table: Any, domain: Domain) -> Engine:
    return MemoryEngine(table, domain, threads=1)


@dataclass(frozen=True)
class Subject:
    """A learner to audit. `make` returns a fresh one; `open` and `open_curator` serve it.

    `target` means that it predicts a number: its tables hold numbers where others hold labels.
    """

    name: str
    make: Callable[[], Learner]
    open_curator: OpenCurator = Curator
    open: Callable[[Any, Domain], Engine] = open_in_memory
    target: bool = False

    @property
    def is_plain(self) -> bool:
        """Whether it takes any engine, as all learners of the package do."""
        return self.open in (open_in_memory, open_table)

    def fit(self, engine: Engine, budget: Any) -> tuple[Learner, Any]:
        """A normal run, with the noise of the subject's own curator."""
        learner = self.make()
        return learner, learner.learn(self.open_curator(engine, budget))


class FewSteps:
    """The flagship's parts at a size that can be enumerated, with public numbers of steps and tables."""

    def __init__(self, part: str, steps: int = 1):
        self.part, self.steps = part, steps

    def learn(self, curator: CuratorLike) -> Any:
        n = curator.records(Fraction(1, 50))
        layout = Layout(curator.domain, mixed_cuts(curator.domain))
        return forest_of_parts(curator, self._parts(curator, layout, n))

    def _parts(self, curator: CuratorLike, layout: Layout, n: int) -> Any:
        if self.part == "tables":
            whole = curator.remaining_share
            return AdditiveTables(curator, layout, n).learn(self.steps, whole, True)
        if self.part == "vectors":
            return VectorBoosting(curator, layout, n).learn(self.steps, 1.5, Fraction(0))
        if self.part == "strength":
            start = [Part(single_leaf(), np.zeros((1, curator.domain.n_labels)), np.zeros(1))]
            return VectorBoosting(curator, layout, n, start).learn(self.steps, 1.5, Fraction(1, 4))
        if self.part == "residuals":
            return ResidualBoosting(curator, layout, n, 75.0).learn(_PLANS[self.steps])
        if self.part == "named":
            whole = curator.remaining_share
            return [NamingTree(curator, layout, n).learn(self.steps, whole, Fraction(1, 4))]
        if self.part == "label":
            whole = curator.remaining_share
            return [NamingTree(curator, layout, n).learn(None, whole, Fraction(1, 4))]
        if self.part == "right":
            whole = curator.remaining_share
            return [NamingTree(curator, layout, n).learn(self.steps, whole, Fraction(1, 4), False)]
        if self.part == "trust":
            return self._trusting(curator, layout, n)
        return SignBoosting(curator, layout, n).learn(float(self.steps))

    def _trusting(self, curator: CuratorLike, layout: Layout, n: int) -> list[Part]:
        """Label counts for half of what is left, and a prior of one public split."""
        half, n_labels = curator.remaining_share / 2, curator.domain.n_labels
        leaf = LeafCounts(single_leaf(), curator.domain)
        counts = curator.noisy_counts(leaf, half, "labels")
        own = Part(single_leaf(), np.clip(counts.values / n, -1, 1), np.ones(1))
        tree = ask_once(curator.domain, BinarySplits(layout)[0])
        scores = np.eye(2, n_labels)[: len(tree.leaves)]
        prior = Part(tree, scores, np.zeros(len(scores)))
        return trusted(curator, [own], [prior], half)


_PLANS = (
    Plan(interval=Fraction(1, 2), start=Fraction(1, 2)),
    Plan(start=Fraction(1, 2), steps=1),
    Plan(start=Fraction(1, 2), second=Fraction(1, 2)),
)


def _subject(
    name: str, kind: Callable[..., Any], target: bool = False, **parameters: Any
) -> Subject:
    return Subject(name, functools.partial(kind, **parameters), target=target)


SOUND: dict[str, tuple[Subject, ...]] = {
    "forest": (
        _subject("forest", ForestClassifier),
        _subject("forest, a number", ForestRegressor, target=True),
    ),
    "random-decision": (
        _subject("random-decision", RandomDecisionForestClassifier, n_trees=3, random_state=0),
        _subject(
            "random-decision, a number", RandomDecisionForestRegressor,
            target=True, n_trees=2, random_state=0,
        ),
    ),
    "signal": (_subject("signal", SignalForestClassifier, random_state=0),),
    "gini": (
        _subject("gini", GiniForestClassifier, max_depth=2, min_support=2),
        _subject(
            "gini, two trees", GiniForestClassifier,
            n_trees=2, max_depth=1, min_support=2, consistent=False,
        ),
    ),
    "id3": (
        _subject("id3, max", ID3Classifier, max_depth=2),
        _subject("id3, gini", ID3Classifier, criterion="gini", max_depth=2),
        _subject("id3, entropy", ID3Classifier, criterion="entropy", max_depth=2, prune=False),
        _subject("id3, exponential", ID3Classifier, max_depth=2, mechanism="exponential"),
        _subject("id3, counts", ID3Classifier, queries="counts", max_depth=2, min_support=1),
    ),
    "c45": (
        _subject("c45, arithmetic", C45Classifier, max_depth=2, min_support=1),
        _subject("c45, geometric", C45Classifier, max_depth=3, allocation="geometric"),
    ),
    "info-gain": (
        _subject("info-gain", InfoGainForestClassifier),
        _subject(
            "info-gain, two trees", InfoGainForestClassifier,
            n_trees=2, max_depth=2, max_features=0.6, random_state=0,
        ),
    ),
}  # fmt: skip
"""All forms of every learner of the package, by the learner's name outside Python."""

PARTS: tuple[Subject, ...] = (
    _subject("forest, sign steps", FewSteps, part="signs", steps=3),
    _subject("forest, vector steps", FewSteps, part="vectors", steps=1),
    _subject("forest, tables", FewSteps, part="tables", steps=1),
    _subject("forest, a strength", FewSteps, part="strength", steps=1),
    _subject("forest, named labels", FewSteps, part="named", steps=1),
    _subject("forest, two levels of named labels", FewSteps, part="named", steps=2),
    _subject("forest, one label for everybody", FewSteps, part="label"),
    _subject("forest, a partition", FewSteps, part="named", steps=0),
    _subject("forest, a partition and how many are right", FewSteps, part="right", steps=0),
    _subject("forest, a public prior", FewSteps, part="trust"),
    _subject("forest, two means", FewSteps, target=True, part="residuals", steps=2),
    _subject("forest, an interval", FewSteps, target=True, part="residuals", steps=0),
    _subject("forest, a step of residuals", FewSteps, target=True, part="residuals", steps=1),
    _subject("quantiles", Quantiles, levels=(10, 990)),
)
"""The flagship's ways to learn, with few steps each, and the bounds of a paid domain."""
