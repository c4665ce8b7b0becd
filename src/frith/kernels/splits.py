"""Splits in two: the public list that a boosted forest chooses its next step from."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith._cached import cached_property
from frith.kernels.layout import Layout

GROUPED = 12
"""An attribute of at most this many values may be grouped in two in every way."""
_GROUPING = 0.7  # how much of the logarithm of their number groupings pay for being many


@dataclass(frozen=True, eq=False)
class BinarySplit:
    """Which codes of an attribute go left. Without an attribute, every record goes left."""

    attribute: int = -1
    cut: int = -1
    members: NDArray[np.bool_] | None = None

    def left(self, size: int) -> NDArray[np.bool_]:
        """Which of the attribute's codes go left."""
        return np.arange(size) < self.cut if self.members is None else self.members


@dataclass(frozen=True, eq=False)
class BinarySplits(Rebuilt):
    """Every split in two that a step may choose; the last one sends every record left.

    Numbers are cut, attributes of few values grouped in any two parts, others cut in their declared
    order or asked for one value.
    """

    layout: Layout

    @cached_property
    def _families(self) -> list[tuple[int, NDArray[np.int64] | None]]:
        """For each attribute, cuts between its bins (None), or the sets of bins on the left."""
        families: list[tuple[int, NDArray[np.int64] | None]] = []
        for a, attribute in enumerate(self.layout.domain.attributes):
            size = attribute.size
            if self.layout.is_numeric(a) or size > 3:
                families.append((a, None))
            if self.layout.is_numeric(a) or size < 2:
                continue
            families.append((a, frozen(np.eye(size)[: 1 if size == 2 else size], np.int64)))
            if 3 < size <= GROUPED:
                numbers = np.arange(1, 2 ** (size - 1))[:, None]
                families.append((a, frozen((numbers >> np.arange(size)) & 1, np.int64)))
        return families

    @cached_property
    def _sizes(self) -> list[int]:
        bins = np.diff(self.layout.starts)
        return [int(bins[a]) - 1 if sets is None else len(sets) for a, sets in self._families]

    def __len__(self) -> int:
        return sum(self._sizes) + 1

    def __getitem__(self, place: int) -> BinarySplit:
        for (a, sets), size in zip(self._families, self._sizes, strict=True):
            if place < size:
                if sets is not None:
                    return BinarySplit(a, members=sets[place].astype(bool))
                if self.layout.is_numeric(a):
                    return BinarySplit(a, cut=int(self.layout.cuts[a][place]))
                below = np.arange(self.layout.domain.attributes[a].size) <= place
                return BinarySplit(a, members=below)
            place -= size
        if place > 0:
            raise IndexError("there are no more splits")
        return BinarySplit()

    @cached_property
    def weights(self) -> NDArray[np.float64]:
        """The logarithm of each split's public weight: groupings are many, so each has less."""
        parts = [
            np.full(size, -_GROUPING * math.log(size) if _is_grouping(sets) else 0.0)
            + self.layout.advantages[a]
            for (a, sets), size in zip(self._families, self._sizes, strict=True)
        ]
        return frozen(np.concatenate([*parts, [0.0]]), np.float64)

    @cached_property
    def attribute_of(self) -> NDArray[np.int64]:
        """The attribute of each split; -1 for the last one, which asks none."""
        attributes = [a for a, _ in self._families]
        return frozen(np.append(np.repeat(attributes, self._sizes), -1), np.int64)

    def differences(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Left minus right of every split, from the sums of every bin (along the first axis)."""
        total = sums[self.layout.bins(0)].sum(axis=0)
        left = [
            np.cumsum(sums[self.layout.bins(a)], axis=0)[:-1]
            if sets is None
            else sets @ sums[self.layout.bins(a)]
            for a, sets in self._families
        ]
        return np.concatenate([*(2 * part - total for part in left), total[None]])


def _is_grouping(sets: NDArray[np.int64] | None) -> bool:
    return sets is not None and bool(np.any(sets.sum(axis=1) > 1))
