"""Public cuts around chosen ones: as many cells as are allowed, and how alike they are."""

import numpy as np
import pytest

from frith import Categorical, Domain, Numeric
from frith.growing.refining import RefinedTree
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplit, BinarySplits

DOMAIN = Domain(
    [Numeric("a", 0, 10), Categorical("b", tuple("pqrst")), Numeric("c", -1, 1, missing=True)],
    Numeric("y", 0, 1),
)
LAYOUT = Layout(DOMAIN, mixed_cuts(DOMAIN))
SPLITS = BinarySplits(LAYOUT)


def drawn(seed, count=3):
    rng = np.random.default_rng(seed)
    return [SPLITS[int(i)] for i in rng.integers(0, len(SPLITS), count)]


def codes_of(n=2_000):
    rng = np.random.default_rng(0)
    return np.column_stack([rng.integers(0, a.size, n) for a in DOMAIN.attributes])


def side(split, row):
    if split.attribute < 0:
        return 1
    return 1 if split.left(DOMAIN.attributes[split.attribute].size)[row[split.attribute]] else -1


@pytest.mark.parametrize("seed", range(12))
def test_cells_stay_under_the_limit_and_grow_with_it(seed):
    chosen = drawn(seed)
    plain = len(RefinedTree.grow(LAYOUT, chosen, 0).tree.leaves)
    sizes = [len(RefinedTree.grow(LAYOUT, chosen, most).tree.leaves) for most in (0, 20, 128)]
    assert sizes[0] == plain <= 8
    assert all(size <= max(plain, most) for size, most in zip(sizes, (0, 20, 128), strict=True))
    is_cut = any(s.attribute in (0, 2) for s in chosen)
    assert (sizes[2] > plain) == is_cut  # categories have no cuts between


@pytest.mark.parametrize("seed", range(6))
def test_leaves_tell_the_sides_of_the_chosen_splits(seed):
    """Every record's leaf is on the side of each chosen split that the record is on."""
    chosen = drawn(seed)
    refined = RefinedTree.grow(LAYOUT, chosen, 60)
    trees = refined.tree.trees()
    leaves = trees.leaves.tolist()
    for row in codes_of(200):
        node = int(trees.roots[0])
        while trees.attribute[node] >= 0:
            code, cut = row[trees.attribute[node]], int(trees.cut[node])
            right = code >= cut if cut >= 0 else not trees.members(node)[code]
            node = int(trees.first_child[node]) + int(right)
        signs = refined.chosen_signs[leaves.index(node)]
        assert signs.tolist() == [side(split, row) for split in chosen]


def test_cells_are_as_alike_as_the_cuts_they_share():
    """One chosen cut, four added ones: a fifth for the chosen cut, the rest for all of them."""
    chosen = [BinarySplit(0, cut=int(LAYOUT.cuts[0][20]))]
    refined = RefinedTree.grow(LAYOUT, chosen, 5)
    (alike,) = refined.likeness()
    order = np.argsort(refined.tree.signs.sum(axis=1))  # from right to left
    between = alike[np.ix_(order, order)]
    assert between.diagonal() == pytest.approx(1)
    assert np.array_equal(between, between.T)
    assert (np.diff(between[0]) < 0).all()  # the further apart, the less alike
    assert between.min() == pytest.approx(-1)


def test_without_an_attribute_there_is_one_cell():
    refined = RefinedTree.grow(LAYOUT, [BinarySplit()], 50)
    assert len(refined.tree.leaves) == 1
    assert refined.likeness() == []
    assert refined.chosen_signs.tolist() == [[1]]
