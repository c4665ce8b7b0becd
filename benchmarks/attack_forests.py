"""The forests that are attacked, and what an attacker reads off each: ours, diffprivlib's, and bad ones.

A forest is fitted on a table of zeros and ones. `fit_seen` gives what reconstruction works with: leaves
with noisy counts, leaves with chosen labels, or the choices of a boosted forest's steps.
"""

from __future__ import annotations

import math
import warnings
from typing import Any
from unittest.mock import patch

import numpy as np
from attack_reconstruction import LABELS, Seen, Steps
from attack_sizes import BAD, EXACT, FLAGSHIP, GREEDY, PEER, RANDOM
from attack_tables import Binary

from frith import (
    C45Classifier,
    ForestClassifier,
    GiniForestClassifier,
    ID3Classifier,
    InfoGainForestClassifier,
    RandomDecisionForestClassifier,
    SignalForestClassifier,
)
from frith.curator import Curator
from frith.forest import Forest
from frith.forest.kinds import ValueKind
from frith.kernels.gradients import POINT, UNIT

TREES, DEPTH = 10, 5
COUNTING = {
    RANDOM: (RandomDecisionForestClassifier, {"n_trees": TREES, "max_depth": DEPTH}),
    GREEDY: (GiniForestClassifier, {"n_trees": TREES, "max_depth": DEPTH, "min_support": 4}),
    "SignalForest": (SignalForestClassifier, {}),
    "ID3": (ID3Classifier, {"max_depth": DEPTH}),
    "C45": (C45Classifier, {"max_depth": DEPTH}),
    "InfoGainForest": (InfoGainForestClassifier, {"max_depth": DEPTH}),
}
"""Every learner of ours whose leaves hold counts; the scoreboard has the first two."""
BAD_FACTOR = 100
"""A known-bad forest says epsilon and draws noise for a hundred times as much."""


def fit_seen(name: str, table: Binary, epsilon: float, seed: int) -> tuple[Any, Seen | Steps]:
    """A fitted forest, and what it shows."""
    if name == FLAGSHIP:
        return fit_flagship(table, epsilon)
    if name == PEER:
        return fit_diffprivlib(table, epsilon, seed)
    spent = {EXACT: math.inf, BAD: BAD_FACTOR * epsilon}.get(name, epsilon)
    learner, settings = COUNTING.get(name, COUNTING[RANDOM])
    seeded = {"random_state": seed} if "random_state" in learner().get_params() else {}
    model = learner(table.domain(len(table.y)), epsilon=spent, n_jobs=1, **settings, **seeded)
    model.fit(table.frame(), table.y.astype(str))
    return model, seen_in(model.forest_, len(table.y))


def seen_in(forest: Forest, records: int) -> Seen:
    """The leaves of a forest of counts over zeros and ones, and what each says."""
    if forest.kind is not ValueKind.COUNTS:
        raise ValueError("only leaves that were counted can be read as counts")
    trees = forest.trees
    children = np.zeros((trees.n_nodes, 2), dtype=np.int64)
    for node in np.flatnonzero(trees.attribute >= 0):
        first, sets = int(trees.first_child[node]), trees.cut[node] < -1
        sides = [int(not trees.members(node)[code]) if sets else code for code in (0, 1)]
        children[node] = [first + side for side in sides]
    variance = forest.variance[trees.leaves]
    weight = np.where(variance > 0, np.sqrt(2 / np.where(variance > 0, variance, 1)), 1.0)
    return Seen(
        trees.roots.astype(np.int64), trees.attribute.astype(np.int64), children,
        trees.nodes[:, 3].astype(np.int64), forest.values[trees.leaves].astype(np.float64),
        weight.astype(np.float64), np.full(records, -1),
    )  # fmt: skip


def fit_flagship(table: Binary, epsilon: float) -> tuple[Any, Steps]:
    """The flagship, and each of its choices: a forest's splits, values and log give them away anyway."""
    asked: list[tuple[Any, int]] = []
    real = Curator.choose

    def listen(self: Any, question: Any, share: Any, purpose: str) -> int:
        pick = real(self, question, share, purpose)
        asked.append((question, pick))
        return pick

    with patch.object(Curator, "choose", listen):
        model = ForestClassifier(table.domain(len(table.y)), epsilon=epsilon, n_jobs=1)
        model.fit(table.frame(), table.y.astype(str))
    scales = [q.scale for q in model.forest_.guarantee.asked if q.mechanism == "private choice"]
    return model, _steps(asked, scales)


def _steps(asked: list[tuple[Any, int]], scales: list[float]) -> Steps:
    attribute, sign, size, bonus = [], [], [], []
    for at, (question, pick) in enumerate(asked):
        split, way = question.chosen(pick)
        later = asked[at + 1][0].kernel.column if at + 1 < len(asked) else None
        attribute.append(split.attribute)
        sign.append(float(way))
        size.append(abs(int(later.values[0])) / POINT if later is not None else 0.0)
        bonus.append(question.bonus)
    # scores are of gradients with UNIT to one
    return Steps(
        np.array(attribute, dtype=np.int64), np.array(sign), np.array(size),
        np.array(scales) / UNIT, np.array(bonus),
    )  # fmt: skip


def fit_diffprivlib(table: Binary, epsilon: float, seed: int) -> tuple[Any, Seen]:
    """diffprivlib's forest; each tree has its own rows, in the order in which they came."""
    from diffprivlib.models import RandomForestClassifier

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = RandomForestClassifier(
            n_estimators=TREES, max_depth=DEPTH, epsilon=epsilon, bounds=(0, 1), classes=[0, 1],
        ).fit(table.X.astype(float), table.y)  # fmt: skip
    return model, _seen_in_their_trees(model, len(table.y), epsilon)


def _seen_in_their_trees(model: Any, records: int, epsilon: float) -> Seen:
    roots, attribute, children, leaf, said = [], [], [], [], []
    for member in model.estimators_:
        tree, first = member.tree_, len(attribute)
        roots.append(first)
        inner = tree.children_left != tree.children_right
        attribute += np.where(inner, tree.feature, -1).tolist()
        sides = np.column_stack([tree.children_left, tree.children_right])
        children += (sides + first).tolist()  # a threshold between 0 and 1: 0 goes left
        for node, is_inner in enumerate(inner):
            leaf.append(-1 if is_inner else len(said))
            if not is_inner:
                said.append(tree.value[node][0].tolist())
    own = np.minimum(np.arange(records) // max(1, records // TREES), TREES - 1)
    weight = np.full(len(said), epsilon)
    arrays = (np.array(a, dtype=np.int64) for a in (roots, attribute, children, leaf))
    return Seen(*arrays, np.array(said, dtype=float), weight, own, LABELS)
