"""Partitions of all records, from which one is chosen together with a label for each of its parts."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frith._arrays import frozen
from frith._cached import cached_property
from frith.domain import Domain
from frith.errors import FormatError
from frith.forest.trees import Trees
from frith.kernels.choices import Candidates
from frith.kernels.counts import LeafCounts
from frith.kernels.naming import both_sides
from frith.kernels.splits import BinarySplit, BinarySplits

_MOST_VALUES = 24
_GROUPS = (3, 4, 6, 8, 12, 16)


@dataclass(frozen=True, eq=False)
class BinGroups:
    """The bins of one attribute in groups; `group` names that of each bin, in order."""

    attribute: int
    group: NDArray[np.int64]

    @property
    def count(self) -> int:
        return int(self.group[-1]) + 1


@dataclass(frozen=True, eq=False)
class Partitions(Candidates):
    """Everybody, every split in two, every value of an attribute or a number in several intervals, a grid.

    The kernel's first trees have a leaf for each bin of one attribute each; `bins` names the bin of each
    of those leaves. The other trees are grids, which are partitions as they are.
    A partition's score with a label for each part is the number of records that get their own
    label: one more record is in one leaf of each tree, so in one part of every partition, and it raises
    each by 0 or by 1, whatever the trees are.
    Beforehand the kinds are alike, but everybody weighs e times as much; so are the partitions of a kind,
    and all labelings of one partition.
    """

    kernel: LeafCounts
    splits: BinarySplits
    bins: NDArray[np.int64]

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", frozen(self.bins, np.int64))
        layout, trees = self.splits.layout, self.kernel.trees
        if type(self.splits) is not BinarySplits or layout.domain is not self.kernel.domain:
            raise FormatError("the splits to choose from have another domain than what is counted")
        if trees.n_trees < len(layout.cuts):
            raise FormatError("partitions are counted by a tree for each attribute, and by grids")
        if not _are_apart(trees, self.kernel.domain):  # else parts could be of two trees
            raise FormatError("the trees of partitions lie one after another")
        begin = 0
        for a, end in enumerate(self._ends[: len(layout.cuts)]):
            expected = np.arange(layout.starts[a], layout.starts[a + 1])
            if not np.array_equal(np.sort(self.bins[begin:end]), expected):
                raise FormatError("the first trees have one leaf for each bin of their attribute")
            begin = int(end)
        if len(self.bins) != begin:
            raise FormatError("only leaves of the first trees are bins")
        if 1 in self._grids:
            raise FormatError("a grid asks for an attribute; that of everybody is there already")

    @cached_property
    def wide(self) -> tuple[BinGroups, ...]:
        """The partitions in more than two parts."""
        layout, found = self.splits.layout, []
        for a, size in enumerate(np.diff(layout.starts).tolist()):
            counts: tuple[int, ...] = _GROUPS
            if not layout.is_numeric(a):
                counts = (size,) if 3 <= size <= _MOST_VALUES else ()
            for count in counts:
                if count <= size:
                    groups = np.arange(size) * count // size
                    found.append(BinGroups(a, frozen(groups, np.int64)))
        return tuple(found)

    @cached_property
    def parts(self) -> tuple[int, ...]:
        """How many parts each partition has: everybody, the splits, the wide ones, then the grids."""
        wide = (groups.count for groups in self.wide)
        return (1, *[2] * (len(self.splits) - 1), *wide, *self._grids)

    @cached_property
    def _grids(self) -> tuple[int, ...]:
        """How many leaves each grid has."""
        return tuple(np.diff(self._ends)[len(self.splits.layout.cuts) - 1 :].tolist())

    @property
    def n_scores(self) -> int:
        return len(self.splits) * self.domain.n_labels

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The logarithms of public weights; that of a grid is by the mean of its attributes'."""
        log_labels, layout = math.log(self.domain.n_labels), self.splits.layout
        splits = self.splits.weights[:-1] - math.log(max(1, len(self.splits) - 1))
        favored = [layout.advantages[groups.attribute] for groups in self.wide]
        wide = np.array(favored) - math.log(max(1, len(self.wide)))
        asked = [layout.advantages[list(self._asked(g))].mean() for g in range(len(self._grids))]
        grids = np.array(asked) - math.log(max(1, len(self._grids)))
        return np.concatenate([[1.0], splits, wide, grids]) - np.array(self.parts) * log_labels

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """The label counts of every part of every partition, below each other: what each label of
        a part adds to a score."""
        table = np.empty((len(self.bins), sums.shape[1]), dtype=np.int64)
        table[self.bins] = sums[: len(self.bins)]
        left, right = both_sides(self.splits, table)
        halves = np.stack([left[:-1], right[:-1]], axis=1).reshape(-1, table.shape[1])
        rows = [left[-1:], halves]
        for groups in self.wide:
            bins = table[self.splits.layout.bins(groups.attribute)]
            starts = np.flatnonzero(np.diff(groups.group, prepend=-1))
            rows.append(np.add.reduceat(bins, starts, axis=0))
        return np.concatenate([*rows, sums[len(self.bins) :]])

    def chosen(self, place: int) -> BinarySplit | BinGroups | int:
        """What a partition is by; a grid by its place among the kernel's trees."""
        if place < len(self.splits):
            return self.splits[place - 1] if place else BinarySplit()
        place -= len(self.splits)
        if place < len(self.wide):
            return self.wide[place]
        return place - len(self.wide) + len(self.splits.layout.cuts)

    @cached_property
    def _ends(self) -> NDArray[np.int64]:
        """Where the leaves of each tree end; nodes of a tree are side by side."""
        trees = self.kernel.trees
        ends = np.searchsorted(trees.leaves, np.append(trees.roots[1:], trees.n_nodes))
        return frozen(ends, np.int64)

    def _asked(self, grid: int) -> set[int]:
        """The attributes of a grid."""
        trees, place = self.kernel.trees, grid + len(self.splits.layout.cuts)
        nodes = slice(trees.roots[place], np.append(trees.roots, trees.n_nodes)[place + 1])
        return set(trees.attribute[nodes][trees.attribute[nodes] >= 0].tolist())


def _are_apart(trees: Trees, domain: Domain) -> bool:
    """Whether each tree's nodes lie between its root and the next tree's."""
    if np.any(np.diff(trees.roots) <= 0):
        return False
    tree = np.searchsorted(trees.roots, np.arange(trees.n_nodes), side="right")
    inner = np.flatnonzero(trees.first_child >= 0)
    first = trees.first_child[inner]
    last = first + trees.widths(domain)[inner] - 1
    return bool(np.all((tree[first] == tree[inner]) & (tree[last] == tree[inner])))
