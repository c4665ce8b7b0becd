"""Gain and gain ratio of tables, against the textbook's formulas by hand."""

import numpy as np
import pytest

from frith import Categorical, Domain, Numeric
from frith.growing.gain import gain_ratio, information_gain
from frith.kernels.layout import Layout, equal_width_cuts

DOMAIN = Domain(
    [Categorical("a", ("0", "1", "2")), Numeric("n", 0, 4), Categorical("b", ("0", "1"))],
    Categorical("label", ("x", "y")),
)
LAYOUT = Layout(DOMAIN, equal_width_cuts(DOMAIN, 4))
TABLE = np.array([
    [4, 0], [2, 2], [0, 8],  # by a: 4, 4 and 8 records
    [6, 0], [0, 2], [0, 0], [0, 8],  # by n: cuts after 6, 8 and 8 records
    [6, 10], [-3, -1],  # by b: nothing is parted, and negative counts are nothing
])  # fmt: skip


def entropy(*counts):
    shares = np.array([c for c in counts if c > 0]) / sum(counts)
    return float(-np.sum(shares * np.log2(shares)))


WHOLE = entropy(6, 10)
GAINS = [
    WHOLE - 4 / 16 * entropy(2, 2),
    WHOLE,  # the cut after 6 parts x from y
    WHOLE - 8 / 16 * entropy(6, 2),
    WHOLE - 8 / 16 * entropy(6, 2),
    0.0,
]
SPLITS = [entropy(4, 4, 8), entropy(6, 10), entropy(8, 8), entropy(8, 8)]


def test_the_gain_is_the_entropy_before_a_split_less_that_after_it():
    assert information_gain(TABLE[None], LAYOUT)[0] == pytest.approx(GAINS)


def test_the_gain_ratio_is_the_gain_over_the_entropy_of_the_split():
    ratios = [gain / split for gain, split in zip(GAINS, SPLITS, strict=False)]
    assert gain_ratio(TABLE[None], LAYOUT)[0] == pytest.approx([*ratios, 0.0])


def test_every_node_of_a_level_has_gains_of_its_own_and_an_empty_one_none():
    tables = np.stack([np.zeros_like(TABLE), TABLE, 3 * TABLE])
    gains = information_gain(tables, LAYOUT)
    assert gains[0].tolist() == [0.0] * 5
    assert gains[1] == pytest.approx(gains[2])  # a gain is by record
    assert gain_ratio(tables, LAYOUT)[0].tolist() == [0.0] * 5


def test_both_sides_of_a_cut_count():
    """Cuts after 4, 8 and 12 of 16 records, none of which leaves a pure side."""
    table = TABLE.copy()
    table[3:7] = [[3, 1], [1, 3], [1, 3], [1, 3]]
    whole, sides = entropy(6, 10), [((3, 1), (3, 9)), ((4, 4), (2, 6)), ((5, 7), (1, 3))]
    gains = [whole - sum(sum(s) / 16 * entropy(*s) for s in pair) for pair in sides]
    assert information_gain(table[None], LAYOUT)[0, 1:4] == pytest.approx(gains)
