"""The public shape of a forest: trees as plain arrays, and the walk of a record down one of them."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.domain import Categorical, Domain
from frith.errors import FormatError
from frith.jit import compiled

_TREE_ARRAYS = ("roots", "attribute", "cut", "first_child")


@dataclass(frozen=True, eq=False)
class Trees:
    """The public shape of a forest: nodes of all trees in one row of arrays.

    A node asks about `attribute` (-1 for a leaf). Its children are consecutive from
    `first_child`: one a value for a categorical attribute (`cut` is -1), two for a numeric one,
    codes below `cut` on the left. A categorical attribute may also be asked whether its value is in
    a set: `cut` is then -2 - s, and codes in row s of `sets` go left, others right. Children come
    after their parents.
    """

    roots: NDArray[np.int32]
    attribute: NDArray[np.int32]
    cut: NDArray[np.int32]
    first_child: NDArray[np.int32]
    sets: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        return len(self.attribute)

    @functools.cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The leaf nodes, in order."""
        return np.flatnonzero(self.attribute < 0)

    @functools.cached_property
    def nodes(self) -> NDArray[np.int32]:
        """Attribute, cut, first child and leaf number side by side, as the kernels walk them."""
        leaf_number = np.full(self.n_nodes, -1, dtype=np.int32)
        leaf_number[self.leaves] = np.arange(len(self.leaves), dtype=np.int32)
        return np.column_stack([self.attribute, self.cut, self.first_child, leaf_number])

    @functools.cached_property
    def asked(self) -> tuple[int, ...]:
        """The attributes that occur, ascending."""
        return tuple(int(a) for a in np.unique(self.attribute[self.attribute >= 0]))

    def children(self, node: int, domain: Domain) -> range:
        first = int(self.first_child[node])
        is_set = self.cut[node] < -1
        return range(
            first, first + (2 if is_set else domain.attributes[self.attribute[node]].branches)
        )

    def widths(self, domain: Domain) -> NDArray[np.int32]:
        """How many children each node has."""
        branches = np.array([*(a.branches for a in domain.attributes), 0], dtype=np.int32)
        return np.where(self.cut < -1, np.int32(2), branches[self.attribute])

    def tree_of(self, domain: Domain) -> NDArray[np.int64]:
        """The tree of each node; -1 where no tree reaches it."""
        tree = np.full(self.n_nodes, -1, dtype=np.int64)
        tree[self.roots] = np.arange(self.n_trees)
        _pass_down(self.first_child, self.widths(domain), tree)
        return tree

    def members(self, node: int) -> NDArray[np.bool_]:
        """Which codes a node that asks for a set sends left."""
        return self.sets[-2 - self.cut[node]]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Trees):
            return NotImplemented
        mine, theirs = self._arrays(), other._arrays()
        return all(np.array_equal(a, b) for a, b in zip(mine, theirs, strict=True))

    def _arrays(self) -> tuple[NDArray[Any], ...]:
        return self.roots, self.attribute, self.cut, self.first_child, self.sets

    def to_json(self) -> dict[str, Any]:
        arrays = {name: getattr(self, name).tolist() for name in _TREE_ARRAYS}
        return arrays | {"sets": [np.flatnonzero(row).tolist() for row in self.sets]}

    @classmethod
    def from_json(cls, data: Any, domain: Domain) -> Trees:
        """Trees that are legal for a domain; raises like `check`, or as plain data do."""
        arrays = {n: np.array(data[n], dtype=np.int32) for n in _TREE_ARRAYS}
        trees = cls(**arrays, sets=_read_sets(data.get("sets", []), domain))
        trees.check(domain)
        return trees

    def check(self, domain: Domain) -> None:
        """Raise `FormatError` unless every walk over codes of the domain ends in a leaf."""
        nodes = np.arange(self.n_nodes)
        inner = self.attribute >= 0
        asked = self.attribute[inner]
        if len(self.cut) != self.n_nodes or len(self.first_child) != self.n_nodes:
            raise FormatError("the forest's node arrays differ in length")
        if len(self.roots) == 0 or not np.all((self.roots >= 0) & (self.roots < self.n_nodes)):
            raise FormatError("the forest has a tree without a root")
        if len(asked) and asked.max() >= len(domain.attributes):
            raise FormatError("the forest asks about an attribute its domain does not have")
        cut, first = self.cut[inner], self.first_child[inner].astype(np.int64)
        sizes = np.array([a.size for a in domain.attributes])[asked]
        numeric = np.array([not isinstance(a, Categorical) for a in domain.attributes])[asked]
        if np.any(self.cut[~inner] < -1):
            raise FormatError("the forest has a leaf that asks for a set")
        if np.any((cut >= 0) != numeric):
            raise FormatError(
                "the forest has a cut on a categorical attribute, or none on a number"
            )
        if np.any(-2 - cut >= len(self.sets)) or np.any(sizes[cut < -1] > self.sets.shape[1]):
            raise FormatError("the forest asks for a set that it does not have")
        if np.any(first <= nodes[inner]) or np.any(
            first + self.widths(domain)[inner] > self.n_nodes
        ):
            raise FormatError("the forest has a node whose children are out of place")
        widths = self.widths(domain)[inner]
        above = np.repeat(first - np.cumsum(widths) + widths, widths)
        times = np.bincount(
            np.concatenate([self.roots, above + np.arange(len(above))]), minlength=self.n_nodes
        )
        if np.any(times > 1):
            raise FormatError("the forest has a node that two paths reach; no tree has one")


def sum_up(trees: Trees, leaf_values: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """Values of all nodes from those of the leaves: a parent is the sum of its children."""
    values = np.zeros((trees.n_nodes, leaf_values.shape[1]), dtype=leaf_values.dtype)
    values[trees.leaves] = leaf_values
    _sum_up(trees.first_child, trees.widths(domain), values)
    return values


def _read_sets(lists: list[list[int]], domain: Domain) -> NDArray[np.bool_]:
    """One row a set; as wide as the largest categorical attribute."""
    if not lists:
        return np.zeros((0, 0), dtype=bool)
    sizes = [a.size for a in domain.attributes if isinstance(a, Categorical)]
    sets = np.zeros((len(lists), max(sizes, default=0)), dtype=bool)
    for row, codes in zip(sets, lists, strict=True):
        if not all(0 <= c < sets.shape[1] for c in codes):
            raise FormatError("the forest asks for a set of values that are none")
        row[codes] = True
    return sets


@compiled
def find_leaf(codes, i, node, nodes, sets):  # type: ignore[no-untyped-def]
    """Walk record i down from `node`; the number of the leaf it ends in."""
    attribute = nodes[node, 0]
    while attribute >= 0:
        code = np.int32(codes[i, attribute])
        cut = nodes[node, 1]
        if cut >= 0:
            branch = np.int32(code >= cut)
        elif cut == -1:
            branch = code
        else:
            branch = np.int32(not sets[-2 - cut, code])
        node = nodes[node, 2] + branch
        attribute = nodes[node, 0]
    return nodes[node, 3]


@compiled
def _pass_down(first_child, widths, values):  # type: ignore[no-untyped-def]
    for node in range(len(widths)):
        for child in range(first_child[node], first_child[node] + widths[node]):
            values[child] = values[node]


@compiled
def _sum_up(first_child, widths, values):  # type: ignore[no-untyped-def]
    for node in range(len(widths) - 1, -1, -1):
        for child in range(first_child[node], first_child[node] + widths[node]):
            values[node] += values[child]
