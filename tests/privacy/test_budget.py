import time
from concurrent.futures import ThreadPoolExecutor
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.errors import BudgetExceeded
from frith.privacy import Budget, Meter, exact
from frith.privacy.composition import epsilon_of, rho_of


@pytest.mark.parametrize("epsilon", [0, -1, "-0.5"])
def test_epsilon_must_be_positive(epsilon):
    with pytest.raises(ValueError, match="epsilon must be positive"):
        Budget.of(epsilon)


@pytest.mark.parametrize("delta", [-0.1, 1, 2, "inf"])
def test_delta_is_a_probability_under_one(delta):
    with pytest.raises(ValueError, match="delta"):
        Budget.of(1, delta)


def test_without_a_delta_there_is_none():
    assert Budget(Fraction(1)).delta == 0
    assert Budget(Fraction(1)).unit == "epsilon"


def test_the_limit_without_noise_is_one_whole():
    assert Budget.of("inf").total == 1


def test_ten_requests_of_a_tenth_fit_a_budget_of_one_and_an_eleventh_does_not():
    meter = Meter(Budget.of(1))
    for _ in range(10):
        meter.charge(exact(0.1))
    with pytest.raises(BudgetExceeded):
        meter.charge(exact(0.1))


def test_a_refused_charge_names_both_amounts_and_changes_nothing():
    meter = Meter(Budget.of("3/4"))
    meter.charge(Fraction(1, 2))
    with pytest.raises(BudgetExceeded, match=r"epsilon 0.25 left and this asks for 0.5") as caught:
        meter.charge(Fraction(1, 2))
    assert (caught.value.requested, caught.value.remaining) == (Fraction(1, 2), Fraction(1, 4))
    assert meter.spent == Fraction(1, 2)


@pytest.mark.parametrize("amount", [Fraction(0), Fraction(-1), 0.5, float("nan"), float("inf")])
def test_a_charge_is_a_positive_fraction(amount):
    meter = Meter(Budget.of(1))
    with pytest.raises(ValueError, match="positive Fraction"):
        meter.charge(amount)
    assert meter.spent == 0


@given(st.lists(st.fractions(min_value=Fraction(1, 1000), max_value=1), max_size=30))
def test_no_sequence_of_charges_passes_the_budget(amounts):
    meter = Meter(Budget.of(1))
    for amount in amounts:
        before = meter.spent
        try:
            meter.charge(amount)
            assert meter.spent == before + amount
        except BudgetExceeded:
            assert meter.spent == before
            assert before + amount > 1
    assert meter.spent <= 1


class SlowAmount(Fraction):
    """Lets other threads run between the look at what is left and the charge."""

    def __gt__(self, remaining):
        time.sleep(0.002)
        return super().__gt__(remaining)


def test_of_threads_that_ask_for_all_one_succeeds():
    def ask(meter):
        try:
            meter.charge(SlowAmount(1))
        except BudgetExceeded:
            return False
        return True

    meter = Meter(Budget.of(1))
    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(ask, [meter] * 8)) == 1
    assert meter.spent == 1


@pytest.mark.parametrize("epsilon", ["0.01", "0.1", "1", "10", "100"])
@pytest.mark.parametrize("delta", ["1e-12", "1e-6", "0.01"])
def test_rho_is_nearly_the_largest_that_gives_epsilon_at_delta(epsilon, delta):
    budget = Budget.of(epsilon, delta)
    rho, e, d = float(budget.total), float(budget.epsilon), float(budget.delta)
    assert epsilon_of(rho, d) <= e
    assert epsilon_of(rho * 1.001, d) > e
    # an independent, looser conversion (Bun and Steinke 2016): rho + 2 sqrt(rho log(1/delta))
    assert e <= rho + 2 * (rho * -__import__("math").log(d)) ** 0.5


def test_conversion_is_remembered_exactly():
    assert rho_of(Fraction(1), Fraction(1, 10**6)) == Budget.of(1, 1e-6).total


def test_a_pure_request_has_a_price_in_rho_and_a_delta_none_in_epsilon():
    assert Budget.of("1/2").cost_in("rho") == Fraction(1, 8)
    with pytest.raises(ValueError, match="pure epsilon"):
        Budget.of(1, 1e-6).cost_in("epsilon")
    with pytest.raises(ValueError, match="no price"):
        Budget.of("inf").cost_in("epsilon")
