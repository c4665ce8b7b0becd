"""Public trees whose leaves partition all records, for a choice that names a label for each of them.

First a tree of bins for each attribute: from its leaves every split in two and every list of intervals of
that attribute can be counted. Then grids, of several attributes in a few parts each: what no attribute
says by itself, two to five often say together, and a choice pays for the logarithm of their number alone.
All of it follows from the layout, the order of attributes included, so nothing of it is learned.
"""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray

from frith.forest.trees import Trees
from frith.growing.additive import bin_tree
from frith.growing.builder import TreeBuilder, join_trees
from frith.kernels.base import MAX_CELLS
from frith.kernels.layout import Layout

_HALVES = (2, 3, 4, 5)  # so many attributes, each in two parts
_PARTS = (3, 4, 5, 6)  # two attributes, each in so many parts
_FEW = 2  # a category is asked for all its values, if it has at most so many more than a number's parts
_MOST_GRIDS = 60  # of a kind
_MOST_LEAVES = 64
_MOST_LISTED = 10_000  # combinations of attributes from which on they are drawn and not listed


def partition_trees(layout: Layout) -> tuple[Trees, NDArray[np.int64]]:
    """A tree of bins for each attribute, then the grids; and the bin of each leaf of the former.

    Of very many labels and attributes only as many grids as one question may count.
    """
    made = [bin_tree(layout, a) for a in range(len(layout.cuts))]
    bins = [layout.starts[a] + bins for a, (_, bins) in enumerate(made)]
    left = MAX_CELLS // layout.domain.n_labels - layout.n_bins  # leaves that can still be counted
    grids = grids_of(layout)
    ends = np.cumsum([len(grid.leaves) for grid in grids])
    trees = [tree for tree, _ in made] + grids[: np.searchsorted(ends, left, side="right")]
    return join_trees(trees), np.concatenate(bins)


def grids_of(layout: Layout) -> list[Trees]:
    """Those of halves, from few attributes to many, then those of two attributes; each of them once."""
    found: dict[tuple[tuple[int, int], ...], Trees] = {}
    for count, parts in [*((count, 2) for count in _HALVES), *((2, parts) for parts in _PARTS)]:
        usable = [a for a in range(len(layout.cuts)) if _is_usable(layout, a, parts)]
        for asked in _combinations(usable, count):
            key = tuple((a, _parts_of(layout, a, parts)) for a in asked)
            if key not in found and math.prod(n for _, n in key) <= _MOST_LEAVES:
                found[key] = _grid(layout, key)
    return list(found.values())


def _is_usable(layout: Layout, attribute: int, parts: int) -> bool:
    size = _size(layout, attribute)
    return size >= 2 and (layout.is_numeric(attribute) or size <= parts + _FEW)


def _size(layout: Layout, attribute: int) -> int:
    """The attribute's bins."""
    return int(layout.starts[attribute + 1] - layout.starts[attribute])


def _parts_of(layout: Layout, attribute: int, parts: int) -> int:
    """In how many parts a grid has an attribute: a number in `parts`, a category in all its values."""
    size = _size(layout, attribute)
    return min(parts, size) if layout.is_numeric(attribute) else size


def _combinations(attributes: list[int], count: int) -> list[tuple[int, ...]]:
    """All of them, or as many as a kind may have, drawn by a generator that is the same for everybody."""
    n, rng = math.comb(len(attributes), count), np.random.default_rng(count)
    if n <= _MOST_GRIDS:
        return list(itertools.combinations(attributes, count))
    if n <= _MOST_LISTED:
        every = list(itertools.combinations(attributes, count))
        return [every[i] for i in sorted(rng.choice(n, _MOST_GRIDS, replace=False))]
    drawn = (rng.choice(len(attributes), count, replace=False) for _ in range(_MOST_GRIDS))
    return sorted({tuple(attributes[i] for i in sorted(places)) for places in drawn})


def _grid(layout: Layout, parts: tuple[tuple[int, int], ...]) -> Trees:
    """A tree with a leaf for every combination of so many parts of some attributes."""
    builder, leaves = TreeBuilder(), [0]
    for a, count in parts:
        leaves = [below for leaf in leaves for below in _ask(builder, leaf, layout, a, count)]
    return builder.trees()


def _ask(builder: TreeBuilder, leaf: int, layout: Layout, attribute: int, parts: int) -> list[int]:
    """Let a leaf ask an attribute; its new leaves. A number's parts have about as many bins each."""
    if not layout.is_numeric(attribute):
        return list(builder.split(leaf, attribute, branches=parts))
    size, found = _size(layout, attribute), []
    for k in range(1, parts):
        cut = int(layout.cuts[attribute][-(-k * size // parts) - 1])
        left, leaf = builder.split(leaf, attribute, cut)
        found.append(left)
    return [*found, leaf]
