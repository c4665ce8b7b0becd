from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Numeric
from frith.datasets import load
from frith.errors import TooManyCells
from frith.forest import Forest
from frith.forest.trees import sum_up
from frith.growing import random_trees
from frith.growing.pruning import prune_empty
from frith.growing.random_trees import floor_log, grow_random_trees, random_tree_depth
from frith.kernels import MAX_CELLS
from frith.privacy import Guarantee

LABEL = Categorical("y", ("0", "1"))


def categorical(*sizes):
    attributes = [Categorical(f"a{i}", tuple(map(str, range(s)))) for i, s in enumerate(sizes)]
    return Domain(attributes, LABEL)


@given(st.integers(1, 10**30), st.integers(2, 50), st.integers(1, 49))
def test_floor_log_is_exact(value, above, below):
    base = Fraction(above, min(below, above - 1))
    exponent = floor_log(value, base)
    assert base**exponent <= value < base ** (exponent + 1)


@pytest.mark.parametrize(
    ("sizes", "n", "max_depth"),
    [
        ((3, 5, 4, 4, 3, 2, 3, 3), 12_960, 4),  # nursery: b = 27/8, log_b n = 7.8, k/2 = 4
        ((2,) * 16, 435, 7),  # votes: log_2 435 = 8.8
        ((5,) * 10, 10_000_000, 5),
        ((2,) * 40, 8, 2),  # log_2 8 = 3 exactly: a float logarithm may say 2
        ((10,) * 8, 1, 1),
        ((1, 1, 1), 10**6, 1),
        ((2,) * 16 + (1,) * 16, 435, 7),  # one value parts nothing: neither in k nor in b
        ((7,), 10**6, 1),
    ],
)
def test_the_depth_rule_of_the_paper(sizes, n, max_depth):
    assert random_tree_depth(categorical(*sizes), n, 10) == max_depth


def test_large_tables_are_held_to_a_quarter_of_the_cap_on_cells():
    """4 trees of 2 labels and 2 branches: 2^depth x 8 cells, at most a quarter of the cap."""
    depth = random_tree_depth(categorical(*(2,) * 80), 2**60, 4)
    assert 2**depth * 8 <= MAX_CELLS // 4 < 2 ** (depth + 1) * 8
    assert random_tree_depth(categorical(*(2,) * 80), 2**60, 5) == depth - 1


@pytest.mark.parametrize(
    ("numbers", "sizes", "n", "max_depth"),
    [
        (2, (), 10**6, 4),  # k = 8
        (1, (10, 10), 10**6, 3),  # k = 6
        (1, (10, 10), 200, 2),  # b = (4 x 2 + 2 x 10) / 6 = 4.67, log_b n = 3.4
    ],
)
def test_a_number_counts_four_times_in_k_and_as_two_branches_in_b(numbers, sizes, n, max_depth):
    attributes = [Numeric(f"n{i}", 0, 1) for i in range(numbers)]
    attributes += [Categorical(f"a{i}", tuple(map(str, range(s)))) for i, s in enumerate(sizes)]
    assert random_tree_depth(Domain(attributes, LABEL), n, 10) == max_depth


