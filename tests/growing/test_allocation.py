from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.growing.allocation import ALLOCATIONS, level_shares


@given(st.sampled_from(ALLOCATIONS), st.integers(1, 40))
def test_every_allocation_sums_to_exactly_one(name, levels):
    shares = level_shares(name, levels)
    assert len(shares) == levels
    assert sum(shares) == 1
    assert min(shares) > 0


@given(st.lists(st.fractions(Fraction(1, 1000), 100), min_size=1, max_size=10))
def test_weights_of_ones_own_are_scaled_to_one(weights):
    shares = level_shares(weights, len(weights))
    assert sum(shares) == 1
    assert all(s * sum(weights) == w for s, w in zip(shares, weights, strict=True))


def test_arithmetic_gives_deeper_levels_more_and_geometric_less():
    assert level_shares("arithmetic", 4) == [Fraction(i, 10) for i in (1, 2, 3, 4)]
    assert level_shares("geometric", 4) == [Fraction(1, d) for d in (2, 4, 8, 8)]
    assert level_shares("uniform", 4) == [Fraction(1, 4)] * 4


@pytest.mark.parametrize("bad", ["harmonic", [1, 2], [1, 0, 1], [1, "inf", 1], [1, -1, 3]])
def test_what_is_no_allocation_is_refused(bad):
    with pytest.raises(ValueError, match="allocation"):
        level_shares(bad, 3)
