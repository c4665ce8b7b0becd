"""Partitions of all records, from which one is chosen together with a label for each of its parts."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frith._arrays import frozen
from frith.errors import FormatError
from frith.kernels.choices import Candidates
from frith.kernels.levels import SplitCounts, SplitTables
from frith.kernels.naming import both_sides, check_all_asked
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
    """Everybody, every split in two, every value of an attribute, or a number in several intervals.

    A partition's score with a label for each part is the number of records that get their own
    label: one more record is in one part of every partition, so it raises each by 0 or by 1.
    Beforehand the three kinds are alike, but everybody weighs e times as much; so are the
    partitions of a kind, and all labelings of one partition.
    """

    kernel: SplitCounts
    splits: BinarySplits

    def __post_init__(self) -> None:
        check_all_asked(self.kernel, self.splits)
        if len(self.kernel.open_nodes) != 1 or self.kernel.trees.n_nodes != 1:
            raise FormatError("a partition is one of all records")

    @functools.cached_property
    def wide(self) -> list[BinGroups]:
        """The partitions in more than two parts."""
        layout, found = self.kernel.layout, []
        for a, size in enumerate(np.diff(layout.starts).tolist()):
            counts: tuple[int, ...] = _GROUPS
            if not layout.is_numeric(a):
                counts = (size,) if 3 <= size <= _MOST_VALUES else ()
            for count in counts:
                if count <= size:
                    groups = np.arange(size) * count // size
                    found.append(BinGroups(a, frozen(groups, np.int64)))
        return found

    @functools.cached_property
    def parts(self) -> tuple[int, ...]:
        """How many parts each partition has: everybody, the splits, then the wide ones."""
        return (1, *[2] * (len(self.splits) - 1), *(groups.count for groups in self.wide))

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def weights(self) -> NDArray[np.float64]:
        """The logarithms of public weights."""
        log_labels = math.log(self.domain.n_labels)
        splits = self.splits.weights[:-1] - math.log(max(1, len(self.splits) - 1))
        favored = [self.kernel.layout.advantages[groups.attribute] for groups in self.wide]
        wide = np.array(favored) - math.log(max(1, len(self.wide)))
        return np.concatenate([[1.0], splits, wide]) - np.array(self.parts) * log_labels

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """The label counts of every part of every partition, below each other: what each label of
        a part adds to a score."""
        table = SplitTables(self.kernel).take(sums)[0]
        left, right = both_sides(self.splits, table)
        halves = np.stack([left[:-1], right[:-1]], axis=1).reshape(-1, table.shape[1])
        rows = [left[-1:], halves]
        for groups in self.wide:
            bins = table[self.kernel.layout.bins(groups.attribute)]
            starts = np.flatnonzero(np.diff(groups.group, prepend=-1))
            rows.append(np.add.reduceat(bins, starts, axis=0))
        return np.concatenate(rows)

    def chosen(self, place: int) -> BinarySplit | BinGroups:
        """What a partition is by."""
        if place < len(self.splits):
            return self.splits[place - 1] if place else BinarySplit()
        return self.wide[place - len(self.splits)]
