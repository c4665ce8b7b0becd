"""Questions with two answers: a list of candidates to choose from, and trees that ask them.

All of it is public: candidates follow from the domain, and trees from the choices.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.gradients import GradientSums
from frith.layout import Layout
from frith.structure import Trees

GROUPED = 12
"""Of an attribute with at most so many values, every grouping in two is a candidate."""
_GROUPING = 0.7  # how much of the logarithm of their number groupings pay for being many


@dataclass(frozen=True, eq=False)
class Question:
    """Whether a record's code is on the left. Without an attribute it is for everybody."""

    attribute: int = -1
    cut: int = -1
    members: NDArray[np.bool_] | None = None

    def left(self, size: int) -> NDArray[np.bool_]:
        """Which of the attribute's codes go left."""
        return np.arange(size) < self.cut if self.members is None else self.members


@dataclass(frozen=True, eq=False)
class Questions:
    """Every question that a step may choose, with both signs; the last one is for everybody.

    Numbers are cut, attributes of few values grouped in any two parts, others cut in their declared
    order or asked for one value.

    A score is the sum of a record's g over the left side minus that over the right side, or the
    reverse. One more record moves each by g or by -g, so the range of the list is 2 `most`.
    """

    layout: Layout

    @functools.cached_property
    def _families(self) -> list[tuple[int, NDArray[np.int64] | None]]:
        """For each attribute, cuts between its bins (None), or the sets of bins on the left."""
        families: list[tuple[int, NDArray[np.int64] | None]] = []
        for a, attribute in enumerate(self.layout.domain.attributes):
            size = attribute.size
            if self.layout.is_numeric(a) or size > 3:
                families.append((a, None))
            if self.layout.is_numeric(a) or size < 2:
                continue
            families.append((a, np.eye(size, dtype=np.int64)[: 1 if size == 2 else size]))
            if 3 < size <= GROUPED:
                numbers = np.arange(1, 2 ** (size - 1))[:, None]
                families.append((a, (numbers >> np.arange(size)) & 1))
        return families

    @functools.cached_property
    def _sizes(self) -> list[int]:
        bins = np.diff(self.layout.starts)
        return [int(bins[a]) - 1 if sets is None else len(sets) for a, sets in self._families]

    def __len__(self) -> int:
        return sum(self._sizes) + 1

    def __getitem__(self, place: int) -> Question:
        for (a, sets), size in zip(self._families, self._sizes, strict=True):
            if place < size:
                if sets is not None:
                    return Question(a, members=sets[place].astype(bool))
                if self.layout.is_numeric(a):
                    return Question(a, cut=int(self.layout.cuts[a][place]))
                below = np.arange(self.layout.domain.attributes[a].size) <= place
                return Question(a, members=below)
            place -= size
        if place > 0:
            raise IndexError("there are no more questions")
        return Question()

    @functools.cached_property
    def weights(self) -> NDArray[np.float64]:
        """The logarithm of each question's public weight: groupings are many, so each has less."""
        parts = [
            np.full(size, -_GROUPING * math.log(size) if _is_grouping(sets) else 0.0)
            for (_, sets), size in zip(self._families, self._sizes, strict=True)
        ]
        return np.concatenate([*parts, [0.0]])

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Left minus right of every question, from the sums of every bin (along the first axis)."""
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


@dataclass(frozen=True, eq=False)
class SignedQuestions:
    """What a step chooses from: every question, each followed by itself with the sign turned.

    `bonus` is a public advantage of the question for everybody, as the logarithm of a weight.
    """

    questions: Questions
    kernel: GradientSums
    bonus: float = 0.0

    @property
    def range_(self) -> int:
        return 2 * self.kernel.most

    def __len__(self) -> int:
        return 2 * len(self.questions)

    def scores(self, sums: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        weights = self.questions.weights.copy()
        weights[-1] += self.bonus
        prior = np.round(scale * weights).astype(np.int64)
        scores = self.questions.scores(sums)
        return np.column_stack([prior + scores, prior - scores]).ravel()

    def chosen(self, place: int) -> tuple[Question, int]:
        """The question and its sign."""
        return self.questions[place // 2], 1 if place % 2 == 0 else -1


@dataclass
class _Leaf:
    node: int
    signs: list[int]
    possible: dict[int, NDArray[np.bool_]]


@dataclass
class ObliviousTree:
    """A tree that asks one question a level; leaves that no record could reach are not made."""

    domain: Domain
    attribute: list[int] = field(default_factory=lambda: [-1])
    cut: list[int] = field(default_factory=lambda: [-1])
    first_child: list[int] = field(default_factory=lambda: [-1])
    sets: list[NDArray[np.bool_]] = field(default_factory=list)
    leaves: list[_Leaf] = field(default_factory=lambda: [_Leaf(0, [], {})])

    def ask(self, question: Question) -> None:
        self.leaves = [part for leaf in self.leaves for part in self._parts(leaf, question)]

    def _parts(self, leaf: _Leaf, question: Question) -> list[_Leaf]:
        a = question.attribute
        if a < 0:
            return [_Leaf(leaf.node, [*leaf.signs, 1], leaf.possible)]
        size = self.domain.attributes[a].size
        possible, left = leaf.possible.get(a, np.ones(size, dtype=bool)), question.left(size)
        sides = [(1, possible & left), (-1, possible & ~left)]
        reached = [(sign, codes) for sign, codes in sides if codes.any()]
        if len(reached) == 1:
            return [_Leaf(leaf.node, [*leaf.signs, reached[0][0]], leaf.possible)]
        first = self._split(leaf.node, question)
        return [
            _Leaf(first + i, [*leaf.signs, sign], leaf.possible | {a: codes})
            for i, (sign, codes) in enumerate(reached)
        ]

    def _split(self, node: int, question: Question) -> int:
        first = len(self.attribute)
        self.attribute[node], self.first_child[node] = question.attribute, first
        self.cut[node] = question.cut
        if question.members is not None:
            self.cut[node] = -2 - len(self.sets)
            self.sets.append(question.members)
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
        """For each leaf of `trees()`, in order, on which side of each question it is: +1 or -1."""
        return np.array([leaf.signs for leaf in sorted(self.leaves, key=lambda leaf: leaf.node)])


def ask_once(domain: Domain, question: Question) -> Trees:
    """A tree of one question; of none, if it is for everybody."""
    tree = ObliviousTree(domain)
    tree.ask(question)
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
