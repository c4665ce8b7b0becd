"""Random trees: their shape comes from the domain and a seed, before any record is seen."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith._jit import compiled
from frith.domain import Attribute, Domain, Numeric
from frith.errors import TooManyCells
from frith.forest.trees import Trees
from frith.growing.builder import join_trees
from frith.kernels import MAX_CELLS

NUMERIC_USES = 4
"""How often a numeric attribute counts in the depth rule: a path can ask for it again."""


def random_tree_depth(domain: Domain, n_records: int, n_trees: int) -> int:
    """Private-RDT's min(floor(k / 2), floor(log_b n) - 1), at least 1.

    k counts the attributes and b is the mean number of branches of a split. A numeric attribute
    splits in two and can be asked again, so it counts `NUMERIC_USES` times. Large tables are held
    to trees whose expected number of cells stays well under the cap.
    """
    useful = [a for a in domain.attributes if a.size > 1]
    if not useful:
        return 1
    uses = sum(_uses(a) for a in useful)
    branches = Fraction(sum(a.branches * _uses(a) for a in useful), uses)
    max_depth = min(uses // 2, floor_log(n_records, branches) - 1)
    roomy = Fraction(MAX_CELLS // 4, n_trees * domain.n_outputs)
    return max(1, min(max_depth, floor_log(roomy, branches)))


def _uses(attribute: Attribute) -> int:
    return NUMERIC_USES if isinstance(attribute, Numeric) else 1


def floor_log(value: Fraction | int, base: Fraction) -> int:
    """floor(log_base value) by exact comparison, for base > 1; 0 for values under 1."""
    power, exponent = base, 0
    while power <= value:
        power, exponent = power * base, exponent + 1
    return exponent


def grow_random_trees(
    domain: Domain, n_trees: int, max_depth: int, rng: np.random.Generator
) -> Trees:
    """Complete random trees (BuildTreeStructure of Algorithm 2, stopped at `max_depth`).

    A categorical attribute is asked once on a path; a numeric one by a random cut of what the
    path left of its range. A node is a leaf above `max_depth` only where nothing is left to ask.
    """
    anywhere = np.full(n_trees, -1)
    return _grow_all(
        domain,
        anywhere,
        max_depth,
        np.inf,
        0.0,
        rng,
        f"{n_trees} random trees of depth {max_depth}",
    )


def grow_supported_trees(
    domain: Domain, n_trees: int, n_records: int, least: float, rng: np.random.Generator
) -> Trees:
    """Random trees with distinct roots, split while their estimated support is over `least`
    (section 4.3 of DP-RF): records are taken to part evenly at every split."""
    useful = [i for i, a in enumerate(domain.attributes) if a.size > 1]
    roots = rng.permutation(useful)[:n_trees] if useful else np.full(n_trees, -1)
    max_depth = 64  # never reached: supports at least halve
    return _grow_all(
        domain, roots, max_depth, n_records, max(least, 1.0), rng, f"{n_trees} random trees"
    )


def _grow_all(
    domain: Domain,
    root_attributes: NDArray,
    max_depth: int,
    support: float,
    least: float,
    rng: np.random.Generator,
    what: str,
) -> Trees:
    sizes = np.array([a.size for a in domain.attributes], dtype=np.int32)
    numeric = np.array([isinstance(a, Numeric) for a in domain.attributes])
    room = MAX_CELLS // domain.n_outputs  # leaves that the forest may still have
    grown = []
    for root in root_attributes:
        attribute, cut, first = _grow(
            sizes, numeric, int(root), max_depth, float(support), float(least), room, rng
        )
        room -= int(np.sum(attribute < 0))
        if len(attribute) == 0 or room < 0:
            raise TooManyCells(
                f"{what} have more than {MAX_CELLS:,} cells; use fewer or lower trees, or group the "
                "values of large attributes"
            )
        grown.append(Trees(np.zeros(1, dtype=np.int32), attribute, cut, first))
    return join_trees(grown)


@compiled
def _grow(sizes, numeric, root, max_depth, support, least, max_leaves, rng):  # type: ignore[no-untyped-def]
    """One tree in level order: (attribute, cut, first child); empty arrays past `max_leaves`.

    The root asks attribute `root` unless that is -1. A node is split while its estimated support,
    the root's over the branches above it, is over `least`.
    """
    k = len(sizes)
    room = 1024
    attribute = np.full(room, -1, np.int32)
    cut = np.full(room, -1, np.int32)
    first = np.full(room, -1, np.int32)
    parent = np.full(room, -1, np.int32)
    supports = np.full(room, support)
    low = np.empty(k, np.int32)  # what the path left of each attribute: codes low .. high - 1
    high = np.empty(k, np.int32)
    open_ = np.empty(k, np.int32)
    count, start = 1, 0
    for _ in range(max_depth):
        stop = count
        if start == stop:
            break
        for node in range(start, stop):
            if supports[node] <= least:
                continue
            _follow_path(node, parent, attribute, cut, first, numeric, sizes, low, high)
            n_open = 0
            for a in range(k):
                if high[a] - low[a] > 1:
                    open_[n_open] = a
                    n_open += 1
            if n_open == 0:
                continue
            a = open_[int(rng.random() * n_open)]
            if node == 0 and root >= 0:
                a = root
            branches = 2 if numeric[a] else sizes[a]
            if count + branches > 2 * max_leaves + 2:
                return attribute[:0], cut[:0], first[:0]
            while count + branches > room:
                attribute = _twice(attribute)
                cut = _twice(cut)
                first = _twice(first)
                parent = _twice(parent)
                supports = _twice(supports)
                room *= 2
            attribute[node] = a
            first[node] = count
            if numeric[a]:
                cut[node] = low[a] + 1 + int(rng.random() * (high[a] - low[a] - 1))
            parent[count : count + branches] = node
            supports[count : count + branches] = supports[node] / branches
            count += branches
        start = stop
    return attribute[:count], cut[:count], first[:count]


@compiled
def _follow_path(node, parent, attribute, cut, first, numeric, sizes, low, high):  # type: ignore[no-untyped-def]
    """Narrow each attribute to the codes that can reach `node`."""
    low[:] = 0
    high[:] = sizes
    while parent[node] >= 0:
        up = parent[node]
        a, branch = attribute[up], node - first[up]
        if not numeric[a]:
            low[a], high[a] = branch, branch + 1
        elif branch == 0:
            high[a] = min(high[a], cut[up])
        else:
            low[a] = max(low[a], cut[up])
        node = up


@compiled
def _twice(array):  # type: ignore[no-untyped-def]
    longer = np.full(2 * len(array), -1, array.dtype)
    longer[: len(array)] = array
    return longer
