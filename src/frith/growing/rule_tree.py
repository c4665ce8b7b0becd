"""A shallow tree of the splits that move a forest's scores most, whose leaves are rules to count.

Post-processing: it reads a released forest and nothing else. Its leaves are disjoint, so that a record
meets one of them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.forest.importance import gains_of_splits
from frith.forest.intervals import LEVEL, deviation, noise_factor
from frith.forest.nodes import Nodes
from frith.forest.trees import Trees
from frith.forest.voting import VotingTrees
from frith.growing.builder import TreeBuilder
from frith.privacy.mechanisms import DiscreteLaplace

MAX_RULES = 16
"""The most leaves: few enough to read, and to have records."""
MAX_CONDITIONS = 4


@dataclass(frozen=True)
class _Split:
    """What a node asks: every value apart (`cut` -1), a cut, or a set of values (by its members)."""

    attribute: int
    cut: int
    members: tuple[bool, ...] = ()

    def sides(self, size: int) -> list[NDArray[np.bool_]]:
        """The codes that go to each child."""
        if self.members:
            left = np.array(self.members)[:size]
        elif self.cut < 0:
            return list(np.eye(size, dtype=bool))
        else:
            left = np.arange(size) < self.cut
        return [left, ~left]


def margin_of_rules(epsilon: Fraction, n_labels: int) -> int:
    """How far the stated support of rules may be off, if they are counted for this epsilon."""
    factor = noise_factor((1 - LEVEL) / (2 * MAX_RULES * (n_labels + 1)))
    noise = deviation(np.array(DiscreteLaplace(epsilon, 1).variance), factor)
    return math.ceil(factor * math.sqrt(n_labels) * float(noise))


def rule_tree(forest: VotingTrees) -> Trees:
    """The strongest splits one after another, each at every leaf, while there are few leaves."""
    tree = _RuleTree(forest.domain)
    for split in _strongest_first(forest):
        tree.ask(split)
    return tree.builder.trees()


def _strongest_first(forest: VotingTrees) -> list[_Split]:
    """The forest's splits by how far they move scores, all trees together."""
    nodes, trees = Nodes(forest), forest.trees
    gain, _ = gains_of_splits(nodes)
    by_tree: dict[tuple[_Split, int], float] = defaultdict(float)
    for node in np.flatnonzero(trees.attribute >= 0).tolist():
        cut, members = int(trees.cut[node]), ()
        if cut < -1:
            size = forest.domain.attributes[trees.attribute[node]].size
            cut, members = -2, tuple(trees.members(node)[:size].tolist())
        split = _Split(int(trees.attribute[node]), cut, members)
        by_tree[split, int(nodes.tree[node])] += max(0.0, float(gain[node]))
    strength: dict[_Split, float] = defaultdict(float)
    for (split, _), moved in by_tree.items():
        strength[split] += moved**0.5  # moves add up over trees, their squares do not
    return sorted(strength, key=lambda split: -strength[split])


@dataclass
class _Leaf:
    node: int
    possible: dict[int, NDArray[np.bool_]] = field(default_factory=dict)


@dataclass
class _RuleTree:
    domain: Domain
    builder: TreeBuilder = field(default_factory=TreeBuilder)
    leaves: list[_Leaf] = field(default_factory=lambda: [_Leaf(0)])
    asked: int = 0

    def ask(self, split: _Split) -> None:
        """Split every leaf that the question divides, unless that makes too many."""
        size = self.domain.attributes[split.attribute].size
        if split.cut == -1 and size > MAX_RULES:  # not even one leaf may have so many
            return
        sides = split.sides(size)
        parts = [self._parts(leaf, split, sides) for leaf in self.leaves]
        many = sum(max(1, len(p)) for p in parts)
        if self.asked == MAX_CONDITIONS or many > MAX_RULES or many == len(self.leaves):
            return
        self.asked += 1
        leaves = []
        for leaf, part in zip(self.leaves, parts, strict=True):
            children = self._split(leaf.node, split) if part else ()
            leaves += [
                _Leaf(child, leaf.possible | {split.attribute: codes})
                for child, codes in zip(children, part, strict=True)
            ] or [leaf]
        self.leaves = leaves

    def _parts(
        self, leaf: _Leaf, split: _Split, sides: list[NDArray[np.bool_]]
    ) -> list[NDArray[np.bool_]]:
        """The codes of each child; none where one of them would be out of reach."""
        possible = leaf.possible.get(split.attribute, np.ones(len(sides[0]), dtype=bool))
        parts = [possible & side for side in sides]
        return parts if all(part.any() for part in parts) else []

    def _split(self, node: int, split: _Split) -> range:
        if split.members:
            return self.builder.split_by_set(node, split.attribute, np.array(split.members))
        size = self.domain.attributes[split.attribute].size
        return self.builder.split(node, split.attribute, split.cut, size if split.cut < 0 else 2)