@given(st.integers(1, 10**12), st.lists(st.integers(1, 300), min_size=1, max_size=8))
def test_the_depth_is_total(n, sizes):
    domain = categorical(*sizes)
    assert 1 <= random_tree_depth(domain, n, 10) <= max(1, len(sizes) // 2)


def walk(trees, domain, node, used, depth, seen):
    """Every path of a tree asks a categorical attribute once and narrows a numeric one."""
    if trees.attribute[node] < 0:
        seen.append(depth)
        return
    a = int(trees.attribute[node])
    if isinstance(domain.attributes[a], Numeric):
        low, high = used.get(a, (0, domain.attributes[a].size))
        cut = int(trees.cut[node])
        assert low < cut < high
        parts = [(low, cut), (cut, high)]
    else:
        assert a not in used
        assert trees.cut[node] == -1
        parts = [(0, 1)] * domain.attributes[a].size
    for child, part in zip(trees.children(node, domain), parts, strict=True):
        walk(trees, domain, child, used | {a: part}, depth + 1, seen)


@given(st.integers(0, 10**6), st.integers(1, 4), st.integers(1, 5))
def test_random_trees_are_complete_and_ask_nothing_twice(seed, n_trees, max_depth):
    attributes = [Numeric("n", 0, 1, cells=4, missing=True), *categorical(2, 3, 1).attributes]
    domain = Domain(attributes, LABEL)
    trees = grow_random_trees(domain, n_trees, max_depth, np.random.default_rng(seed))
    trees.check(domain)
    assert trees.n_trees == n_trees
    for root in trees.roots:
        depths: list[int] = []
        walk(trees, domain, int(root), {}, 0, depths)
        # a leaf above the last level has nothing left to ask: the two useful categorical attributes
        # and the number, which one unlucky cut can use up
        assert max(depths) <= max_depth
        assert min(depths) >= min(max_depth, 3)


def test_large_trees_are_whole():
    """9,841 nodes: more than nine times the room that a tree begins with."""
    domain = categorical(*(3,) * 8)
    trees = grow_random_trees(domain, 1, 8, np.random.default_rng(0))
    trees.check(domain)
    depths: list[int] = []
    walk(trees, domain, 0, {}, 0, depths)
    assert depths == [8] * 3**8


def test_all_trees_together_have_at_most_as_many_cells_as_are_allowed(monkeypatch):
    """Trees of 32 leaves of two labels: two of them have 128 cells."""
    domain, rng = categorical(*(2,) * 7), np.random.default_rng(0)
    monkeypatch.setattr(random_trees, "MAX_CELLS", 128)
    assert len(grow_random_trees(domain, 2, 5, rng).leaves) == 64
    for n_trees, depth, cells in ((3, 5, 128), (1, 7, 128), (2, 5, 127)):
        monkeypatch.setattr(random_trees, "MAX_CELLS", cells)
        with pytest.raises(TooManyCells):
            grow_random_trees(domain, n_trees, depth, rng)


def test_the_structure_depends_on_the_seed_alone():
    domain = categorical(3, 3, 3, 3)
    a, b, c = (grow_random_trees(domain, 5, 2, np.random.default_rng(s)) for s in (1, 1, 2))
    assert a == b
    assert a != c


def test_every_attribute_is_as_likely_at_the_root():
    domain = categorical(2, 2, 2, 2, 2)
    trees = grow_random_trees(domain, 20_000, 1, np.random.default_rng(0))
    share = np.bincount(trees.attribute[trees.roots], minlength=5) / 20_000
    assert np.abs(share - 0.2).max() < np.sqrt(np.log(2 / 1e-9) / (2 * 20_000))


def test_too_large_trees_are_refused_before_they_are_grown():
    domain = categorical(10_000, 10_000, 10_000)
    with pytest.raises(TooManyCells, match="use fewer or lower trees"):
        grow_random_trees(domain, 1, 3, np.random.default_rng(0))


def test_pruning_removes_empty_subtrees_and_no_prediction():
    X, y, domain = load("tic_tac_toe")
    trees = grow_random_trees(domain, 3, 6, np.random.default_rng(0))
    from frith.engines import MemoryEngine
    from frith.kernels import LeafCounts

    counts = MemoryEngine(X, domain, y).aggregate(LeafCounts(trees, domain))
    values = sum_up(trees, counts, domain)
    forest = Forest(domain, trees, values, Guarantee(float("inf")), np.zeros(trees.n_nodes))
    pruned = prune_empty(forest)
    pruned.trees.check(domain)
    inner = pruned.trees.attribute >= 0
    assert len(pruned.trees.leaves) < len(trees.leaves)
    assert (pruned.values[inner].sum(axis=1) > 0).all()
    every_board = np.random.default_rng(1).integers(0, 3, (5000, 9)).astype(np.uint8)
    assert np.array_equal(forest.proba_of_codes(every_board), pruned.proba_of_codes(every_board))
    assert np.array_equal(pruned.values[pruned.trees.roots], forest.values[trees.roots])
