from fractions import Fraction

import pytest

from frith.privacy.guarantee import Guarantee
from frith.privacy.neighbors import RECORD
from frith.privacy.promise import factor, promise


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(1, "e^1 (about 2.72)"), (20, "e^20 (about 4.85e+08)"), (21, "e^21")],
)
def test_a_factor_is_a_power_and_a_number_one_can_grasp(epsilon, words):
    assert factor(epsilon) == words


def test_a_promise_names_the_unit_and_what_it_rests_on():
    plain = Guarantee(Fraction(1), Fraction(0), RECORD, (), ())
    assert "one record in the table" in promise(plain)
    assert "plus" not in promise(plain)
    assert "assumptions" not in promise(plain)
    person = Guarantee(Fraction(1), Fraction(1, 10**6), "one person", ("something",), ())
    assert "(plus 1e-06)" in promise(person)
    assert "one person's records" in promise(person)
    assert "assumptions above" in promise(person)


def test_without_noise_nothing_is_promised():
    exact = Guarantee(float("inf"), Fraction(0), RECORD, (), ())
    assert promise(exact).startswith("No guarantee")
