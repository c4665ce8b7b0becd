"""Leaves by a table are the leaves of the walk."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from frith.domain import Categorical, Domain, Numeric
from frith.forest import leaf_tables as module
from frith.forest.leaf_tables import ENOUGH, leaf_tables, leaves_of
from frith.forest.trees import Trees, find_leaf
from frith.growing.random_trees import grow_random_trees
from tests.strategies import domains, examples, forest_over, lone, trees


def any_codes(domain, rows, seed):
    rng = np.random.default_rng(seed)
    columns = [rng.integers(0, a.size, rows) for a in domain.attributes]
    return np.column_stack(columns).astype(domain.code_type)


@examples(30)
@given(data=st.data())
def test_tables_and_walks_end_in_the_same_leaves(data):
    domain = data.draw(domains())
    tree = lone(data.draw(trees(domain)), 0, domain)
    tree.check(domain)
    codes = any_codes(domain, ENOUGH, data.draw(st.integers(0, 99)))
    walked = [find_leaf(codes, i, tree.roots[0], tree.nodes, tree.sets) for i in range(200)]
    tables = leaf_tables(tree)
    assert tables is not None
    assert tables.starts[0] == 0
    assert leaves_of(tree, codes)[:200].tolist() == walked
    assert leaves_of(tree, codes[:200]).tolist() == walked  # too few for a table


def test_a_tree_of_too_many_places_is_walked():
    """Complete random trees over many attributes have more places than a table may hold."""
    domain = Domain([Numeric(f"x{i}", 0, 1) for i in range(20)], Categorical("y", ("a", "b")))
    forest = grow_random_trees(domain, 2, 7, np.random.default_rng(0))
    forest.check(domain)
    assert leaf_tables(forest).starts.tolist() == [-1, -1]


def test_a_tree_of_too_many_nodes_is_walked_and_not_read_to_its_end(monkeypatch):
    """One attribute of few codes has a small table, but the tree asks for it over and over."""
    monkeypatch.setattr(module, "_MAX_NODES", 6)
    domain = Domain([Numeric("x", 0, 1, cells=8)], Categorical("y", ("a", "b")))
    forest = grow_random_trees(domain, 1, 3, np.random.default_rng(0))
    forest.check(domain)
    assert forest.n_nodes > 6
    codes = any_codes(domain, ENOUGH, 0)
    walked = [find_leaf(codes, i, forest.roots[0], forest.nodes, forest.sets) for i in range(50)]
    assert leaf_tables(forest).starts.tolist() == [-1]
    assert leaves_of(forest, codes)[:50].tolist() == walked


@examples(10)
@given(data=st.data())
def test_predictions_do_not_depend_on_tables(data):
    domain = data.draw(domains())
    forest = forest_over(domain, data.draw(trees(domain)), "product")
    codes = any_codes(domain, ENOUGH, 1)
    by_table = forest.proba_of_codes(codes)
    few = np.concatenate([forest.proba_of_codes(part) for part in np.array_split(codes, 2)])
    assert np.allclose(by_table, few, rtol=1e-12, atol=0)  # exp rounds by its place in an array


def test_trees_that_no_domain_was_checked_for_have_no_tables():
    domain = Domain([Numeric("x", 0, 1)], Categorical("y", ("a", "b")))
    forest = grow_random_trees(domain, 1, 1, np.random.default_rng(0))
    again = type(forest)(forest.roots, forest.attribute, forest.cut, forest.first_child)
    assert module.leaf_tables(again) is None


def test_trees_that_were_checked_for_other_codes_too_are_walked():
    """A table that is as long as the smaller domain's codes would be read beyond its end."""
    label = Categorical("y", ("a", "b"))
    large, small = (Domain([Numeric("x", 0, 1, cells=cells)], label) for cells in (64, 2))
    tree = Trees([0], [0, -1, -1], [1, -1, -1], [1, -1, -1])
    tree.check(large)
    tree.check(Domain(large.attributes, label, records=5))
    assert leaf_tables(tree) is not None, "the same codes"
    tree.check(small)
    assert leaf_tables(tree) is None
    codes = any_codes(large, ENOUGH, 1)
    assert np.array_equal(leaves_of(tree, codes), codes[:, 0] >= 1)
    tree.check(large)
    assert leaf_tables(tree) is None, "it does not matter which came last"


def test_tables_of_all_trees_have_room_together_and_others_are_walked(monkeypatch):
    monkeypatch.setattr(module, "_MAX_ALL", 10)
    domain = Domain([Categorical("x", ("a", "b"))], Categorical("y", ("a", "b")))
    stumps = grow_random_trees(domain, 8, 1, np.random.default_rng(0))
    stumps.check(domain)
    assert leaf_tables(stumps).starts.tolist() == [0, 2, 4, 6, 8, -1, -1, -1]
