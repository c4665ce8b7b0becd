import sys
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.privacy.exact import exact, float_at_least, float_root_at_least, readable, show

positive = st.fractions(min_value=Fraction(1, 10**12), max_value=10**12)


def test_ten_tenths_are_one():
    assert sum([exact(0.1)] * 10) == 1
    assert Fraction(0.1) * 10 != 1  # what reading the binary value would give


@pytest.mark.parametrize("text", ["0.1", "1/10", 0.1, Fraction(1, 10), "1e-1"])
def test_amounts_are_read_as_written(text):
    assert exact(text) == Fraction(1, 10)


@pytest.mark.parametrize("bad", ["nan", float("nan"), "one", None, True, "1/0", ""])
def test_what_is_no_amount_is_refused(bad):
    with pytest.raises(ValueError, match="not an amount"):
        exact(bad)


@pytest.mark.parametrize("bad", ["1e999999999", "1E-999999999", "1e1_000_000_000", "-1e+999999999"])
def test_a_giant_number_is_refused_and_not_computed(bad):
    with pytest.raises(ValueError, match="not an amount"):
        exact(bad)
    with pytest.raises(ValueError, match="not an amount"):
        exact("1e1000")
    assert exact("1e308") == 10**308


@given(positive)
def test_a_scale_is_the_smallest_float_that_is_large_enough(bound):
    value = float_at_least(bound)
    assert Fraction(value) >= bound
    import math

    assert Fraction(math.nextafter(value, 0)) < bound


@given(positive)
def test_a_root_is_the_smallest_float_whose_square_is_large_enough(square):
    import math

    value = float_root_at_least(square)
    assert Fraction(value) ** 2 >= square
    assert Fraction(math.nextafter(value, 0)) ** 2 < square


@pytest.mark.parametrize("bound", [Fraction(0), Fraction(-1, 3)])
@pytest.mark.parametrize("root", [float_at_least, float_root_at_least])
def test_there_is_no_scale_of_nothing(root, bound):
    """It used to look for one for ever."""
    with pytest.raises(ValueError, match="a scale is above 0"):
        root(bound)


@given(positive)
def test_shown_amounts_read_back_equal(amount):
    assert exact(show(amount)) == amount


def test_people_read_amounts_that_are_exact_up_to_twelve_characters():
    assert readable(Fraction(12345, 654323)) == "12345/654323"

    assert readable(Fraction(123456, 654323)) == "0.188677"  # thirteen would be exact


@pytest.mark.parametrize(
    ("amount", "text"),
    [("4", "4"), ("1/3", "1/3"), (f"1/{3 * 10**400}", "3.33333e-401"), (f"{10**400}/3", "3.33333e+399"),
     (float("inf"), "inf")],
)  # fmt: skip
def test_amounts_beyond_every_float_are_readable_too(amount, text):
    assert readable(exact(amount)) == text


def test_the_largest_float_is_a_scale_and_nothing_beyond_it():
    largest = Fraction(sys.float_info.max)
    assert float_at_least(largest) == sys.float_info.max
    for beyond in (float_at_least, float_root_at_least):
        with pytest.raises(ValueError, match="beyond every float"):
            beyond(largest + 1)
