"""Refined trees: the chosen splits come first, cells stay within their number, likeness is one."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Numeric
from frith.growing.boosting import likeness_of
from frith.growing.posterior import alike_by_answer
from frith.growing.refining import RefinedTree
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplit, BinarySplits
from tests.strategies import examples

DOMAIN = Domain(
    [Numeric("x", 0, 1), Numeric("z", -5, 5, missing=True), Categorical("c", tuple("abcde"))],
    Categorical("y", ("no", "yes")),
)
LAYOUT = Layout(DOMAIN, mixed_cuts(DOMAIN))
SPLITS = BinarySplits(LAYOUT)
some_splits = st.lists(st.integers(0, len(SPLITS) - 1), min_size=1, max_size=6)


def plain_cells(chosen):
    return len(RefinedTree.grow(LAYOUT, chosen, 0).tree.leaves)


@examples(40)
@given(some_splits, st.integers(0, 200))
def test_cells_are_at_most_as_many_as_asked_or_chosen(places, most):
    chosen = [SPLITS[p] for p in places]
    tree = RefinedTree.grow(LAYOUT, chosen, most)
    assert len(tree.tree.leaves) <= max(most, plain_cells(chosen))
    assert tree.chosen_signs.shape == (len(tree.tree.leaves), len(chosen))
    tree.tree.trees().check(DOMAIN)


@examples(40)
@given(some_splits, st.integers(0, 200))
def test_likeness_is_a_covariance_of_one(places, most):
    tree = RefinedTree.grow(LAYOUT, [SPLITS[p] for p in places], most)
    for alike in (*tree.likeness(), *likeness_of(tree)):
        assert np.allclose(np.diag(alike), 1)
        assert np.allclose(alike, alike.T)
        assert np.linalg.eigvalsh(alike).min() > -1e-9
        assert np.abs(alike).max() <= 1 + 1e-12


@pytest.mark.parametrize("cut", [64, 512, 992])
def test_cells_further_apart_are_less_alike(cut):
    tree = RefinedTree.grow(LAYOUT, [BinarySplit(0, cut=cut)], 12)
    assert len(tree.tree.leaves) > 4
    (alike,) = tree.likeness()
    order = np.argsort(tree._signs.sum(axis=1))  # from one end of the number to the other
    assert np.all(np.diff(alike[order[0], order]) < 0)


@pytest.mark.parametrize("cut", [256, 512, 704])
def test_added_cuts_are_as_far_apart_however_many_cuts_there_are(cut):
    """Else finer cuts would tell apart records that are next to each other, and no others."""

    def reach(bins):
        layout = Layout(DOMAIN, mixed_cuts(DOMAIN, bins))
        tree = RefinedTree.grow(layout, [BinarySplit(0, cut=cut)], 4).tree.trees()
        cuts = tree.cut[tree.attribute == 0]
        return cuts.max() - cuts.min()

    assert reach(256) == pytest.approx(reach(32), rel=0.3)
    assert reach(256) > 100


def test_without_room_the_chosen_splits_are_all():
    chosen = [BinarySplit(0, cut=512), BinarySplit(2, members=np.array([1, 0, 0, 1, 0], bool))]
    tree = RefinedTree.grow(LAYOUT, chosen, 4)
    assert tree.added == ()
    assert len(tree.tree.leaves) == 4
    assert sorted(map(tuple, tree.chosen_signs.tolist())) == [(-1, -1), (-1, 1), (1, -1), (1, 1)]


def test_a_chosen_split_keeps_its_own_likeness_and_a_number_gets_one_more():
    chosen = [BinarySplit(0, cut=512), BinarySplit(2, members=np.array([1, 0, 0, 1, 0], bool))]
    plain = RefinedTree.grow(LAYOUT, chosen, 4)
    assert np.array_equal(likeness_of(plain), alike_by_answer(plain.chosen_signs))
    wide = RefinedTree.grow(LAYOUT, chosen, 40)
    *own, along = likeness_of(wide)
    assert np.array_equal(own, alike_by_answer(wide.chosen_signs))
    same_side = own[0] > 0
    assert along[same_side].min() < 1  # cells of one side differ, the further apart the more
    assert along[same_side].mean() > along[~same_side].mean()
