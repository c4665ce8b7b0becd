"""Flaws that published systems have, each beside a sound twin: the ladder must tell them apart.

For audits of the audit alone. Nothing here is offered by the package, and whatever it makes states
no guarantee. Each class changes one thing in a learner or a curator that would otherwise be sound.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from frith.audit.frozen import OpenCurator
from frith.audit.subjects import Subject, open_in_memory
from frith.audit.target_flaws import ExactScale, UnclippedMeans, UntoldTilt, open_with_own_bounds
from frith.audit.twins import (
    Labels,
    Leaves,
    Quantiles,
    Residuals,
    RootSizes,
    RootTables,
    TiltedResiduals,
    forest_saying,
)
from frith.curator import Progress, Release, records_per_unit
from frith.domain import Categorical, Domain
from frith.domain.encoding import Batch
from frith.engines.base import Engine
from frith.engines.memory import MemoryEngine
from frith.engines.persons import encode_with_persons
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.growing.additive import bin_tree
from frith.growing.builder import single_leaf
from frith.kernels import CodeCounts, Kernel, LeafCounts, NodeSizes, QuantileChoice, SplitTables
from frith.kernels.layout import Layout, equal_width_cuts
from frith.learners import C45Classifier, GiniForestClassifier
from frith.learners.published.curator import ExponentialChoice, PublishedCurator
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PrivateChoice, SignChoice
from frith.privacy.sources import Noise, NoiseSource, OpenDPSource, Selection

KNOWN_BAD = "a known flaw, kept to test audits with"


class UnsoundCurator:
    """Believes what any object says about itself, and shows exact sums. Promises nothing."""

    is_exact = False

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        *,
        progress: Progress | None = None,
        source: NoiseSource | None = None,
    ):
        self.domain, self.budget, self._engine = engine.domain, budget, engine
        self._source = source or self.own_source()
        self._progress = progress or (lambda purpose: None)

    def own_source(self) -> NoiseSource:
        return OpenDPSource()

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee(float("inf"), assumptions=(KNOWN_BAD,))

    def exact_counts(self, question: Any, purpose: str = "exact") -> NDArray[np.int64]:
        self._progress(purpose)
        sums = self._engine.aggregate(getattr(question, "base", question))
        return np.asarray(question.take(sums) if hasattr(question, "take") else sums)

    def noise(self, question: Any, share: Fraction) -> Noise:
        amount, records = share * self.budget.total, records_per_unit(self.domain)
        if self.budget.unit == "rho":
            return DiscreteGaussian(amount, question.l2_squared * records**2)
        return DiscreteLaplace(amount, question.l1 * records)

    def noisy_counts(self, question: Any, share: Fraction, purpose: str) -> Release:
        noise = self.noise(question, share)
        values = self._source.perturb(self.exact_counts(question, purpose), noise, 1)
        return Release(values, noise.variance)

    def choose(self, list_: Any, share: Fraction, purpose: str) -> int:
        range_ = list_.range_ * records_per_unit(self.domain)
        choice = PrivateChoice(share * self.budget.total, range_, self.budget.unit)
        scores = list_.scores(self.exact_counts(list_.kernel, purpose)).tolist()
        return self._source.choose(scores, [0.0] * len(scores), choice)


# -- flaws -------------------------------------------------------------------------------------


class HalfScale(OpenDPSource):
    """Noise at half of the scale that the mechanism states."""

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        if isinstance(noise, DiscreteLaplace):
            noise = DiscreteLaplace(2 * noise.epsilon, noise.sensitivity)
        elif isinstance(noise, DiscreteGaussian):
            noise = DiscreteGaussian(4 * noise.rho, noise.sensitivity_squared)
        return super().perturb(sums, noise, threads)


class HalfScaleCurator(UnsoundCurator):
    def own_source(self) -> NoiseSource:
        return HalfScale()


class OneTreeCharged(LeafCounts):
    """Several trees at the price of one: noise at a third of the scale for three trees."""

    l1 = l2_squared = 1


class OneTreeLeaves(Leaves):
    def kernel(self, trees: Trees, domain: Domain) -> Kernel:
        return OneTreeCharged(trees, domain)


class ChargedOnce(SplitTables):
    """Tables of all attributes at the price of one, as C4.5 was published."""

    @property
    def l1(self) -> int:
        return 1


class TablesChargedOnce(RootTables):
    view = ChargedOnce


class Cumulated(SplitTables):
    """Counts up to each cut, one for every cut that a record is under, charged as one table."""

    def take(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        layout, tables = self.base.layout, super().take(sums).copy()
        for a in range(len(layout.domain.attributes)):
            if layout.is_numeric(a):
                tables[:, layout.bins(a)] = np.cumsum(tables[:, layout.bins(a)], axis=1)
        return tables


class CumulatedCuts(RootTables):
    view = Cumulated


class DealtByPosition(LeafCounts):
    """Assigns each row to a tree by its position, and charges as if trees were disjoint."""

    l1 = l2_squared = 1

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        tree_of_row = np.arange(len(batch)) * self.trees.n_trees // max(1, len(batch))
        starts = [*self.trees.roots.tolist(), self.trees.n_nodes]
        for tree in range(self.trees.n_trees):
            rows, part = tree_of_row == tree, np.zeros_like(out)
            super().add(Batch(batch.codes[rows], batch.labels[rows]), part)
            mine = (self.trees.leaves >= starts[tree]) & (self.trees.leaves < starts[tree + 1])
            out[mine] += part[mine]


class RowsByPosition(Leaves):
    def kernel(self, trees: Trees, domain: Domain) -> Kernel:
        return DealtByPosition(trees, domain)


class ExactSize(Leaves):
    """The number of records, exactly, beside the forest."""

    def learn(self, curator: Any) -> Forest:
        forest = super().learn(curator)
        self.n_records_ = int(curator.exact_counts(_whole(curator.domain)).sum())
        return forest


def _whole(domain: Domain) -> LeafCounts:
    return LeafCounts(single_leaf(), domain)


class Seeded(NoiseSource):
    """Noise from a generator with a seed."""

    states = KNOWN_BAD

    def __init__(self, seed: int):
        self.rng = np.random.default_rng(seed)

    def perturb(self, sums: NDArray[np.int64], noise: Noise, threads: int) -> NDArray[np.int64]:
        p = -np.expm1(-1 / noise.scale)
        drawn = self.rng.geometric(p, sums.shape) - self.rng.geometric(p, sums.shape)
        return np.asarray(sums + drawn)

    def choose(self, scores: Sequence[int], log_weights: Sequence[float], choice: Selection) -> int:
        raise NotImplementedError

    def choose_signs(
        self, differences: NDArray[np.int64], log_weights: NDArray[np.float64], choice: SignChoice
    ) -> tuple[int, NDArray[np.int64]]:
        raise NotImplementedError

    def choose_labels(
        self, counts: NDArray[np.int64], log_weights: NDArray[np.float64], choice: LabelingChoice
    ) -> tuple[int, NDArray[np.int64]]:
        raise NotImplementedError


class SeededCurator(UnsoundCurator):
    def __init__(self, *args: Any, seed: int | None = None, **kwargs: Any):
        self.seed = secrets.randbits(31) if seed is None else seed
        super().__init__(*args, **kwargs)

    def own_source(self) -> NoiseSource:
        return Seeded(self.seed)


class SeedsKept(Leaves):
    """The seed of the noise stays in the model, so that anyone can draw the noise again."""

    def learn(self, curator: Any) -> Forest:
        forest = super().learn(curator)
        self.noise_seed_ = curator.seed
        return forest

    def rebuild(self, engine: Engine, budget: Budget) -> Forest:
        """The model that this seed gives on a table that a reader suspects."""
        return Leaves(self.n_trees, self.max_depth).learn(
            SeededCurator(engine, budget, seed=self.noise_seed_)
        )


class OccupiedCurator(UnsoundCurator):
    """Adds noise only to occupied cells; the others stay zero."""

    def noisy_counts(self, question: Any, share: Fraction, purpose: str) -> Release:
        noise = self.noise(question, share)
        exact = self.exact_counts(question, purpose)
        values, held = np.zeros_like(exact), exact > 0
        values[held] = self._source.perturb(exact[held], noise, 1)
        return Release(values, noise.variance)


def open_with_own_domain(table: Any, domain: Domain) -> Engine:
    """Values and labels as they occur in the table, and nothing declared."""
    seen = {n: tuple(sorted({str(v) for v in table[n]})) or ("none",) for n in table.columns}
    own = tuple(Categorical(a.name, seen[a.name]) for a in domain.attributes)
    label = Categorical(domain.label.name, seen[domain.label.name])
    return open_in_memory(table.astype(str), Domain(own, label, records=domain.records))


class ExactPurity(Leaves):
    """A node is split unless all its records have one label: seen exactly, and never paid for."""

    def trees(self, curator: Any) -> Trees:
        labels = curator.exact_counts(_whole(curator.domain)).sum(axis=0)
        return single_leaf() if np.sum(labels > 0) < 2 else super().trees(curator)


class UnchargedScores(Leaves):
    """The better of two trees by the records that it gets right: an exact score, and free."""

    def trees(self, curator: Any) -> Trees:
        layout = Layout(curator.domain, equal_width_cuts(curator.domain, 4))
        last = len(curator.domain.attributes) - 1
        tried = [bin_tree(layout, a)[0] for a in (min(1, last), 0)]
        right = [
            curator.exact_counts(LeafCounts(t, curator.domain)).max(axis=1).sum() for t in tried
        ]
        return tried[int(np.argmax(right))]


class SmoothLabels(Labels):
    """The label by an exponential mechanism whose sensitivity falls with the lead of the first.

    Smooth sensitivity is meant for additive noise of a heavy-tailed law, with part of the budget
    for its own change. Put into an exponential mechanism it makes the noise tell how large the
    lead is, and the label nearly certain.
    """

    def learn(self, curator: Any) -> Forest:
        trees = single_leaf()
        counts = curator.exact_counts(LeafCounts(trees, curator.domain))[0]
        ordered, epsilon = np.sort(counts), float(curator.budget.epsilon)
        lead = int(ordered[-1] - ordered[-2]) if len(ordered) > 1 else 0
        scale = 2 * np.exp(-lead * epsilon) / epsilon
        leading = (counts == counts.max()).astype(int)
        pick = curator._source.choose(
            [int(v) * 2**20 for v in leading],
            [0.0] * len(leading),
            ExponentialChoice(scale * 2**20),
        )
        return forest_saying(curator, trees, pick)


class Relabelled(NodeSizes):
    """Trees counted by labels that are passed down, also from leaves that name children.

    Here leaf i names the leaves 2 i + 1 and 2 i + 2 as its children: nine trees become one.
    """

    @property
    def l1(self) -> int:
        tree = np.arange(len(self.base.open_nodes))
        for leaf in range(len(tree)):
            tree[2 * leaf + 1 : 2 * leaf + 3] = tree[leaf]
        return len(np.unique(tree))

    @property
    def l2_squared(self) -> int:
        return self.l1


class LeavesWithChildren(RootSizes):
    view = Relabelled


@dataclass(frozen=True)
class OwnRange:
    """A list that states a range of 1 and moves by 1,000."""

    kernel: LeafCounts
    range_: int = 1

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        return 1_000 * sums[0]


class LabelsOfOwnRange(Labels):
    def labels(self, kernel: LeafCounts) -> Any:
        return OwnRange(kernel)


class OverflowingPrior(OwnRange):
    """A public weight that is added in 64 bits: past the end, the largest score is the least."""

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        prior = np.zeros(len(sums[0]), dtype=np.int64)
        prior[-1] = np.iinfo(np.int64).max
        with np.errstate(over="ignore"):
            return prior + sums[0]


class LabelsWithPrior(Labels):
    def labels(self, kernel: LeafCounts) -> Any:
        return OverflowingPrior(kernel)


class OtherUnitCurator(UnsoundCurator):
    """Noise for as much rho as the budget has epsilon: a round that binds a number and no unit."""

    def noise(self, question: Any, share: Fraction) -> Noise:
        amount = share * self.budget.total
        if self.budget.unit == "epsilon":
            return DiscreteGaussian(amount, question.l2_squared)
        return DiscreteLaplace(amount, question.l1)


class PricedAtNothing(LeafCounts):
    """A question that states that no record moves it."""

    l1 = l2_squared = 0


class FreeCurator(UnsoundCurator):
    """Adds hardly any noise where a question says that it needs none."""

    def noise(self, question: Any, share: Fraction) -> Noise:
        if question.l1:
            return super().noise(question, share)
        return DiscreteLaplace(10**6 * share * self.budget.total, 1)


class FreeLeaves(Leaves):
    def kernel(self, trees: Trees, domain: Domain) -> Kernel:
        return PricedAtNothing(trees, domain)


class RowOrderEngine(MemoryEngine):
    """Keeps the first m records of each person in file order."""

    @functools.cached_property
    def _encoded(self) -> Batch:
        assert self.domain.person is not None
        batch, digests = encode_with_persons(self._columns, self.domain)
        seen: dict[bytes, int] = {}
        kept = []
        for i, digest in enumerate(digests):
            key = digest.tobytes()
            seen[key] = seen.get(key, 0) + 1
            if seen[key] <= self.domain.person.records:
                kept.append(i)
        return Batch(batch.codes[kept], batch.labels[kept])


class OneSidedChoice(QuantileChoice):
    """Its sensitivity for its range, though a record raises some scores and lowers others."""

    @property
    def range_(self) -> int:
        return super().range_ // 2


class OneSidedQuantiles(Quantiles):
    def quantile(self, kernel: CodeCounts, level: int) -> Any:
        return OneSidedChoice(kernel, level)


def open_by_row_order(table: pd.DataFrame, domain: Domain) -> Engine:
    if domain.person is None:
        return open_in_memory(table, domain)
    return RowOrderEngine(table, domain, threads=1)


# -- the list ----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flaw:
    """A flaw, where it was seen, its sound twin, and the rungs that must flag it.

    `pair` is the pair of neighbors on which `fits` of each show it soonest.
    """

    name: str
    seen_in: str
    bad: Subject
    sound: Subject
    rungs: tuple[str, ...]
    pair: str = "lone"
    fits: int = 400


def _flaw(
    name: str,
    seen_in: str,
    bad: Any,
    sound: Any,
    rungs: tuple[str, ...],
    open_curator: OpenCurator = UnsoundCurator,
    open: Any = open_in_memory,
    pair: str = "lone",
    fits: int = 400,
    target: bool = False,
) -> Flaw:
    bad_, twin = (
        Subject(f"{name} (flawed)", bad, open_curator, open, target),
        Subject(f"{name} (sound twin)", sound, target=target),
    )
    return Flaw(name, seen_in, bad_, twin, rungs, pair, fits)


N, R, E, S, B, C = "samplers", "replay", "edges", "small world", "black box", "canaries"

FLAWS: tuple[Flaw, ...] = (
    _flaw(
        "local sensitivity at a noisy size", "DPDF as published; PrivaTree",
        lambda: GiniForestClassifier(as_published=True, max_depth=1, min_support=100),
        lambda: GiniForestClassifier(max_depth=1, min_support=100), (R, S), PublishedCurator,
    ),
    _flaw(
        "noise at half scale", "a slip in a sampler", lambda: Leaves(max_depth=1),
        lambda: Leaves(max_depth=1), (N, B, C), HalfScaleCurator,
        pair="single", fits=1_200,
    ),
    _flaw(
        "several trees charged as one", "a slip in a sensitivity", lambda: OneTreeLeaves(3),
        lambda: Leaves(3), (R, S, C), pair="single"),
    _flaw(
        "per-attribute tables charged once", "C4.5 as published; PrivaTree before December 2023",
        TablesChargedOnce, RootTables, (R, S), pair="single"),
    _flaw(
        "C4.5 as published", "Shang, Zhao, Shu and Liu 2019",
        lambda: C45Classifier(as_published=True, max_depth=2), lambda: C45Classifier(max_depth=2),
        (R, S, B), PublishedCurator,
    ),
    _flaw("cumulated cuts charged once", "a histogram of counts up to each cut", CumulatedCuts,
          RootTables, (R, S), pair="single"),
    _flaw("rows dealt to trees by position", "diffprivlib 0.6.6", lambda: RowsByPosition(4, 1),
          lambda: Leaves(4, 1), (R, S), pair="first"),
    _flaw("exact number of records in the model", "DP-EBM; random forests of 2012 and 2015",
          ExactSize, Leaves, (R, S, B)),
    _flaw("noise seeds kept in the model", "diffprivlib 0.6.6", SeedsKept, Leaves, (R, S, B),
          SeededCurator),
    _flaw("only occupied leaves noised", "DP-EBM's categories; histograms by GROUP BY", Leaves,
          Leaves, (R, S, B, C), OccupiedCurator, pair="single"),
    _flaw("domain from the data", "most packages, some with a warning", Leaves, Leaves, (R, S, B),
          open=open_with_own_domain),
    _flaw("stopping on exact purity", "C4.5 as published; PrivaTree before December 2023", ExactPurity,
          Leaves, (R, S, B)),
    _flaw("uncharged scores", "searches by exact scores; servers that return them", UnchargedScores,
          lambda: Leaves(max_depth=1), (R, S, B), pair="tied"),
    _flaw("smooth sensitivity misused", "Fletcher and Islam 2017", SmoothLabels, Labels, (R, S),
          pair="leading"),
    _flaw("a leaf with children", "frith before its strict reader", LeavesWithChildren, RootSizes, (R, S),
          pair="single"),
    _flaw("a list with its own range", "frith before its questions were data", LabelsOfOwnRange, Labels,
          (R, S), pair="leading"),
    _flaw("an overflowing prior", "frith at an epsilon under 1e-14", LabelsWithPrior, Labels, (R, E, S),
          pair="leading"),
    _flaw("a unit not bound", "secure sums of frith before rounds bound it", lambda: Leaves(3),
          lambda: Leaves(3), (R, E), OtherUnitCurator, pair="single"),
    _flaw("a question priced at nothing", "a level without open nodes", FreeLeaves, Leaves, (R, S),
          FreeCurator, pair="single"),
    _flaw("target bounds from the data", "diffprivlib's regression without bounds", Residuals, Residuals,
          (R, S, B), open=open_with_own_bounds, target=True),
    _flaw("an exact scale of residuals", "clipping at a quantile of the data", ExactScale, Residuals,
          (R, S), target=True),
    _flaw("leaf means that are not clipped", "a mean with the noise of a count", UnclippedMeans,
          Residuals, (R, E, S, B, C), target=True),
    _flaw("a tilt that is not paid for", "quantile loss with the noise of squared loss", UntoldTilt,
          TiltedResiduals, (R, S), target=True),
    _flaw("a quantile charged by its sensitivity", "scores that do not all move the same way",
          OneSidedQuantiles, Quantiles, (R, S), pair="single"),
    _flaw("persons bounded by row order", "a LIMIT for each person", Leaves, Leaves, (R, S, B),
          open=open_by_row_order, pair="persons"),
)  # fmt: skip
"""Every flaw with the rungs that are expected to see it; the tests hold the ladder to that."""
