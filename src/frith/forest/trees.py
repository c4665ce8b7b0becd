"""The public shape of a forest: trees as plain arrays, and the walk of a record down one of them.

Whatever comes from outside passes `Trees.from_json`, the strict reader, and `check`: loops over
nodes run on structures that passed, and on nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith._cached import cached_property
from frith._jit import compiled
from frith.domain import Categorical, Domain
from frith.errors import FormatError

MAX_NODES = 2**26
"""The public cap on the nodes of one structure."""
_NO_CODE = 2**32 - 1
_TREE_ARRAYS = ("roots", "attribute", "cut", "first_child")


@dataclass(frozen=True, eq=False)
class Trees(Rebuilt):
    """The public shape of a forest: nodes of all trees in one row of arrays, none of them writable.

    A node splits on `attribute`. Its children are consecutive from `first_child`: one for each value of
    a categorical attribute (`cut` is -1), two for a numeric one, codes below `cut` on the left. A
    node may also ask whether a categorical value is in a set: `cut` is then -2 - s, and
    codes in row s of `sets` go left, others right. Children come after their parents. In a leaf
    all three numbers are -1.
    """

    roots: NDArray[np.int32]
    attribute: NDArray[np.int32]
    cut: NDArray[np.int32]
    first_child: NDArray[np.int32]
    sets: NDArray[Any] = field(default_factory=lambda: np.zeros((0, 0), dtype=bool))

    def __post_init__(self) -> None:
        for name in _TREE_ARRAYS:
            object.__setattr__(self, name, frozen(getattr(self, name), np.int32))
        object.__setattr__(self, "sets", frozen(self.sets, np.bool_))

    @property
    def n_trees(self) -> int:
        return len(self.roots)

    @property
    def n_nodes(self) -> int:
        return len(self.attribute)

    @cached_property
    def leaves(self) -> NDArray[np.int64]:
        """The leaf nodes, in order."""
        return frozen(np.flatnonzero(self.attribute < 0), np.int64)

    @cached_property
    def nodes(self) -> NDArray[np.int32]:
        """Attribute, cut, first child and leaf number side by side, as the kernels walk them."""
        leaf_number = np.full(self.n_nodes, -1, dtype=np.int32)
        leaf_number[self.leaves] = np.arange(len(self.leaves), dtype=np.int32)
        columns = [self.attribute, self.cut, self.first_child, leaf_number]
        return frozen(np.column_stack(columns), np.int32)

    @cached_property
    def steps(self) -> NDArray[np.uint32]:
        """What `step` reads of each node, if no split is by a set; a leaf leads to itself.

        The attribute, the smallest code that goes one child further, a mask of codes that go as many
        children further as they are, and the first child.
        """
        leaf, nodes = self.attribute < 0, np.arange(self.n_nodes)
        by_value = ~leaf & (self.cut == -1)
        columns = [
            np.where(leaf, 0, self.attribute),
            np.where(leaf | by_value, _NO_CODE, self.cut),
            np.where(by_value, _NO_CODE, 0),
            np.where(leaf, nodes, self.first_child),
        ]
        return frozen(np.column_stack(columns), np.uint32)

    @cached_property
    def asked(self) -> tuple[int, ...]:
        """The attributes that some node splits on, ascending."""
        return tuple(int(a) for a in np.unique(self.attribute[self.attribute >= 0]))

    def children(self, node: int, domain: Domain) -> range:
        first = int(self.first_child[node])
        is_set = self.cut[node] < -1
        return range(
            first, first + (2 if is_set else domain.attributes[self.attribute[node]].branches)
        )

    def heights(self, domain: Domain) -> NDArray[np.int32]:
        """For each tree the most splits on a path."""
        return frozen(_heights(self.first_child, self.widths(domain))[self.roots], np.int32)

    def widths(self, domain: Domain) -> NDArray[np.int32]:
        """How many children each node has."""
        branches = np.array([a.branches for a in domain.attributes], dtype=np.int32)
        inner = self.attribute >= 0
        asked = branches[np.where(inner, self.attribute, 0)]
        return np.where(inner, np.where(self.cut < -1, np.int32(2), asked), np.int32(0))

    def members(self, node: int) -> NDArray[np.bool_]:
        """Which codes a split by a set sends left."""
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
        """The strict reader: trees that are legal for a domain, or `FormatError`."""
        if not isinstance(data, dict) or not {*_TREE_ARRAYS} <= data.keys() <= {
            *_TREE_ARRAYS,
            "sets",
        }:
            raise FormatError(
                f"trees are an object of {', '.join(_TREE_ARRAYS)} and sets, and of nothing else"
            )
        arrays = {n: read_integers(data[n], np.int32, n) for n in _TREE_ARRAYS}
        trees = cls(**arrays, sets=_read_sets(data.get("sets", []), domain))
        trees.check(domain)
        return trees

    def check(self, domain: Domain) -> None:
        """Raise `FormatError` unless these are disjoint trees over codes of the domain.

        Trees that were checked for domains of other codes are walked for all of them: a table of their
        leaves is as long as one domain has codes, and another's would lie beyond its end.
        """
        before = self.__dict__.get("_legal_for")
        if before is domain:
            return
        self._check_arrays()
        self._check_splits(domain)
        self._check_family(domain)
        if before is not None and not before.same_codes(domain):
            object.__setattr__(self, "_has_other_codes", True)
        object.__setattr__(self, "_legal_for", domain)

    def _check_arrays(self) -> None:
        """One row of numbers each, not too long; a leaf is written in one way only."""
        if {self.attribute.shape, self.cut.shape, self.first_child.shape} != {(self.n_nodes,)}:
            raise FormatError("the forest's node arrays differ in length")
        if self.n_nodes > MAX_NODES:
            raise FormatError(f"the forest has more than {MAX_NODES:,} nodes")
        if self.roots.ndim != 1 or len(self.roots) == 0:
            raise FormatError("the forest has no tree")
        if not np.all((self.roots >= 0) & (self.roots < self.n_nodes)):
            raise FormatError("the forest has a tree without a root")
        leaves = self.attribute < 0
        if np.any(self.attribute < -1) or np.any((self.cut != -1) & leaves):
            raise FormatError("the forest has a leaf with a split; in a leaf all numbers are -1")
        if np.any((self.first_child != -1) & leaves):
            raise FormatError("the forest has a leaf with children; in a leaf all numbers are -1")

    def _check_splits(self, domain: Domain) -> None:
        """Every split is one that the domain has."""
        inner = self.attribute >= 0
        asked, cut = self.attribute[inner], self.cut[inner]
        if len(asked) and asked.max() >= len(domain.attributes):
            raise FormatError("the forest splits on an attribute that its domain does not have")
        sizes = np.array([a.size for a in domain.attributes], dtype=np.int64)[asked]
        numeric = np.array([not isinstance(a, Categorical) for a in domain.attributes])[asked]
        if np.any((cut >= 0) != numeric):
            raise FormatError(
                "the forest has a cut on a categorical attribute, or none on a number"
            )
        if np.any(cut > sizes):
            raise FormatError("the forest has a cut that its attribute does not have")
        has_set = cut < -1
        if self.sets.ndim != 2 or np.any(-2 - cut[has_set].astype(np.int64) >= len(self.sets)):
            raise FormatError("the forest splits by a set that it does not have")
        if np.any(sizes[has_set] > self.sets.shape[1]):
            raise FormatError("the forest splits by a set that it does not have")

    def _check_family(self, domain: Domain) -> None:
        """Children come after their parents, and every node is a root or one node's child."""
        inner = self.attribute >= 0
        first, widths = self.first_child[inner].astype(np.int64), self.widths(domain)[inner]
        if np.any(first <= np.flatnonzero(inner)) or np.any(first + widths > self.n_nodes):
            raise FormatError("the forest has a node whose children are out of place")
        if (
            int(widths.sum(dtype=np.int64)) + self.n_trees > self.n_nodes
        ):  # before naming each child
            raise FormatError("the forest has a node that two paths reach; no tree has one")
        above = np.repeat(first - np.cumsum(widths) + widths, widths)
        reached = np.concatenate([self.roots, above + np.arange(len(above))])
        times = np.bincount(reached, minlength=self.n_nodes)
        if np.any(times > 1):
            raise FormatError("the forest has a node that two paths reach; no tree has one")
        if np.any(times == 0):
            raise FormatError("the forest has a node that no path reaches")


