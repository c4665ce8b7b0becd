"""Votes by hand: what trees with these values say of a record, and of no record."""

from fractions import Fraction

import numpy as np
import pytest

from frith import Categorical, Domain, Forest
from frith.growing.builder import TreeBuilder
from frith.privacy.guarantee import Guarantee

DOMAIN = Domain([Categorical("a", ("0", "1"))], Categorical("label", ("x", "y", "z")))
CODES = np.array([[0], [1]], dtype=np.uint8)


def forest(values, vote="counts"):
    """Trees that ask a; `values` are those of each root, then of each tree's two leaves."""
    builder = TreeBuilder(len(values) // 3)
    for root in range(builder.n_trees):
        builder.split(root, 0)
    trees = builder.trees()
    return Forest(
        DOMAIN, trees, np.array(values), Guarantee(Fraction(1)), np.zeros(trees.n_nodes), vote
    )


@pytest.mark.parametrize(
    ("roots", "weights"),
    [
        ([(4, 1, 1), (3, 2, -5)], [7, 3, 0]),  # negative sums are nothing
        ([(0, 0, 0), (0, 1, -1)], [0, 1, 0]),
        ([(-1, 0, 0), (1, 0, -3)], [1, 1, 1]),  # and where nothing is left, all are alike
    ],
)
def test_labels_weigh_what_the_roots_counted(roots, weights):
    leaves = [(0, 0, 0)] * 4
    assert forest([*roots, *leaves]).label_weights.tolist() == weights


def test_scores_weigh_by_their_odds():
    """Sums of 1, 3 and 2: exp of what each is under the largest."""
    found = forest([(0.5, 1.0, 2.0), (0.5, 2.0, 0.0), *[(0, 0, 0)] * 4], "product")
    assert found.label_weights == pytest.approx(np.exp([-2, 0, -1]))


def test_a_record_without_a_positive_count_gets_the_labels_of_all():
    found = forest([(6, 2, 0), (0, -1, -2), (6, 3, 2)])
    assert found.proba_of_codes(CODES) == pytest.approx(
        np.array([(6 / 8, 2 / 8, 0), (6 / 11, 3 / 11, 2 / 11)])
    )
    assert found.labels_of_codes(CODES).tolist() == [0, 0]


@pytest.mark.parametrize(
    ("vote", "first", "second"),
    [
        # the leaves at a = 0 are (1, 0, 0) and (3, 4, 1); at a = 1 nothing and (0, 0, 9)
        ("counts", [4, 4, 1], [0, 0, 9]),
        (
            "shares",
            [1 + 3 / 8, 4 / 8, 1 / 8],
            [8 / 12, 2 / 12, 2 / 12 + 1],
        ),  # the root's for nothing
        ("weighted", [1, 4 / 8, 0], [8 / 12, 0, 1]),  # the share of the likeliest label alone
        ("confident", [1, 0, 0], [0, 0, 1]),  # the surest leaf of all
    ],
)
def test_a_vote_adds_what_leaves_say(vote, first, second):
    values = [(8, 2, 2), (3, 4, 10), (1, 0, 0), (0, -1, 0), (3, 4, 1), (0, 0, 9)]
    found = forest(values, vote).proba_of_codes(CODES)
    assert found == pytest.approx(
        np.array([first, second]) / np.sum([first, second], axis=1)[:, None]
    )


def test_scores_add_up_to_odds_once_for_each_record():
    leaves = [(0.5, 1.0, 0.0), (0.0, 0.0, 2.0), (0.5, 0.0, 0.0), (1.0, 0.0, 0.0)]
    found = forest([*[(0, 0, 0)] * 2, *leaves], "product").proba_of_codes(CODES)
    odds = np.exp([(1.0, 1.0, 0.0), (1.0, 0.0, 2.0)])
    assert found == pytest.approx(odds / odds.sum(axis=1, keepdims=True))


def test_equally_sure_leaves_of_other_labels_are_told_apart_by_all_trees():
    """x and y are both sure of themselves, and a third tree is for y."""
    leaves = [(1, 0, 0), (0, 0, 1), (0, 1, 0), (0, 0, 1), (1, 3, 0), (0, 0, 1)]
    found = forest([*[(1, 1, 1)] * 3, *leaves], "confident")
    assert found.labels_of_codes(CODES).tolist() == [1, 2]
    assert found.proba_of_codes(CODES[:1])[0] == pytest.approx([1.25 / 3, 1.75 / 3, 0])


def test_a_surer_node_above_speaks_for_its_leaf():
    """The root is sure of x to 8 of 9; its leaves to 3 of 4 and of themselves."""
    found = forest([(8, 1, 0), (3, 1, 0), (9, 0, 0)], "confident")
    assert found.speakers.tolist() == [0, 2]
    assert forest([(8, 1, 0), (3, 1, 0), (0, 0, 0)], "shares").speakers.tolist() == [1, 0]
