"""ID3 by hand: what its questions cost and when its nodes are split, through the learner."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Budget, Categorical, Domain, ID3Classifier, Numeric, open_table
from frith.audit.frozen import FrozenSource
from frith.curator import Curator

DOMAIN = Domain(
    [Categorical(name, ("0", "1")) for name in "abc"] + [Categorical("d", ("0", "1", "2"))],
    Categorical("label", ("x", "y")),
    records=100,
)
TABLE = pd.DataFrame({name: pd.Series(dtype=str) for name in (*DOMAIN.names, "label")})


def asked(learner, invent, epsilon=1):
    source = FrozenSource(invent)
    used = Curator(open_table(TABLE, DOMAIN), Budget.of(epsilon), source=source)
    return learner.learn(used), source.exchanges


# -- DiffPID3 ----------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_every_question_of_diffpid3_gets_its_share(depth):
    """Sizes and a choice on each of d levels, then the leaves: each 1 / (2 (d + 1))."""
    learner = ID3Classifier(max_depth=depth)
    forest, exchanges = asked(learner, lambda i, shape: np.full(shape, 10_000))
    purposes = [q.purpose.split()[0] for q in forest.guarantee.asked]
    assert purposes == ["sizes", "splits"] * depth + ["labels"]
    assert {q.share for q in forest.guarantee.asked} == {Fraction(1, 2 * (depth + 1))}
    counted = [e.mechanism.scale for e in exchanges if hasattr(e.mechanism, "epsilon")]
    assert counted == [2 * (depth + 1)] * (depth + 1)
    assert forest.trees.n_trees == 1


def test_a_node_is_split_where_its_children_outweigh_their_noise():
    """N / (t |C|) >= sqrt 2 / epsilon for t = 3 values, 2 labels and an epsilon of 1/4: 33.94.

    The noise is integer, and its deviation 5.64 where sqrt 2 / epsilon is 5.66.
    """
    for size, split in ((33, False), (34, True)):
        forest, _ = asked(
            ID3Classifier(max_depth=1, prune=False),
            lambda i, shape, size=size: np.full(shape, size if i == 0 else 0),
        )
        assert (forest.max_depth == 1) == split


def test_without_noise_a_node_without_records_is_not_split():
    """Every record has a = 0: by a or not, the tree has no split where none arrived."""
    table = pd.DataFrame({name: list("0101") for name in "bc"} | {"a": "0", "d": "0"})
    table["label"] = list("xyyx")
    used = Curator(open_table(table, DOMAIN), Budget.of("inf"))
    forest = ID3Classifier(max_depth=4, prune=False).learn(used)
    inner = forest.trees.attribute >= 0
    assert forest.values[inner].sum(axis=1).min() > 0
    assert (forest.values[~inner].sum(axis=1) == 0).any()


def test_pruning_cuts_splits_that_lower_no_errors():
    """Two leaves of 60 to 40 make the errors of one of 120 to 80; (90, 10) and (10, 90) do not."""

    def leaves(first, second):
        def invent(i, shape):
            if i < 2:
                return np.full(shape, 0 if i else 10_000)
            return np.array([first, second])

        return invent

    for first, second, kept in (((60, 40), (60, 40), 0), ((90, 10), (10, 90), 1)):
        forest, _ = asked(ID3Classifier(max_depth=1), leaves(first, second))
        assert forest.max_depth == kept


# -- from counts -------------------------------------------------------------------------------


def test_levels_of_counts_have_equal_noise():
    """k attributes at the root, one less on each level: k (k + 1) / 2 = 10 tables, scale 10 each."""

    def invent(i, shape):
        return np.broadcast_to([3_000, 2_000], shape).astype(np.int64)

    forest, exchanges = asked(ID3Classifier(queries="counts", max_depth=None), invent)
    assert [q.sensitivity for q in forest.guarantee.asked] == [4, 3, 2, 1]
    assert [q.share for q in forest.guarantee.asked] == [Fraction(k, 10) for k in (4, 3, 2, 1)]
    assert {e.mechanism.scale for e in exchanges} == {10.0}


def test_levels_below_the_last_attribute_ask_one_table():
    """A number is asked again on its path: 1 attribute, 3 levels of one table each."""
    domain = Domain([Numeric("n", 0, 8)], DOMAIN.label, records=100)
    table = pd.DataFrame({"n": [1.0], "label": ["x"]})
    source = FrozenSource(lambda i, shape: np.broadcast_to([3_000, 2_000], shape).astype(np.int64))
    used = Curator(open_table(table, domain), Budget.of(1), source=source)
    forest = ID3Classifier(queries="counts", max_depth=3).learn(used)
    assert [q.share for q in forest.guarantee.asked] == [Fraction(1, 3)] * 3


def test_min_support_of_nothing_splits_what_noise_would_stop():
    """A node of 2 records under noise of scale 4: by default a leaf, with `min_support=0` not."""

    def invent(i, shape):
        made = np.zeros(shape, dtype=np.int64)
        made[0, :2] = [[1, 0], [0, 1]]
        return made

    for least, depth in ((None, 0), (0, 1)):
        learner = ID3Classifier(queries="counts", max_depth=1, min_support=least)
        assert asked(learner, invent)[0].max_depth == depth


def test_a_tree_of_many_values_stops_growing_instead_of_failing_after_its_charge():
    """Each of 3,000 nodes has 6,000 bins and 2 labels: more than one question may be about."""
    values = tuple(range(3_000))
    domain = Domain([Categorical("a", values), Categorical("b", values)], DOMAIN.label, records=100)
    table = pd.DataFrame({"a": values[:100], "b": values[:100], "label": ["x", "y"] * 50})
    learner = ID3Classifier(domain, epsilon="inf", queries="exponential")
    told = learner.fit(table, notices=False).forest_.guarantee.asked
    purposes = [q.purpose for q in told]
    assert "splits of level 1" in purposes
    assert "sizes at level 2" not in purposes
