"""Growing one tree from noisy tables alone: what ID3 from counts and C4.5 share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.forest import Forest
from frith.growing.grower import Grower
from frith.kernels import SplitTables
from frith.kernels.layout import Layout

GROW_CELLS = 2**21
"""A tree stops growing where the next level would have more cells than this."""

_TIE = 1e-9  # scores nearer than this are equal but for rounding

Score = Callable[[NDArray, Layout], Floats]


@dataclass
class TableTree:
    """A tree grown level by level; its node counts come from the tables of the splits above."""

    curator: CuratorLike
    grower: Grower
    score: Score
    min_support: float | None
    counts: dict[int, Floats] = field(default_factory=dict)
    variance: dict[int, float] = field(default_factory=dict)
    candidates: int = 1

    def grow(self, shares: list[Fraction]) -> Forest:
        """One level of tables for each share. Every stop is decided on noisy counts."""
        open_nodes = list(self.grower.roots)
        for number, share in enumerate(shares, start=1):
            if not open_nodes:
                break
            level, allowed = self.grower.level(open_nodes)
            if number > 1 and np.prod(level.shape) > GROW_CELLS:
                break  # the first level's limit is the curator's
            tables = self.curator.noisy_counts(
                SplitTables(level), share, f"tables of level {number}"
            )
            if number == 1:
                self._count_root(tables.values[0], level.asks[0], tables.variance)
            self.candidates += int(np.sum(level.asks * self._children))
            scores = self.score(tables.values, level.layout)
            best = first_best(np.where(allowed, scores, -np.inf))
            open_nodes = [
                child
                for place, node in enumerate(open_nodes)
                if self._worth_splitting(node)
                for child in self._split(
                    node, int(best[place]), tables.values[place], tables.variance
                )
            ]
            open_nodes = [n for n in open_nodes if self.grower.allowed(n).any()]
        return self._forest()

    @property
    def _children(self) -> NDArray[np.int64]:
        """How many children the tables of each attribute count: the best of them become nodes."""
        layout, attributes = self.grower.layout, self.grower.domain.attributes
        return np.array(
            [
                2 * len(layout.cuts[a]) if layout.is_numeric(a) else x.size
                for a, x in enumerate(attributes)
            ]
        )

    def _worth_splitting(self, node: int) -> bool:
        """ID3's first two conditions, on noisy counts: not empty, and of more than one label."""
        counts = self.counts[node]
        noise = np.sqrt(len(counts) * self.variance[node])
        least = noise if self.min_support is None else self.min_support
        return bool(counts.sum() > least and np.sum(counts > 0) > 1)

    def _count_root(self, table: NDArray, asks: NDArray[np.bool_], variance: float) -> None:
        """Every attribute's table sums to the root's counts: weigh each by its number of bins."""
        layout = self.grower.layout
        bins = [layout.bins(int(a)) for a in np.flatnonzero(asks)] or [slice(0, 0)]
        weights = np.array([1 / max(1, b.stop - b.start) for b in bins])
        sums = np.array([table[b].sum(axis=0) for b in bins])
        self.counts[0] = weights @ sums / weights.sum()
        self.variance[0] = variance / weights.sum()

    def _split(self, node: int, candidate: int, table: NDArray, variance: float) -> range:
        """Split a node; its children are counted by the table that chose the split."""
        layout = self.grower.layout
        attribute = int(layout.attribute_of[candidate])
        parts = table[layout.bins(attribute)]
        groups = [[i] for i in range(len(parts))]
        if layout.is_numeric(attribute):
            at = candidate - layout.columns[attribute].start + 1
            groups = [list(range(at)), list(range(at, len(parts)))]
        children = self.grower.split(node, candidate)
        for child, group in zip(children, groups, strict=True):
            self.counts[child] = parts[group].sum(axis=0).astype(np.float64)
            self.variance[child] = variance * len(group)
        return children

    def _forest(self) -> Forest:
        trees = self.grower.trees()
        nodes = range(trees.n_nodes)
        return Forest(
            self.curator.domain,
            trees,
            np.array([self.counts[n] for n in nodes]),
            self.curator.guarantee,
            np.array([self.variance[n] for n in nodes]),
            vote="shares",
            candidates=self.candidates,
        )


def first_best(scores: Floats) -> NDArray[np.int64]:
    """The first candidate of highest score in each row: ties go to the first in domain order."""
    return np.argmax(scores >= scores.max(axis=1, keepdims=True) - _TIE, axis=1)