def read_integers(data: Any, dtype: Any, what: str) -> NDArray[Any]:
    """A list of whole numbers that fit the type; numbers alone, no text, no fractions."""
    if type(data) is not list or not all(type(n) is int for n in data):
        raise FormatError(f"{what} must be a list of whole numbers")
    limits = np.iinfo(dtype)
    if data and not limits.min <= min(data) <= max(data) <= limits.max:
        raise FormatError(f"{what} holds a number that is too large")
    return np.array(data, dtype=dtype)


def sum_up(trees: Trees, leaf_values: NDArray[Any], domain: Domain) -> NDArray[Any]:
    """Values of all nodes from those of the leaves: a parent is the sum of its children."""
    trees.check(domain)
    values = np.zeros((trees.n_nodes, leaf_values.shape[1]), dtype=leaf_values.dtype)
    values[trees.leaves] = leaf_values
    _sum_up(trees.first_child, trees.widths(domain), values)
    return values


def _read_sets(lists: Any, domain: Domain) -> NDArray[np.bool_]:
    """One row a set; as wide as the largest categorical attribute."""
    if type(lists) is not list:
        raise FormatError("sets must be a list of lists of whole numbers")
    sizes = [a.size for a in domain.attributes if isinstance(a, Categorical)]
    width = max(sizes, default=0) if lists else 0
    if len(lists) * width > MAX_NODES:
        raise FormatError(f"the forest has sets of more than {MAX_NODES:,} values")
    sets = np.zeros((len(lists), width), dtype=bool)
    for row, data in zip(sets, lists, strict=True):
        codes = read_integers(data, np.int32, "a set")
        if len(codes) and not 0 <= codes.min() <= codes.max() < width:
            raise FormatError("the forest has a set of values that no attribute has")
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
def step(codes, i, node, steps):  # type: ignore[no-untyped-def]
    """The node that record i goes to from `node`; without a branch that a processor could guess wrongly."""
    code = np.uint32(codes[i, steps[node, 0]])
    return steps[node, 3] + (code & steps[node, 2]) + np.uint32(code >= steps[node, 1])


@compiled
def _heights(first_child, widths):  # type: ignore[no-untyped-def]
    """Children are behind their parents."""
    heights = np.zeros(len(widths), dtype=np.int32)
    for node in range(len(widths) - 1, -1, -1):
        for child in range(first_child[node], first_child[node] + widths[node]):
            heights[node] = max(heights[node], heights[child] + 1)
    return heights


@compiled
def _sum_up(first_child, widths, values):  # type: ignore[no-untyped-def]
    for node in range(len(widths) - 1, -1, -1):
        for child in range(first_child[node], first_child[node] + widths[node]):
            values[node] += values[child]
