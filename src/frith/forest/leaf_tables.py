"""Leaves by a table instead of a walk, for trees that ask for few attributes.

A tree tells the codes of an attribute apart in a few *pieces*. With one number for the pieces of all
attributes it asks for, a table has the leaf of every such number. A record then costs one look-up for
each attribute and one for the leaf, and no step waits for another.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from frith._jit import compiled
from frith._threads import shared_lock
from frith.domain import Domain
from frith.forest.trees import Trees, find_leaf

_MAX_PLACES = 2**14
_MAX_ALL = 2**22  # of all trees together; further trees are walked
_MAX_NODES = 2**11  # of a tree: a larger one takes longer to read than its table saves
_one_at_a_time = shared_lock()
STRIP = 512
ENOUGH = 4_096
"""Records from which on making tables pays."""


class LeafTables(NamedTuple):
    """The tables of all trees one after the other, as compiled loops read them.

    Tree t asks for `asked[firsts[t]:firsts[t + 1]]`; what a code of the k-th of these adds to the place
    begins at `steps[begins[k]]`, and leaves by place at `leaves[starts[t]]`. Where `starts[t]` is -1 the
    tree has no table.
    """

    firsts: NDArray[np.int64]
    asked: NDArray[np.int64]
    begins: NDArray[np.int64]
    steps: NDArray[np.int32]
    starts: NDArray[np.int64]
    leaves: NDArray[np.int32]


def leaf_tables(trees: Trees) -> LeafTables | None:
    """Made once for trees that were checked against one domain; None if not, or if against others too."""
    made = trees.__dict__
    domain = made.get("_legal_for")
    if domain is None or "_has_other_codes" in made:
        return None
    with _one_at_a_time:  # threads of a pass come to it together
        if made.get("_leaf_tables", (None, None))[0] is not domain:
            object.__setattr__(trees, "_leaf_tables", (domain, _make(trees, domain)))
        tables: LeafTables = made["_leaf_tables"][1]
    return tables


def no_tables(trees: int) -> LeafTables:
    """For trees that are walked."""
    none = np.empty(0, dtype=np.int64)
    few = np.empty(0, dtype=np.int32)
    return LeafTables(np.zeros(trees + 1, np.int64), none, none, few, np.full(trees, -1), few)


def leaves_of(tree: Trees, codes: NDArray[Any]) -> NDArray[np.int32]:
    """The leaf of every encoded record in the only tree."""
    leaves = np.empty(len(codes), dtype=np.int32)
    tables = leaf_tables(tree) if len(codes) >= ENOUGH else None
    if tables is None or tables.starts[0] < 0:
        _walk(codes, tree.roots[0], tree.nodes, tree.sets, leaves)
    else:
        _look_up_all(codes, tables, leaves)
    return leaves


def _make(trees: Trees, domain: Domain) -> LeafTables:
    firsts, asked, begins, starts = [0], [], [], []
    steps, leaves = [np.empty(0, np.int32)], [np.empty(0, np.int32)]
    n_steps = n_leaves = 0
    for root in trees.roots.tolist():
        pieces = _pieces(trees, root, domain)
        sizes = [int(p.max()) + 1 for p in (pieces or {}).values()]
        n_places = math.prod(sizes)
        has_table = pieces is not None and n_places <= min(_MAX_PLACES, _MAX_ALL - n_leaves)
        starts.append(n_leaves if has_table else -1)
        if pieces is not None and has_table:
            stride = 1
            for (attribute, piece), size in zip(pieces.items(), sizes, strict=True):
                asked.append(attribute)
                begins.append(n_steps)
                steps.append((piece * stride).astype(np.int32))
                n_steps += len(piece)
                stride *= size
            leaves.append(_leaves(trees, root, pieces, sizes))
            n_leaves += n_places
        firsts.append(len(asked))
    return LeafTables(
        np.array(firsts, np.int64), np.array(asked, np.int64), np.array(begins, np.int64),
        np.concatenate(steps), np.array(starts, np.int64), np.concatenate(leaves),
    )  # fmt: skip


def _pieces(trees: Trees, root: int, domain: Domain) -> dict[int, NDArray[np.int64]] | None:
    """For each attribute that a tree asks for, the piece of each code; None if it has too many nodes."""
    nodes, asked = [root], dict[int, list[int]]()
    for node in nodes:
        if len(nodes) > _MAX_NODES:
            return None
        attribute = int(trees.attribute[node])
        if attribute >= 0:
            asked.setdefault(attribute, []).append(node)
            nodes += trees.children(node, domain)
    return {a: _told_apart(trees, where, domain.attributes[a].size) for a, where in asked.items()}


def _told_apart(trees: Trees, nodes: list[int], size: int) -> NDArray[np.int64]:
    cuts, codes = trees.cut[nodes], np.arange(size)
    if np.all(cuts >= 0):
        return np.searchsorted(np.unique(cuts), codes, side="right").astype(np.int64)
    sides = [
        codes >= c if c >= 0 else codes if c == -1 else trees.sets[-2 - c, :size] for c in cuts
    ]
    return np.unique(np.array(sides, dtype=np.int64), axis=1, return_inverse=True)[1].reshape(-1)


def _leaves(
    trees: Trees, root: int, pieces: dict[int, NDArray[np.int64]], sizes: list[int]
) -> NDArray[np.int32]:
    """The leaf of one code of every piece, for all of them together."""
    codes = np.zeros((math.prod(sizes), max(pieces, default=0) + 1), dtype=np.int32)
    rest = np.arange(len(codes))
    for (attribute, piece), size in zip(pieces.items(), sizes, strict=True):
        codes[:, attribute] = np.unique(piece, return_index=True)[1][rest % size]
        rest = rest // size
    out = np.empty(len(codes), dtype=np.int32)
    _walk(codes, root, trees.nodes, trees.sets, out)
    return out


@compiled
def _walk(codes, root, nodes, sets, out):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        out[i] = find_leaf(codes, i, root, nodes, sets)


@compiled
def look_up(codes, start, stop, tree, tables, out):  # type: ignore[no-untyped-def]
    """Write the leaves of records from `start` to before `stop`, in a tree that has a table."""
    firsts, asked, begins, steps, starts, leaves = tables
    for i in range(stop - start):
        out[i] = starts[tree]
    for k in range(firsts[tree], firsts[tree + 1]):
        a, begin = asked[k], np.uint64(begins[k])
        for i in range(start, stop):
            out[i - start] += steps[begin + np.uint64(codes[i, a])]
    for i in range(stop - start):
        out[i] = leaves[np.uint64(out[i])]


@compiled
def _look_up_all(codes, tables, out):  # type: ignore[no-untyped-def]
    for start in range(0, len(codes), STRIP):
        stop = min(start + STRIP, len(codes))
        look_up(codes, start, stop, 0, tables, out[start:stop])
