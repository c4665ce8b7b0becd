"""Sensitivities are what a record can move: every record of a domain, one by one, in every kernel."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Budget, open_table
from frith.curator import Curator
from frith.errors import QuestionError
from frith.growing.grower import Grower
from frith.growing.random_trees import grow_random_trees
from frith.kernels import (
    BinCounts,
    ConfusionCounts,
    CorrectCounts,
    LeafCounts,
    NodeCounts,
    NodeSizes,
    RecordCount,
    RightCounts,
    ScoreCounts,
    SplitCounts,
    SplitTables,
    StrangeCounts,
)
from frith.kernels.layout import Layout, mixed_cuts
from frith.learners import RandomDecisionForestClassifier
from tests.tables import COLORS, small_domain, small_table

DOMAIN = small_domain()
RECORDS = pd.DataFrame(
    itertools.product(COLORS, ("no", "yes"), (0.5, 3.0, 9.5, None), ("no", "yes")),
    columns=["color", "round", "size", "good"],
)


def moved(kernel):
    """What each record adds, alone in its table."""
    base = getattr(kernel, "base", kernel)
    take = getattr(kernel, "take", lambda sums: sums)
    engines = (open_table(RECORDS.iloc[[i]], DOMAIN) for i in range(len(RECORDS)))
    return [np.asarray(take(engine.aggregate(base))) for engine in engines]


def check(kernel, l1, l2_squared):
    """No record moves more, one moves so much, and that is what is stated."""
    changes = moved(kernel)
    assert all(change.shape == kernel.shape for change in changes)
    assert max(np.abs(change).sum() for change in changes) == kernel.l1 == l1
    assert max((change**2).sum() for change in changes) == kernel.l2_squared == l2_squared


def level(n_trees):
    """One tree is still a root, the others have been split, and some attributes are asked no more."""
    grower = Grower(DOMAIN, n_trees, 4)
    open_nodes = [0]
    for root in range(1, n_trees):
        open_nodes += grower.split(root, 0)
    return grower.level(open_nodes)[0]


def test_a_record_is_one_record():
    check(RecordCount(), 1, 1)


@pytest.mark.parametrize("n_trees", [1, 4])
def test_a_record_is_in_one_leaf_of_each_tree(n_trees):
    trees = grow_random_trees(DOMAIN, n_trees, 2, np.random.default_rng(0))
    check(LeafCounts(trees, DOMAIN), n_trees, n_trees)


@pytest.mark.parametrize("n_trees", [1, 3])
def test_a_record_is_at_one_node_of_each_tree_and_in_one_bin_of_each_attribute(n_trees):
    kernel = level(n_trees)
    assert kernel.most_asked == len(DOMAIN.attributes)
    assert kernel.n_trees == n_trees
    per_node = kernel.asks.sum(axis=1)  # the first tree is a root, the others were split alike
    most = [int(per_node[0])] + [int(per_node[1:].max())] * (n_trees - 1) if n_trees > 1 else [3]
    alone = sum(most) + n_trees  # what one record can really do: split trees ask one attribute less
    assert max(change.sum() for change in moved(kernel)) == alone
    assert kernel.l1 == kernel.l2_squared == n_trees * (len(DOMAIN.attributes) + 1) >= alone
    assert kernel.shape == (len(kernel.open_nodes), kernel.layout.n_bins + 1, 2)
    view = SplitTables(kernel)
    assert view.l1 == view.l2_squared == n_trees * len(DOMAIN.attributes)
    assert max(change.sum() for change in moved(view)) == alone - n_trees
    check(NodeCounts(kernel), n_trees, n_trees)
    check(NodeSizes(kernel), n_trees, n_trees)


def test_roots_of_several_trees_reach_what_is_stated():
    kernel = Grower(DOMAIN, 3, 4).level(range(3))[0]
    check(kernel, 12, 12)
    check(SplitTables(kernel), 9, 9)


def test_a_level_without_open_nodes_is_never_asked_for_free():
    some = Grower(DOMAIN, 2, 4).level([0, 1])[0]
    nodes, asks = np.zeros(0, dtype=np.int64), np.zeros((0, 3), dtype=bool)
    kernel = SplitCounts(some.trees, some.layout, nodes, asks)
    assert (kernel.n_trees, kernel.most_asked, kernel.l1) == (0, 0, 0)
    curator = Curator(open_table(RECORDS, DOMAIN), Budget.of(1))
    for question in (kernel, SplitTables(kernel), NodeCounts(kernel), NodeSizes(kernel)):
        with pytest.raises(QuestionError, match="nothing in it"):
            curator.noisy_counts(question, Fraction(1), "nothing")
    assert curator.remaining_share == 1
    assert SplitTables(Grower(DOMAIN, 2, 4).level([0], last=True)[0]).l1 == 1
    assert NodeCounts(kernel).l1 == NodeSizes(kernel).l1 == 1


def test_a_record_is_right_or_wrong_for_each_classifier():
    layout = Layout(DOMAIN, mixed_cuts(DOMAIN))
    scores = np.zeros((layout.n_bins, 2), dtype=np.int64)
    start, factors = np.array([0, 1]), np.array([1, 2, 3])
    check(CorrectCounts(layout, (0, 1), start, scores, factors), 3, 3)


def test_a_record_is_in_one_cell_of_a_confusion_matrix():
    table = small_table()
    model = RandomDecisionForestClassifier(
        DOMAIN, epsilon=1, n_trees=3, max_depth=1, random_state=0
    )
    model.fit(table[list(DOMAIN.names)], table["good"])
    check(ConfusionCounts(model.forest_), 1, 1)


def test_a_record_is_in_one_cell_of_a_histogram_of_scores():
    table = small_table()
    model = RandomDecisionForestClassifier(
        DOMAIN, epsilon=1, n_trees=3, max_depth=1, random_state=0
    )
    model.fit(table[list(DOMAIN.names)], table["good"])
    for by in (None, 0, 2):
        check(ScoreCounts(model.forest_, 1, np.array([0.2, 0.5, 0.8]), by), 1, 1)
        check(BinCounts(DOMAIN, 0, np.array([1, 0, 1]), 0, by), 1, 1)


def test_a_record_raises_what_each_forest_gets_right_by_one_at_most():
    table = small_table()
    model = RandomDecisionForestClassifier(
        DOMAIN, epsilon=1, n_trees=3, max_depth=1, random_state=0
    )
    forest = model.fit(table[list(DOMAIN.names)], table["good"]).forest_
    check(RightCounts((forest, forest, forest)), 3, 3)
    check(StrangeCounts(forest), 1, 1)
