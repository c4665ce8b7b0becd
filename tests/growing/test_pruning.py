"""Pruning by hand: equation 27 of DPDF, and C4.5's estimate of errors."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import beta

from frith import Categorical, Domain, Forest
from frith.growing.builder import TreeBuilder
from frith.growing.pruning import (
    collapse,
    reliable_nodes,
    splits_that_lower_errors,
    splits_worth_keeping,
)
from frith.privacy.guarantee import Guarantee

DOMAIN = Domain([Categorical(name, ("0", "1")) for name in "ab"], Categorical("label", ("x", "y")))


def trees(levels):
    """a at the root; with two levels its first value asks b."""
    builder = TreeBuilder()
    left, _ = builder.split(0, 0)
    if levels == 2:
        builder.split(left, 1)
    return builder.trees()


@pytest.mark.parametrize(
    ("counts", "kept"),
    [
        ([(8, 8), (8, 0), (0, 8)], True),
        ([(8, 8), (4, 4), (4, 4)], False),  # no purer is not enough
        ([(8, 4), (4, 2), (4, 2)], False),
        # the root -0.42, children 0 of one record and -0.5 of ten: -0.45 by their sizes
        ([(7, 3), (1, 0), (5, 5)], False),
        ([(6, 4), (1, 0), (5, 5)], True),  # the root -0.48
        ([(8, 8), (8, -8), (-8, 8)], True),  # negative counts are nothing
        ([(6, 4), (1, -5), (5, 5)], True),  # in a size
        ([(7, 3), (1, -5), (5, 5)], False),  # and in a share
        ([(8, 8), (-8, 0), (0, -8)], False),  # and children of nothing are no purer
        ([(0, 0), (8, 0), (0, 8)], False),  # than a parent of nothing, of which nothing is known
        ([(6, 4), (1, 0), (0, 0)], True),  # one record is pure
    ],
)
def test_children_no_purer_than_their_parent_are_cut(counts, kept):
    """Equation 27: the Gini index of a node against that of its leaves, weighed by their sizes."""
    found = splits_worth_keeping(trees(1), DOMAIN, np.array(counts))
    assert found.tolist() == [kept, False, False]


def test_with_three_labels_the_index_is_of_squares():
    """0.5^2 + 0.5^2 = 0.5 is over 0.65^2 + 0.2^2 + 0.15^2 = 0.485; their cubes are the other way round."""
    domain = replace(DOMAIN, label=Categorical("label", ("x", "y", "z")))
    counts = np.array([(10, 10, 0), (13, 4, 3), (0, 0, 0)])
    assert not splits_worth_keeping(trees(1), domain, counts).any()


def test_a_parent_is_judged_again_once_its_children_are_leaves():
    """Lines 37 to 50 of Algorithm 1: what was kept below keeps all above it."""
    root, other = (7, 3), (1, 0)
    cut = splits_worth_keeping(trees(2), DOMAIN, np.array([root, (5, 5), other, (2, 2), (3, 3)]))
    assert not cut.any()
    kept = splits_worth_keeping(trees(2), DOMAIN, np.array([root, (5, 5), other, (5, 0), (0, 5)]))
    assert kept.tolist() == [True, True, False, False, False]


def test_a_pruned_forest_was_chosen_from_all_the_nodes_that_it_had():
    """Their number says how far the best of them may be off by chance, pruned or not."""
    counts = np.zeros((5, 2))
    for before, after in ((1, 5), (9, 9)):
        forest = Forest(
            DOMAIN, trees(2), counts, Guarantee(Fraction(1)), np.ones(5), candidates=before
        )
        pruned = collapse(forest, np.array([True, False, False, False, False]))
        assert (pruned.trees.n_nodes, pruned.candidates) == (3, after)


def worst(size, errors):
    return size * beta.ppf(0.75, errors + 1, size - errors)


def test_a_split_is_kept_where_its_leaves_make_fewer_errors_at_the_worst():
    """C4.5: 75% upper bounds on errors, added over the leaves; the first pair is near the line."""
    for leaf in (30, 31, 32, 33, 34):
        counts = np.array([(60, 40), (leaf, 50 - leaf), (50 - leaf, leaf)])
        lower = 2 * worst(50, 50 - leaf) < worst(100, 40)
        assert splits_that_lower_errors(trees(1), DOMAIN, counts)[0] == lower
    assert {2 * worst(50, 50 - leaf) < worst(100, 40) for leaf in (30, 34)} == {False, True}


def test_a_leaf_without_a_record_of_a_label_makes_no_error_with_it():
    """(10, 0) and (0, 2) at the worst make 2.3 errors, (10, 2) makes 3.5; so with noise under 0."""
    assert worst(10, 0) + worst(2, 0) < worst(12, 2)
    for nothing in (0, -5):
        counts = np.array([(10, 2), (10, nothing), (nothing, 2)])
        assert splits_that_lower_errors(trees(1), DOMAIN, counts)[0]


@pytest.mark.parametrize(
    "counts",
    [
        [(12, 0), (6, -5), (6, -5)],  # 1.31 errors against twice 1.24
        [(2, 0), (1, 0), (1, 0)],  # 1 against twice 0.75: one record may be wrong
        [(3, 1), (2, 0), (1, 1)],  # 2.17 against 1 + 1.75: no error seen is one at the worst
    ],
)
def test_splits_of_what_is_as_good_whole_are_cut(counts):
    (whole, *parts) = [worst(max(a, 0) + max(b, 0), min(max(a, 0), max(b, 0))) for a, b in counts]
    assert whole < sum(parts)
    assert not splits_that_lower_errors(trees(1), DOMAIN, np.array(counts)).any()


def test_the_noise_of_a_node_is_that_of_its_leaves_whatever_it_asks():
    """b at the root, a below: 5 records over the two leaves of a, under 2 labels x 2 x sqrt 2."""
    builder = TreeBuilder()
    for child in builder.split(0, 1):
        builder.split(child, 0)
    counts = np.array([(9, 3), (4, 1), (5, 2), (2, 1), (2, 0), (5, 1), (0, 1)])
    for noise, found in ((2.0, False), (1.7, True)):  # 5.66, 4.81
        reliable = reliable_nodes(builder.trees(), DOMAIN, counts, noise)
        assert (reliable[1], reliable[2]) == (found, True)
    below = counts.copy()
    below[[1, 3, 4]] = [(0, 0), (99, 99), (-99, -99)]  # nothing, in two large leaves
    assert not reliable_nodes(builder.trees(), DOMAIN, below, 2.0)[3]


def test_errors_of_a_subtree_are_those_of_its_leaves():
    """The left leaf is pure only below b: the root's split is worth it for what lies under it."""
    counts = np.array([(50, 50), (50, 50), (0, 0), (50, 0), (0, 50)])
    assert splits_that_lower_errors(trees(2), DOMAIN, counts).tolist()[:2] == [True, True]
    counts = np.array([(50, 50), (50, 50), (0, 0), (25, 25), (25, 25)])
    assert not splits_that_lower_errors(trees(2), DOMAIN, counts).any()
