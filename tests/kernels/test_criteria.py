"""Ranges of scores, by brute force over small tables; scores, against naive ones."""

from fractions import Fraction
from itertools import product
from math import log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Numeric
from frith.kernels.criteria import (
    MAX_CAP,
    SCALE,
    EntropyMass,
    GiniMass,
    MaxMass,
    _gini_of_large,
    criterion,
    split_scores,
)
from frith.kernels.layout import Layout, equal_width_cuts

CRITERIA = [GiniMass(), EntropyMass(4), EntropyMass(7), EntropyMass(1000), MaxMass()]
counts = st.lists(st.integers(0, 40), min_size=1, max_size=5)


def change(by, before, label):
    after = before.copy()
    after[label] += 1
    return int(by.mass(after[None])[0] - by.mass(before[None])[0])


@pytest.mark.parametrize("by", CRITERIA, ids=str)
def test_no_table_moves_a_mass_past_its_range_or_the_other_way(by):
    """Every table of three labels with up to nine records of each, and every further record."""
    moves = {
        change(by, np.array(table), label)
        for table in product(range(10), repeat=3)
        for label in range(3)
    }
    assert max(moves) - min(moves) <= by.range_
    assert max(moves) <= 0 or min(moves) >= 0
    assert max(map(abs, moves)) <= by.range_


@given(st.sampled_from(CRITERIA), counts, st.data())
def test_the_range_holds_on_larger_tables(by, table, data):
    label = data.draw(st.integers(0, len(table) - 1))
    factor = data.draw(st.sampled_from([1, 10, 10**4, 10**7]))
    assert abs(change(by, np.array(table) * factor, label)) <= by.range_


@pytest.mark.parametrize(
    ("by", "table", "least"),
    [
        (GiniMass(), [10**6, 0], 0.99999),
        (EntropyMass(50), [50, 0], 1),  # at the cap the tangent begins: attained exactly
        (EntropyMass(50), [10**6, 0], 1),
        (MaxMass(), [3, 3], 1),
    ],
    ids=str,
)
def test_the_range_is_attained(by, table, least):
    moved = max(abs(change(by, np.array(table), label)) for label in range(2))
    assert least * by.range_ <= moved <= by.range_


@pytest.mark.parametrize("cap", [2, 3, 10, 1000, 2**20])
def test_the_range_of_entropy_is_that_of_the_rule(cap):
    assert EntropyMass(cap).range_ == int(SCALE * (log2(cap) + 1 / log(2)))


def test_without_the_tangent_a_larger_table_would_pass_the_range():
    """A declared cap of 100 and a million records: the plain entropy moves by 21.4, not 8.1."""
    n = 10**6

    def phi(t):
        return t * log2(t) if t else 0

    assert phi(n + 1) - phi(n) > 2.6 * EntropyMass(100).range_ / SCALE
    assert abs(change(EntropyMass(100), np.array([n, 0]), 1)) <= EntropyMass(100).range_


@given(counts)
def test_the_gini_mass_is_the_exact_fraction_rounded_down(table):
    n = sum(table)
    miss = n - Fraction(sum(x * x for x in table), n) if n else Fraction(0)
    assert GiniMass().mass(np.array([table]))[0] == -(SCALE * miss // 1)


@given(counts, st.sampled_from([1, 10**3, 10**7]))
def test_large_and_small_arithmetic_agree(table, factor):
    table = np.array([table]) * factor
    assert np.array_equal(GiniMass().mass(table), _gini_of_large(table))


def test_billions_of_records_do_not_overflow():
    table = np.array([[3 * 10**9, 2 * 10**9]])
    exact = 5 * 10**9 - Fraction((3 * 10**9) ** 2 + (2 * 10**9) ** 2, 5 * 10**9)
    assert GiniMass().mass(table)[0] == -(SCALE * exact // 1)


@given(counts)
def test_the_entropy_mass_is_the_entropy_times_the_size(table):
    n = sum(table)
    bits = sum(-x * log2(x / n) for x in table if x)
    assert -EntropyMass(1000).mass(np.array([table]))[0] / SCALE == pytest.approx(bits, abs=1e-3)


@given(st.integers(0, 10**6))
def test_split_scores_equal_a_naive_sum_over_children(seed):
    attributes = [
        Categorical("a", ("x", "y", "z")),
        Numeric("n", 0, 1, cells=8, missing=True),
        Categorical("b", ("u", "v")),
    ]
    domain = Domain(attributes, Categorical("label", ("0", "1")))
    layout = Layout(domain, equal_width_cuts(domain, 4))
    assert layout.n_bins == 3 + 5 + 2
    assert layout.cut_of.tolist() == [-1, 2, 4, 6, 8, -1]
    tables = np.random.default_rng(seed).integers(0, 9, (2, layout.n_bins, 2))
    by = GiniMass()
    scores = split_scores(tables, layout, by)
    for table, row in zip(tables, scores, strict=True):
        assert row[0] == sum(by.mass(child[None])[0] for child in table[:3])
        for i, at in enumerate(range(1, 5)):
            left, right = table[3 : 3 + at].sum(axis=0), table[3 + at : 8].sum(axis=0)
            assert row[1 + i] == by.mass(left[None])[0] + by.mass(right[None])[0]
        assert row[5] == sum(by.mass(child[None])[0] for child in table[8:])


def test_every_mass_is_taken_row_by_row():
    table = np.array([[3, 1, 2], [0, 5, 5]])
    for by in (GiniMass(), EntropyMass(8), MaxMass()):
        assert by.mass(table).tolist() == [int(by.mass(row)) for row in table]
    assert MaxMass().mass(table).tolist() == [3, 5]


def test_a_large_row_beside_a_small_one_does_not_overflow():
    table = np.array([[2**33, 2**33], [1, 0]])
    assert GiniMass().mass(table).tolist() == [-(2**33) * SCALE, 0]


@pytest.mark.parametrize(("records", "cap"), [(1, 2), (2, 2), (100, 100), (2**30, MAX_CAP)])
def test_entropy_is_capped_at_the_number_of_records_within_bounds(records, cap):
    assert criterion("entropy", records) == EntropyMass(cap)


def test_an_unknown_criterion_is_named():
    with pytest.raises(ValueError, match="'gain'"):
        criterion("gain", 10)


def test_labels_that_are_large_together_do_not_overflow():
    """Each count is below the limit, and their squares add up to more than 64 bits hold."""
    counts = np.full((1, 3), 2**31 - 1)
    assert GiniMass().mass(counts).tolist() == [-SCALE * 2 * (2**31 - 1)]
