"""How far to trust a public prior: one private choice, after all else was learned without it.

    own = what the budget learns from the records alone
    choose w by how many records are right with the scores own + w prior;  w = 0 is own alone

A prior that misleads costs the share of that choice, and what a noisy choice loses. What it says never
enters a sensitivity: scores are a function of the record, of public trees and of releases.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.forest import Forest
from frith.forest.kinds import ValueKind
from frith.growing.builder import keep_nodes, single_leaf
from frith.growing.parts import Part
from frith.kernels import StrengthChoice, StrengthCounts
from frith.kernels.gradients import POINT, ScoreColumn

TRUSTS = np.array([0, 10, 1000])
"""The weights to choose from, in tenths: none, as much as the own model, and nearly all.

Weights in between are right for nearly the same records, so noise would choose among them.
"""
_SIGNAL = 30.0  # records that the choice should be able to tell apart
_MOST = Fraction(40, 100)
_LEAST = Fraction(1, 100)
_LARGEST = 30.0  # of a score: e to the 30th is as sure as it gets


def share_of_trust(signal: float) -> Fraction:
    """The share of the budget for the choice: less where records and epsilon are many."""
    wanted = Fraction(round(1000 * min(1.0, _SIGNAL / max(signal, 1.0))), 1000)
    return min(_MOST, max(_LEAST, wanted))


def parts_of(forest: Forest) -> list[Part]:
    """The trees of a forest of scores, one by one; nothing in it is noise that we know of."""
    if forest.kind is not ValueKind.SCORES or forest.domain.has_target:
        raise ValueError(
            "a prior is a forest whose trees multiply, as those of ForestClassifier; this one votes "
            f"by {forest.vote!r}"
        )
    parts = []
    for tree_of_node in _nodes_of_trees(forest):
        tree = keep_nodes(forest.trees, tree_of_node)
        scores = np.clip(forest.values[tree_of_node][tree.leaves], -_LARGEST, _LARGEST)
        parts.append(Part(tree, scores, np.zeros(len(scores))))
    return parts


def _nodes_of_trees(forest: Forest) -> list[NDArray[np.bool_]]:
    """For each tree, which of the forest's nodes are its own."""
    trees, owner = forest.trees, np.full(forest.trees.n_nodes, -1, dtype=np.int64)
    for number, root in enumerate(trees.roots.tolist()):
        open_nodes = [root]
        while open_nodes:
            node = open_nodes.pop()
            owner[node] = number
            if trees.first_child[node] >= 0:
                open_nodes += trees.children(node, forest.domain)
    return [owner == number for number in range(trees.n_trees)]


def trusted(
    curator: CuratorLike, own: list[Part], prior: list[Part], share: Fraction
) -> list[Part]:
    """Both models' trees, the prior's as strong as a private choice for `share` makes them."""
    domain = curator.domain
    nothing = np.zeros((1, domain.n_labels), dtype=np.int32)
    start = _column(curator, own, ScoreColumn(single_leaf(), nothing))
    both = _column(curator, prior, start)
    pick = curator.choose(
        StrengthChoice(StrengthCounts(start, both, TRUSTS, domain)), share, "trust in the prior"
    )
    weight = float(TRUSTS[pick]) / 10
    if not weight:
        return own
    # both may say the same twice, so they are averaged; that changes no label
    kept = [_scaled(part, 1 / (1 + weight)) for part in own]
    return kept + [_scaled(part, weight / (1 + weight)) for part in prior]


def _column(curator: CuratorLike, parts: list[Part], column: ScoreColumn) -> ScoreColumn:
    for part in parts:
        column = ScoreColumn(part.tree, _fixed(part.scores), column)
    curator.derive(column)
    return column


def _fixed(scores: Floats) -> NDArray[np.int32]:
    return np.round(scores * POINT).astype(np.int32)


def _scaled(part: Part, factor: float) -> Part:
    return replace(part, scores=factor * part.scores, variance=factor**2 * part.variance)
