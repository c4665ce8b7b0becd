"""A tree from noisy tables, by hand: what the root and the children of a split are counted from."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Budget, C45Classifier, Categorical, Domain, ID3Classifier, Numeric, open_table
from frith.audit.frozen import FrozenSource
from frith.curator import Curator
from frith.growing import table_tree
from frith.growing.table_tree import first_best
from frith.privacy import DiscreteLaplace

DOMAIN = Domain(
    [Categorical("a", ("0", "1", "2")), Numeric("n", 0, 4)], Categorical("label", ("x", "y"))
)
TABLE = pd.DataFrame({"a": pd.Series(dtype=str), "n": pd.Series(dtype=float), "label": []})
BY_A = [(9, 0), (2, 2), (1, 10)]  # sums to (12, 12)
BY_N = [(20, 0), (0, 2), (0, 6), (0, 8)]  # sums to (20, 16); the first cut parts x from y


def grown(learner, by_a=BY_A, by_n=BY_N, epsilon=2):
    def invent(i, shape):
        made = np.zeros(shape, dtype=np.int64)
        if i == 0:
            made[0] = [*by_a, *by_n]
        return made

    used = Curator(open_table(TABLE, DOMAIN), Budget.of(epsilon), source=FrozenSource(invent))
    return learner.learn(used)


@pytest.mark.parametrize("learner", [ID3Classifier(queries="counts"), C45Classifier()])
def test_children_are_counted_by_the_table_that_chose_their_split(learner):
    forest = grown(learner.set_params(max_depth=1, bins=4, min_support=0))
    assert forest.trees.attribute.tolist() == [1, -1, -1]
    assert forest.values[1:].tolist() == [[20, 0], [0, 16]]
    each = forest.variance[1]  # of one bin: 2 attributes at an epsilon of 2
    assert each == pytest.approx(2, abs=0.2)
    assert forest.variance[2] == pytest.approx(3 * each)


def test_the_root_is_a_mean_of_its_tables_weighed_by_their_bins():
    """A sum of 3 bins and one of 4: weights 1/3 and 1/4 of (12, 12) and (20, 16)."""
    forest = grown(ID3Classifier(queries="counts", max_depth=1, bins=4, min_support=0))
    assert forest.values[0] == pytest.approx(
        [(12 / 3 + 20 / 4) * 12 / 7, (12 / 3 + 16 / 4) * 12 / 7]
    )
    assert forest.variance[0] == pytest.approx(forest.variance[1] * 12 / 7)


def test_every_child_that_a_table_counts_could_have_become_a_node():
    """The root, 3 values of a, and both sides of each of 3 cuts of n: what intervals must hold for."""
    forest = grown(ID3Classifier(queries="counts", max_depth=1, bins=4, min_support=0))
    assert forest.candidates == 1 + 3 + 6


@pytest.mark.parametrize(
    ("by_a", "depth"),
    [
        ([(9, 0), (3, 0), (2, 0)], 0),  # of one label
        ([(9, 0), (3, 0), (2, 1)], 1),
        ([(9, -9), (3, -3), (2, 0)], 0),
    ],
)
def test_a_node_of_one_label_is_not_split(by_a, depth):
    learner = ID3Classifier(queries="counts", max_depth=1, bins=4, min_support=0)
    assert grown(learner, by_a, [(14, 0), (0, 0), (0, 0), (0, 0)]).max_depth == depth


def test_a_node_is_split_over_its_least_size_alone():
    """12/7 x (4 + 5) + 12/7 x (4 + 4) = 29.14 records."""
    for least, depth in ((29, 1), (30, 0)):
        learner = ID3Classifier(queries="counts", max_depth=1, bins=4, min_support=least)
        assert grown(learner).max_depth == depth


def test_a_size_of_exactly_the_least_is_not_over_it():
    """One table of four bins: its mean is its sum, without rounding."""
    domain = replace(DOMAIN, attributes=(Numeric("n", 0, 4),))
    for least, depth in ((11, 1), (12, 0)):
        source = FrozenSource(lambda i, shape: np.array([[(9, 0), (0, 3), (0, 0), (0, 0)]]))
        used = Curator(open_table(TABLE[["n", "label"]], domain), Budget.of(2), source=source)
        learner = ID3Classifier(queries="counts", max_depth=1, bins=4, min_support=least)
        forest = learner.learn(used)
        assert forest.values[0].tolist() == [9, 3]
        assert forest.max_depth == depth


@pytest.mark.parametrize(("cells", "depth"), [(1, 1), (31, 1), (32, 2), (10**6, 2)])
def test_a_level_of_too_many_cells_is_not_asked_unless_it_is_the_first(monkeypatch, cells, depth):
    """The second level: two nodes, 3 + 4 bins and their sum, 2 labels: 32 cells."""
    monkeypatch.setattr(table_tree, "GROW_CELLS", cells)

    def invent(i, shape):
        by_a, by_n = [(25, 25)] * 3, [(40, 1), (30, 1), (1, 30), (1, 40)]  # cut in the middle
        return np.broadcast_to([*by_a, *by_n], shape)

    used = Curator(open_table(TABLE, DOMAIN), Budget.of(2), source=FrozenSource(invent))
    learner = ID3Classifier(queries="counts", max_depth=2, bins=4, min_support=0)
    assert learner.learn(used).max_depth == depth


def test_where_nothing_can_be_asked_the_root_is_counted_as_nothing():
    domain = replace(DOMAIN, attributes=(Categorical("a", ("0",)),))
    used = Curator(open_table(TABLE[["a", "label"]], domain), Budget.of(2))
    forest = ID3Classifier(queries="counts", max_depth=1).learn(used)
    assert (forest.values.tolist(), forest.trees.n_nodes) == ([[0, 0]], 1)
    assert forest.variance[0] == pytest.approx(float(DiscreteLaplace(Fraction(2), 1).variance))


def test_ties_go_to_the_first_and_rounding_makes_none():
    scores = np.array([[0.1, 0.3, 0.3], [0.3, 0.3 + 1e-10, 0.1], [0.3, 0.3 + 1e-8, 0.1]])
    assert first_best(scores).tolist() == [1, 0, 1]
