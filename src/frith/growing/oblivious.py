"""Trees of splits in two, made one split at a time. All of it is public: it follows from choices."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.forest.trees import Trees
from frith.kernels.splits import BinarySplit


@dataclass
class _Leaf:
    node: int
    signs: list[int]
    possible: dict[int, NDArray[np.bool_]]


@dataclass
class ObliviousTree:
    """A tree with one split a level; leaves that no record could reach are not made."""

    domain: Domain
    attribute: list[int] = field(default_factory=lambda: [-1])
    cut: list[int] = field(default_factory=lambda: [-1])
    first_child: list[int] = field(default_factory=lambda: [-1])
    sets: list[NDArray[np.bool_]] = field(default_factory=list)
    leaves: list[_Leaf] = field(default_factory=lambda: [_Leaf(0, [], {})])

    def ask(self, split: BinarySplit) -> None:
        self.leaves = [part for leaf in self.leaves for part in self._parts(leaf, split)]

    def _parts(self, leaf: _Leaf, split: BinarySplit) -> list[_Leaf]:
        a = split.attribute
        if a < 0:
            return [_Leaf(leaf.node, [*leaf.signs, 1], leaf.possible)]
        size = self.domain.attributes[a].size
        possible, left = leaf.possible.get(a, np.ones(size, dtype=bool)), split.left(size)
        sides = [(1, possible & left), (-1, possible & ~left)]
        reached = [(sign, codes) for sign, codes in sides if codes.any()]
        if len(reached) == 1:
            return [_Leaf(leaf.node, [*leaf.signs, reached[0][0]], leaf.possible)]
        first = self._split(leaf.node, split)
        return [
            _Leaf(first + i, [*leaf.signs, sign], leaf.possible | {a: codes})
            for i, (sign, codes) in enumerate(reached)
        ]

    def _split(self, node: int, split: BinarySplit) -> int:
        first = len(self.attribute)
        self.attribute[node], self.first_child[node] = split.attribute, first
        self.cut[node] = split.cut
        if split.members is not None:
            self.cut[node] = -2 - len(self.sets)
            self.sets.append(split.members)
        for column in (self.attribute, self.cut, self.first_child):
            column.extend([-1, -1])
        return first

    def trees(self) -> Trees:
        width = max((len(s) for s in self.sets), default=0)
        sets = np.zeros((len(self.sets), width), dtype=bool)
        for row, members in zip(sets, self.sets, strict=True):
            row[: len(members)] = members
        attribute, cut, first_child = (
            np.array(column, dtype=np.int32)
            for column in (self.attribute, self.cut, self.first_child)
        )
        return Trees(np.zeros(1, dtype=np.int32), attribute, cut, first_child, sets)

    @property
    def signs(self) -> NDArray[np.int64]:
        """For each leaf of `trees()`, in order, on which side of each split it is: +1 or -1."""
        return np.array([leaf.signs for leaf in sorted(self.leaves, key=lambda leaf: leaf.node)])


def ask_once(domain: Domain, split: BinarySplit) -> Trees:
    """A tree of one split; a single leaf, if it sends everybody left."""
    tree = ObliviousTree(domain)
    tree.ask(split)
    return tree.trees()


def join_trees(parts: list[Trees]) -> Trees:
    """The trees of all parts side by side."""
    width = max((part.sets.shape[1] for part in parts), default=0)
    nodes = np.cumsum([0, *(part.n_nodes for part in parts)])
    sets = np.cumsum([0, *(len(part.sets) for part in parts)])
    return Trees(
        np.concatenate([p.roots + n for p, n in zip(parts, nodes, strict=False)]).astype(np.int32),
        np.concatenate([p.attribute for p in parts]),
        np.concatenate(
            [np.where(p.cut < -1, p.cut - s, p.cut) for p, s in zip(parts, sets, strict=False)]
        ).astype(np.int32),
        np.concatenate(
            [
                np.where(p.first_child < 0, -1, p.first_child + n)
                for p, n in zip(parts, nodes, strict=False)
            ]
        ).astype(np.int32),
        np.concatenate([np.pad(p.sets, ((0, 0), (0, width - p.sets.shape[1]))) for p in parts]),
    )
