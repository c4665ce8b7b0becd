"""Public weights of attributes reach every choice that the flagship makes, and move no score."""

import numpy as np
import pytest

from frith.errors import FormatError
from frith.growing.builder import each_tree, single_leaf
from frith.growing.grids import partition_trees
from frith.kernels import AttributeChoice, LeafCounts, NamedSplits, Partitions, SplitCounts
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplits
from tests.tables import small_domain

DOMAIN = small_domain()
WEIGHTS = (-1.0, 0.5, 2.0)


def two_layouts():
    return [Layout(DOMAIN, mixed_cuts(DOMAIN), w) for w in ((), WEIGHTS)]


def partitions(layout):
    trees, bins = partition_trees(layout)
    return Partitions(LeafCounts(trees, DOMAIN), BinarySplits(layout), bins)


def asked_by(question, place):
    """The attributes of a partition; none of everybody."""
    chosen = question.chosen(place)
    if isinstance(chosen, int):
        tree, _ = each_tree(question.kernel.trees, DOMAIN)[chosen]
        return set(tree.asked)
    return {chosen.attribute} - {-1}


def level(layout):
    return SplitCounts(single_leaf(), layout, np.array([0]), np.ones((1, 3), dtype=bool))


def test_every_split_has_the_weight_of_its_attribute():
    plain, weighed = (BinarySplits(layout) for layout in two_layouts())
    more = weighed.weights - plain.weights
    asked = [weighed[i].attribute for i in range(len(weighed))]
    assert np.array_equal(more, [0.0 if a < 0 else WEIGHTS[a] for a in asked])


def test_partitions_and_attributes_have_it_too():
    plain, weighed = map(partitions, two_layouts())
    more = weighed.weights - plain.weights
    asked = [asked_by(weighed, i) for i in range(len(weighed))]
    assert np.allclose(more, [np.mean([WEIGHTS[a] for a in each]) if each else 0 for each in asked])
    assert any(len(each) > 1 for each in asked)  # grids are there
    assert {0, 2} <= set().union(
        *asked[len(BinarySplits(two_layouts()[0])) :]
    )  # wide ones are there
    choice = AttributeChoice(level(two_layouts()[1]), (2, 0))
    assert np.array_equal(choice.weights, [2.0, -1.0])


def test_labels_that_are_named_come_with_it():
    plain, weighed = (NamedSplits(level(x), BinarySplits(x), np.array([-1])) for x in two_layouts())
    more = np.array(weighed.node_weights()[0]) - np.array(plain.node_weights()[0])
    asked = [weighed.chosen(i)[0].attribute for i in range(weighed.n_options)]
    assert np.allclose(more, [0.0 if a < 0 else WEIGHTS[a] for a in asked])


@pytest.mark.parametrize("weights", [(1.0,), (0.0, 0.0, 33.0), (0.0, float("nan"), 0.0)])
def test_a_layout_refuses_odd_weights(weights):
    with pytest.raises(FormatError, match="weigh"):
        Layout(DOMAIN, mixed_cuts(DOMAIN), weights)
