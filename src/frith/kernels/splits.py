"""Splits in two: the public list that a boosted forest chooses its next step from."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith._cached import cached_property
from frith.kernels.base import MAX_CELLS
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
        """For each attribute: cuts between its bins (None), single bins on the left (their numbers), or
        sets of bins on the left (a row of zeros and ones each)."""
        families: list[tuple[int, NDArray[np.int64] | None]] = []
        for a, attribute in enumerate(self.layout.domain.attributes):
            size = attribute.size
            if self.layout.is_numeric(a) or size > 3:
                families.append((a, None))
            if self.layout.is_numeric(a) or size < 2:
                continue
            families.append((a, frozen(np.arange(1 if size == 2 else size), np.int64)))
            if 3 < size <= GROUPED:
                families.append((a, _groupings(size)))
        return families

    @cached_property
    def _sizes(self) -> list[int]:
        bins = np.diff(self.layout.starts)
        return [int(bins[a]) - 1 if sets is None else len(sets) for a, sets in self._families]

    def __len__(self) -> int:
        return sum(self._sizes) + 1

    @property
    def fit(self) -> bool:
        """Whether one question may score all of them: with either sign, or for every label."""
        return len(self) * max(2, self.layout.domain.n_outputs) <= MAX_CELLS

    def __getitem__(self, place: int) -> BinarySplit:
        for (a, sets), size in zip(self._families, self._sizes, strict=True):
            if place < size:
                if self.layout.is_numeric(a):
                    return BinarySplit(a, cut=int(self.layout.cuts[a][place]))
                if _is_grouping(sets):
                    return BinarySplit(a, members=sets[place].astype(bool))
                codes = np.arange(self.layout.domain.attributes[a].size)
                return BinarySplit(
                    a, members=codes <= place if sets is None else codes == sets[place]
                )
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
        left = (_left(sums[self.layout.bins(a)], sets) for a, sets in self._families)
        return np.concatenate([*(2 * part - total for part in left), total[None]])


@functools.cache
def _groupings(size: int) -> NDArray[np.int64]:
    numbers = np.arange(1, 2 ** (size - 1))[:, None]
    return frozen((numbers >> np.arange(size)) & 1, np.int64)


def _is_grouping(sets: NDArray[np.int64] | None) -> TypeGuard[NDArray[np.int64]]:
    return sets is not None and sets.ndim == 2


def _left(bins: NDArray[np.int64], sets: NDArray[np.int64] | None) -> NDArray[np.int64]:
    """The left side of every split of a family, from the sums of its attribute's bins."""
    if sets is None:
        return np.cumsum(bins, axis=0)[:-1]
    return sets @ bins if _is_grouping(sets) else bins[sets]
