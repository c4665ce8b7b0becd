"""Consistency against a dense weighted least-squares solution."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain
from frith.growing.builder import TreeBuilder
from frith.growing.consistency import make_consistent
from frith.growing.random_trees import grow_random_trees

DOMAIN = Domain(
    [Categorical(f"a{i}", tuple(map(str, range(s)))) for i, s in enumerate((2, 3, 2))],
    Categorical("y", ("0", "1")),
)


def leaf_matrix(trees):
    """One row a node, one column a leaf: which leaves a node is the sum of."""
    matrix = np.zeros((trees.n_nodes, len(trees.leaves)))
    matrix[trees.leaves, np.arange(len(trees.leaves))] = 1
    for node in np.flatnonzero(trees.attribute >= 0)[::-1]:
        children = trees.children(int(node), DOMAIN)
        matrix[node] = matrix[children.start : children.stop].sum(axis=0)
    return matrix


@given(st.integers(0, 10**6), st.integers(1, 3))
def test_counts_and_variances_are_those_of_weighted_least_squares(seed, max_depth):
    rng = np.random.default_rng(seed)
    trees = grow_random_trees(DOMAIN, 2, max_depth, rng)
    values = rng.integers(-20, 100, (trees.n_nodes, 2))
    variance = rng.uniform(0.5, 9, trees.n_nodes)
    fitted, left = make_consistent(trees, DOMAIN, values, variance)
    matrix = leaf_matrix(trees)
    weights = matrix.T / variance
    covariance = np.linalg.inv(weights @ matrix)
    assert fitted == pytest.approx(matrix @ (covariance @ (weights @ values)))
    assert left == pytest.approx(np.diag(matrix @ covariance @ matrix.T))


def test_parents_are_the_sum_of_their_children_and_less_noisy_than_before():
    rng = np.random.default_rng(0)
    trees = grow_random_trees(DOMAIN, 1, 3, rng)
    values = rng.integers(0, 100, (trees.n_nodes, 2))
    fitted, left = make_consistent(trees, DOMAIN, values, np.full(trees.n_nodes, 4.0))
    for node in np.flatnonzero(trees.attribute >= 0):
        children = trees.children(int(node), DOMAIN)
        assert fitted[node] == pytest.approx(fitted[children.start : children.stop].sum(axis=0))
    assert (left < 4).all()


def test_exact_counts_stay_as_they_are():
    trees = grow_random_trees(DOMAIN, 1, 2, np.random.default_rng(0))
    values = leaf_matrix(trees) @ np.ones((len(trees.leaves), 2))
    fitted, left = make_consistent(trees, DOMAIN, values, np.zeros(trees.n_nodes))
    assert np.array_equal(fitted, values)
    assert not left.any()


@pytest.mark.parametrize(
    ("variance", "fitted", "left"),
    [
        ((0, 4, 4), (10, 5, 5), (0, 2, 2)),  # an exact parent: its children share what they miss
        ((4, 0, 0), (6, 3, 3), (0, 0, 0)),  # exact children: their sum is the parent
        ((0.5, 0.25, 0.25), (8, 4, 4), (0.25, 0.1875, 0.1875)),  # under 1 all of them
    ],
)
def test_what_is_exact_stays_and_the_rest_follows_it(variance, fitted, left):
    """A parent of 10 over two children of 3."""
    builder = TreeBuilder()
    builder.split(0, 0)
    values = np.array([[10], [3], [3]])
    found, noise = make_consistent(builder.trees(), DOMAIN, values, np.array(variance, float))
    assert found[:, 0] == pytest.approx(fitted)
    assert noise == pytest.approx(left)
