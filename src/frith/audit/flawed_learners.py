"""Learners and engines with one flaw each, for audits of the audit alone; `twins` has them without it.

Each changes one thing in a learner, a question or an engine that is otherwise sound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from frith._cached import cached_property
from frith.audit.flawed_curators import SeededCurator
from frith.audit.subjects import open_in_memory
from frith.audit.twins import (
    Labels,
    Leaves,
    Quantiles,
    RootSizes,
    RootTables,
    forest_saying,
)
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
from frith.learners.published.curator import ExponentialChoice
from frith.privacy.budget import Budget


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
    """Counts up to each cut: a record counts at every cut above it, charged as one table."""

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
    """Keeps the exact number of records beside the forest."""

    def learn(self, curator: Any) -> Forest:
        forest = super().learn(curator)
        self.n_records_ = int(curator.exact_counts(_whole(curator.domain)).sum())
        return forest


def _whole(domain: Domain) -> LeafCounts:
    return LeafCounts(single_leaf(), domain)


class SeedsKept(Leaves):
    """Keeps the seed of the noise in the model, so that anyone can draw the noise again."""

    def learn(self, curator: Any) -> Forest:
        forest = super().learn(curator)
        self.noise_seed_ = curator.seed
        return forest

    def rebuild(self, engine: Engine, budget: Budget) -> Forest:
        """The model that this seed gives on a table that a reader suspects."""
        return Leaves(self.n_trees, self.max_depth).learn(
            SeededCurator(engine, budget, seed=self.noise_seed_)
        )


def open_with_own_domain(table: Any, domain: Domain) -> Engine:
    """Opens a table with the values and labels that occur in it instead of declared ones."""
    seen = {n: tuple(sorted({str(v) for v in table[n]})) or ("none",) for n in table.columns}
    own = tuple(Categorical(a.name, seen[a.name]) for a in domain.attributes)
    label = Categorical(domain.label.name, seen[domain.label.name])
    return open_in_memory(table.astype(str), Domain(own, label, records=domain.records))


class ExactPurity(Leaves):
    """Splits a node unless all its records have one label: an exact answer that nobody paid for."""

    def trees(self, curator: Any) -> Trees:
        labels = curator.exact_counts(_whole(curator.domain)).sum(axis=0)
        return single_leaf() if np.sum(labels > 0) < 2 else super().trees(curator)


class UnchargedScores(Leaves):
    """Takes the better of two trees by the records that each gets right: an exact, free score."""

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
    for its own change. In an exponential mechanism it makes the noise reveal how large the lead is,
    and the label nearly certain.
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
    """Adds a public weight in 64 bits: past the end, the largest score becomes the least."""

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        prior = np.zeros(len(sums[0]), dtype=np.int64)
        prior[-1] = np.iinfo(np.int64).max
        with np.errstate(over="ignore"):
            return prior + sums[0]


class LabelsWithPrior(Labels):
    def labels(self, kernel: LeafCounts) -> Any:
        return OverflowingPrior(kernel)


class PricedAtNothing(LeafCounts):
    """A question that states that no record moves it."""

    l1 = l2_squared = 0


class FreeLeaves(Leaves):
    def kernel(self, trees: Trees, domain: Domain) -> Kernel:
        return PricedAtNothing(trees, domain)


class RowOrderEngine(MemoryEngine):
    """Keeps the first m records of each person in file order."""

    @cached_property
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
    """States its sensitivity as its range, though a record raises some scores and lowers others."""

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
