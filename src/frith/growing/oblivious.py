"""Trees of splits in two, made one split at a time. All of it is public: it follows from choices."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.forest.trees import Trees
from frith.growing.builder import TreeBuilder
from frith.kernels.splits import BinarySplit

_Sides = tuple[tuple[int, int], ...]
"""The signs of a split's two sides, and the codes of each as the bits of a number: quick to intersect."""


@dataclass
class _Leaf:
    node: int
    signs: list[int]
    possible: dict[int, int]


@dataclass
class ObliviousTree:
    """A tree with one split a level; leaves that no record can reach are left out."""

    domain: Domain
    builder: TreeBuilder = field(default_factory=TreeBuilder)
    leaves: list[_Leaf] = field(default_factory=lambda: [_Leaf(0, [], {})])

    def ask(self, split: BinarySplit) -> None:
        a = split.attribute
        left = split.left(self.domain.attributes[a].size) if a >= 0 else np.ones(1, dtype=bool)
        sides = ((1, _bits(left)), (-1, _bits(~left)))
        self.leaves = [part for leaf in self.leaves for part in self._parts(leaf, split, sides)]

    def _parts(self, leaf: _Leaf, split: BinarySplit, sides: _Sides) -> list[_Leaf]:
        a = split.attribute
        if a < 0:
            return [_Leaf(leaf.node, [*leaf.signs, 1], leaf.possible)]
        possible = leaf.possible.get(a, -1)  # all bits
        reached = [(sign, both) for sign, side in sides if (both := possible & side)]
        if len(reached) == 1:
            return [_Leaf(leaf.node, [*leaf.signs, reached[0][0]], leaf.possible)]
        children = self.builder.ask(leaf.node, split)
        return [
            _Leaf(child, [*leaf.signs, sign], leaf.possible | {a: codes})
            for child, (sign, codes) in zip(children, reached, strict=True)
        ]

    def trees(self) -> Trees:
        return self.builder.trees()

    @property
    def signs(self) -> NDArray[np.int64]:
        """For each leaf of `trees()`, in order, on which side of each split it is: +1 or -1."""
        return np.array([leaf.signs for leaf in sorted(self.leaves, key=lambda leaf: leaf.node)])


def _bits(codes: NDArray[np.bool_]) -> int:
    return int.from_bytes(np.packbits(codes, bitorder="little").tobytes(), "little")


def ask_once(domain: Domain, split: BinarySplit) -> Trees:
    """A tree of one split; a single leaf, if it sends everybody left."""
    tree = ObliviousTree(domain)
    tree.ask(split)
    return tree.trees()
