"""The information gain forest by hand: its choices, its shares, its number of trees."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Budget, Categorical, Domain, InfoGainForestClassifier, Person, open_table
from frith.audit.frozen import FrozenSource
from frith.curator import Curator
from frith.kernels.criteria import SCALE
from frith.learners import info_gain

LABELS = ("x", "y")
ROWS = ["00", "00", "01", "01", "10", "10", "11", "11"]
TABLE = pd.DataFrame(
    {"a": [r[0] for r in ROWS], "b": [r[1] for r in ROWS], "c": "0", "d": "0",
     "label": list("xxxyyyyy")}
)  # fmt: skip


def domain(records=8):
    attributes = [Categorical(name, ("0", "1")) for name in "abcd"]
    return Domain(attributes, Categorical("label", LABELS), records=records)


def asked(learner, records=8, epsilon=1):
    source = FrozenSource(lambda i, shape: np.zeros(shape, dtype=np.int64))
    used = Curator(open_table(TABLE, domain(records)), Budget.of(epsilon), source=source)
    return learner.learn(used), source.exchanges


def test_choices_are_by_the_entropy_that_a_split_leaves():
    """By a: 4 H(3/4) + 0; by b: 4 H(1/2) + 4 H(1/4); by c and d: 8 H(3/8). In bits, sign turned."""
    _, exchanges = asked(InfoGainForestClassifier(n_trees=1, max_depth=1))
    found = exchanges[0].exact.astype(float) / SCALE
    assert found == pytest.approx([-3.24511, -7.24511, -7.63547, -7.63547], abs=1e-4)


@pytest.mark.parametrize(("trees", "depth", "part"), [(1, 2, "0.5"), (3, 2, "0.5"), (2, 1, "0.25")])
def test_levels_share_the_part_for_splits_and_leaves_get_the_rest(trees, depth, part):
    learner = InfoGainForestClassifier(n_trees=trees, max_depth=depth, split_share=part)
    forest, exchanges = asked(learner)
    shares = [q.share for q in forest.guarantee.asked]
    assert shares == [Fraction(part) / depth] * depth + [1 - Fraction(part)]
    assert {e.mechanism.amount for e in exchanges[:-1]} == {Fraction(part) / depth / trees}
    leaves = exchanges[-1]
    assert leaves.mechanism.scale == pytest.approx(trees / float(1 - Fraction(part)))
    assert leaves.exact.shape == (trees * 2**depth, 2)


@pytest.mark.parametrize(
    ("records", "epsilon", "trees"),
    [(40_000, 1, 1), (80_000, 1, 2), (40_000, 2, 2), (10**6, 1, 8), (100, 1, 1)],
)
def test_the_number_of_trees_follows_from_public_facts(records, epsilon, trees):
    """Ours: one for every 20,000 records x epsilon a label, 1 to 8; or as many as asked for."""
    forest, _ = asked(InfoGainForestClassifier(max_depth=1), records, epsilon)
    assert forest.trees.n_trees == trees
    forest, _ = asked(InfoGainForestClassifier(max_depth=1, n_trees=5), records, epsilon)
    assert forest.trees.n_trees == 5


@pytest.mark.parametrize(
    ("records", "trees", "depth"),
    [(79, 1, 1), (80, 1, 2), (159, 1, 2), (160, 1, 3), (159, 2, 1), (160, 2, 2), (10**6, 1, 4)],
)
def test_trees_are_as_deep_as_leaves_outweigh_their_noise(records, trees, depth):
    """Ours: b^depth is at most records x epsilon / (10 x trees x labels), and 4 attributes end it."""
    forest, _ = asked(InfoGainForestClassifier(n_trees=trees), records)
    assert forest.max_depth == depth


def test_attributes_of_one_value_count_neither_in_the_depth_nor_in_its_base():
    """159 records: 2^2 <= 7.95 < 2^3, where a mean of 1.8 branches would give 3 levels."""
    plain = domain(159)
    wider = replace(plain, attributes=(*plain.attributes, Categorical("e", ("0",))))
    source = FrozenSource(lambda i, shape: np.zeros(shape, dtype=np.int64))
    used = Curator(open_table(TABLE.assign(e="0"), wider), Budget.of(1), source=source)
    assert InfoGainForestClassifier(n_trees=1).learn(used).max_depth == 2


def test_each_tree_asks_one_attribute_at_least():
    assert InfoGainForestClassifier(max_features=0.01)._n_features(domain()) == 1


@pytest.mark.parametrize(
    ("sizes", "records", "epsilon", "shape"),
    [
        ((2,) * 9, 79_999, 1, (1, 8)),  # under 2 x 20,000 a label; no more than 8 levels
        ((2,) * 9, 512, "inf", (8, 8)),  # the most trees
        ((2,) * 9, 10, 1, (1, 1)),  # 2^0 <= 10 / 20: one level all the same
        ((1, 1), 100_000, 1, (2, 1)),  # nothing to ask
    ],
)
def test_the_shape_has_limits(sizes, records, epsilon, shape):
    attributes = [Categorical(f"a{i}", tuple(map(str, range(s)))) for i, s in enumerate(sizes)]
    wide = Domain(attributes, Categorical("label", LABELS), records=records)
    table = pd.DataFrame({a.name: ["0"] for a in attributes} | {"label": ["x"]})
    used = Curator(open_table(table, wide), Budget.of(epsilon))
    assert info_gain._shape(used, records, None, None) == shape


def test_records_of_one_person_count_as_one_in_the_shape():
    """Ours: an epsilon for persons of 4 records is worth a quarter of it for one."""
    table = TABLE.assign(who=range(8))
    for m, trees in ((1, 8), (4, 2)):
        whose = replace(domain(320_000), person=Person("who", m))
        source = FrozenSource(lambda i, shape: np.zeros(shape, dtype=np.int64))
        used = Curator(open_table(table, whose), Budget.of(1), source=source)
        assert InfoGainForestClassifier(max_depth=1).learn(used).trees.n_trees == trees


def test_trees_ask_the_share_of_attributes_that_was_asked_for():
    learner = InfoGainForestClassifier(n_trees=6, max_depth=4, max_features=0.5, random_state=0)
    forest, _ = asked(learner)
    trees = forest.trees
    assert forest.max_depth == 2  # two attributes, each once on a path
    assert len(set(trees.attribute[trees.roots].tolist())) > 1  # trees may ask other ones
