"""Amounts that frith cannot keep are refused before anything is charged."""

import math
from fractions import Fraction

import pytest

from frith.errors import FrithError, OutsideWindow
from frith.privacy import Budget
from frith.privacy.composition import rho_of
from frith.privacy.window import (
    LEAST_AMOUNT,
    LEAST_DELTA,
    LEAST_EPSILON,
    MAX_SCALE,
    MOST_EPSILON,
    check_question,
    check_rho,
    is_outside,
)


@pytest.mark.parametrize("epsilon", ["9e-10", "1e-99", "1e-400", "1000000001", "1e400"])
def test_a_budget_outside_the_window_is_refused(epsilon):
    with pytest.raises(OutsideWindow, match=r"from 1e-09 to 1000000000"):
        Budget.of(epsilon)


@pytest.mark.parametrize("epsilon", [LEAST_EPSILON, MOST_EPSILON, "inf"])
def test_the_ends_of_the_window_are_inside(epsilon):
    assert Budget.of(epsilon).epsilon == (math.inf if epsilon == "inf" else epsilon)


def test_a_delta_that_no_logarithm_can_hold_is_refused():
    with pytest.raises(OutsideWindow, match="delta is under 1e-300"):
        Budget.of(1, "1e-400")
    assert Budget.of(1, LEAST_DELTA).total > 0


@pytest.mark.parametrize(("epsilon", "delta"), [("1e-9", "1e-300"), ("1e-5", "1e-300")])
def test_a_budget_that_leaves_no_rho_is_refused(epsilon, delta):
    with pytest.raises(OutsideWindow, match="leaves rho 0"):
        Budget.of(epsilon, delta)
    with pytest.raises(OutsideWindow, match="a larger epsilon or delta"):
        rho_of(Fraction(epsilon), Fraction(delta))


@pytest.mark.parametrize("delta", ["1e-300", "1e-100", "1e-6", "0.5"])
def test_an_epsilon_whose_rho_is_not_looked_at_leaves_enough(delta):
    assert Budget.of("0.01", delta).total > 10**6 * LEAST_AMOUNT["rho"]


def test_what_was_stored_before_there_was_a_window_can_be_read():
    assert Budget.stored("1e-99").epsilon == Fraction("1e-99")
    with pytest.raises(ValueError, match="must be positive"):
        Budget.stored("0")
    with pytest.raises(ValueError, match="at least 0"):
        Budget.stored("1", "-0.5")


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_a_question_spends_at_least_the_least_amount(unit):
    least = LEAST_AMOUNT[unit]
    check_question(least, unit, 1.0, "leaves")
    for amount in (Fraction(0), least / 2):
        with pytest.raises(OutsideWindow, match=rf"leaves: {unit} .*; nothing was charged"):
            check_question(amount, unit, 1.0, "leaves")


@pytest.mark.parametrize("scale", [0.0, math.nextafter(MAX_SCALE, math.inf), math.inf, math.nan])
def test_a_question_has_a_scale_that_fits(scale):
    check_question(Fraction(1), "epsilon", MAX_SCALE, "leaves")
    with pytest.raises(OutsideWindow, match=r"leaves: noise of scale .* at most 2\^50"):
        check_question(Fraction(1), "epsilon", scale, "leaves")


def test_an_amount_is_an_error_of_value_and_of_frith():
    assert issubclass(OutsideWindow, ValueError)
    assert issubclass(OutsideWindow, FrithError)


@pytest.mark.parametrize(
    ("amount", "unit", "outside"),
    [("1e-9", "epsilon", False), ("9e-10", "epsilon", True), ("1e10", "epsilon", True),
     ("1e-24", "rho", False), ("9e-25", "rho", True)],
)  # fmt: skip
def test_charges_of_the_past_are_held_against_the_same_window(amount, unit, outside):
    assert is_outside(Fraction(amount), unit) is outside


@pytest.mark.parametrize(("unit", "least"), [("epsilon", 10**12), ("rho", 10**24)])
def test_a_question_spends_at_least_so_much(unit, least):
    check_question(Fraction(1, least), unit, 1.0, "it")
    for little in (Fraction(1, least + 1), Fraction(999, 1000 * least)):
        with pytest.raises(OutsideWindow, match="the least is"):
            check_question(little, unit, 1.0, "it")


def test_the_least_rho_can_be_spent_and_nothing_under_it():
    least = LEAST_AMOUNT["rho"]
    check_rho(least, Fraction(1), Fraction(1, 10**6))
    with pytest.raises(OutsideWindow, match="ask for a larger epsilon or delta"):
        check_rho(least * Fraction(999, 1000), Fraction(1), Fraction(1, 10**6))


def test_noise_of_the_largest_scale_is_thousands_of_scales_from_the_ends_of_its_integers():
    assert 2**62 / MAX_SCALE == 4096  # beyond them with a probability of exp(-4096)
