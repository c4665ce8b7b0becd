"""The builder of trees, and what is done to whole trees, against trees written down by hand."""

import numpy as np

from frith import Categorical, Domain, Numeric
from frith.forest.trees import Trees
from frith.growing.builder import TreeBuilder, each_tree, join_trees, keep_nodes, single_leaf

DOMAIN = Domain(
    [Categorical("color", ("red", "green", "blue")), Numeric("size", 0, 10, cells=8)],
    Categorical("good", ("no", "yes")),
)


def two_trees():
    """One asks for a set of colors and then for a size; the other for the color."""
    builder = TreeBuilder(2)
    left, _ = builder.split_by_set(0, 0, np.array([True, False, True]))
    assert builder.split(left, 1, cut=4) == range(4, 6)
    assert builder.split(1, 0, branches=3) == range(6, 9)
    return builder.trees()


def arrays(trees):
    return [a.tolist() for a in (trees.roots, trees.attribute, trees.cut, trees.first_child)]


def test_splits_fill_the_arrays_of_legal_trees():
    trees = two_trees()
    trees.check(DOMAIN)
    assert arrays(trees) == [
        [0, 1],
        [0, 0, 1, -1, -1, -1, -1, -1, -1],
        [-2, -1, 4, -1, -1, -1, -1, -1, -1],
        [2, 6, 4, -1, -1, -1, -1, -1, -1],
    ]
    assert trees.sets.tolist() == [[True, False, True]]


def test_a_builder_without_splits_makes_leaves():
    assert arrays(single_leaf()) == [[0], [-1], [-1], [-1]]
    assert TreeBuilder(3).trees().leaves.tolist() == [0, 1, 2]


def test_a_node_that_loses_its_children_becomes_a_leaf():
    trees = two_trees()
    kept = np.array([True, True, True, True, False, False, True, True, True])
    cut = keep_nodes(trees, kept)
    cut.check(DOMAIN)
    assert arrays(cut) == [
        [0, 1], [0, 0, -1, -1, -1, -1, -1], [-2, -1, *[-1] * 5], [2, 4, *[-1] * 5]
    ]  # fmt: skip


def test_a_tree_whose_root_is_not_kept_is_gone():
    trees = two_trees()
    assert arrays(keep_nodes(trees, np.isin(np.arange(9), [1, 6, 7, 8]))) == [
        [0], [0, -1, -1, -1], [-1] * 4, [1, -1, -1, -1]
    ]  # fmt: skip


def test_joined_trees_are_taken_apart_again():
    trees = two_trees()
    both = join_trees([trees, single_leaf(), trees])
    both.check(DOMAIN)
    assert (both.n_trees, both.n_nodes, len(both.sets)) == (5, 19, 2)
    assert both.cut[both.roots].tolist() == [-2, -1, -1, -3, -1]  # each asks a set of its own part
    last = keep_nodes(both, np.arange(19) >= 10)
    last.check(DOMAIN)
    again = Trees(
        last.roots, last.attribute, np.where(last.cut < -1, -2, last.cut), last.first_child,
        last.sets[1:],
    )  # fmt: skip
    assert again == trees


def test_joined_sets_are_as_wide_as_the_widest_and_none_have_no_width():
    assert join_trees([single_leaf(), single_leaf()]).sets.shape == (0, 0)
    narrow, wide = TreeBuilder(), TreeBuilder()
    narrow.split_by_set(0, 1, np.array([False, True]))
    wide.split_by_set(0, 0, np.array([True, False, True]))
    assert join_trees([narrow.trees(), wide.trees()]).sets.tolist() == [
        [False, True, False], [True, False, True]
    ]  # fmt: skip


def test_every_tree_by_itself_has_its_own_nodes_and_knows_its_leaves():
    (first, of_first), (second, of_second) = each_tree(two_trees(), DOMAIN)
    assert arrays(first) == [
        [0], [0, 1, -1, -1, -1], [-2, 4, -1, -1, -1], [1, 3, -1, -1, -1]
    ]  # fmt: skip
    assert arrays(second) == [[0], [0, -1, -1, -1], [-1] * 4, [1, -1, -1, -1]]
    assert (of_first.tolist(), of_second.tolist()) == ([0, 1, 2], [3, 4, 5])
