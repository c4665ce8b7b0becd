"""A question and a sign for every label, chosen together: its law by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.privacy.mechanisms import SignChoice
from frith.privacy.sources import BulkSource, ExactSource, OpenDPSource
from tests.statistics import fits_law
from tests.strategies import examples

REACH = 8


def law(differences, log_weights, choice):
    """The probability of every (question, signs), from the weights of all of them."""
    weights = {
        (q, signs): math.exp(log_weights[q] + np.dot(signs, row) / choice.scale)
        for q, row in enumerate(differences)
        for signs in itertools.product((-1, 0, 1), repeat=differences.shape[1])
    }
    total = sum(weights.values())
    return {key: weight / total for key, weight in weights.items()}


@st.composite
def neighbors(draw):
    """Differences of a few questions, and the same with a record that moves each by REACH in L1."""
    shape = draw(st.tuples(st.integers(1, 3), st.integers(1, 3)))
    cells = st.lists(st.integers(-30, 30), min_size=math.prod(shape), max_size=math.prod(shape))
    before = np.array(draw(cells)).reshape(shape)
    record = np.array(draw(st.lists(st.integers(0, REACH), min_size=shape[1], max_size=shape[1])))
    record = record * REACH // max(REACH, record.sum())
    sides = np.array(draw(st.lists(st.sampled_from([-1, 1]), min_size=shape[0], max_size=shape[0])))
    return before, before + sides[:, None] * record


@examples(100)
@given(neighbors(), st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(3)]))
def test_no_ratio_passes_epsilon(pair, epsilon):
    choice = SignChoice(epsilon, REACH)
    choice.check()
    weights = np.linspace(-1, 0, len(pair[0]))
    first, second = (law(d, weights, choice) for d in pair)
    assert max(abs(math.log(first[k] / second[k])) for k in first) <= float(epsilon)


def test_the_ratio_nearly_reaches_epsilon():
    choice = SignChoice(Fraction(1), REACH)
    before = np.array([[200, 0], [-200, 0]])
    after = before + np.array([[-REACH, 0], [-REACH, 0]])
    first, second = (law(d, np.zeros(2), choice) for d in (before, after))
    assert max(abs(math.log(first[k] / second[k])) for k in first) > 0.4


@pytest.mark.parametrize("reach", [1, REACH, 16_384])
@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_a_step_is_refused_from_where_its_thousandth_no_longer_covers_the_rounding(unit, reach):
    """The range is the share over 1.001; of it, a 1001st must cover 4 logarithms off by 2^-26."""
    least = Fraction(1001, 1000) * 1001 * 4 / 2**26
    least = least if unit == "epsilon" else least**2 / 8
    SignChoice(least * (1 + Fraction(1, 10**9)), reach, unit).check()
    with pytest.raises(ValueError, match="too little"):
        SignChoice(least * (1 - Fraction(1, 10**9)), reach, unit).check()


def test_the_question_s_weight_is_the_sum_over_its_signs():
    choice = SignChoice(Fraction(1), REACH)
    differences, weights = np.array([[5, -3], [0, 40]]), np.array([0.0, -0.5])
    of_all = law(differences, weights, choice)
    sums = np.array([sum(p for (q, _), p in of_all.items() if q == i) for i in range(2)])
    logs = choice.question_weights(differences, weights)
    assert np.exp(logs - logs.max()) / np.exp(logs - logs.max()).sum() == pytest.approx(sums)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@pytest.mark.parametrize("source", [OpenDPSource(), BulkSource()], ids=["opendp", "ours"])
def test_samples_follow_the_law(source, unit):
    choice = SignChoice(Fraction(1), REACH, unit)
    differences, weights = np.array([[5, -3], [0, 9]]), np.array([0.0, -0.5])
    expected = law(differences, weights, choice)
    number = {key: i for i, key in enumerate(expected)}
    drawn = [source.choose_signs(differences, weights, choice) for _ in range(4_000)]
    places = np.array([number[q, tuple(signs.tolist())] for q, signs in drawn])
    assert fits_law(places, log_law_of([*expected.values()]))


def log_law_of(chances):
    logs = np.log(chances)

    def log_law(values):
        inside = (values >= 0) & (values < len(logs))
        return np.where(inside, logs[np.clip(values, 0, len(logs) - 1)], -np.inf)

    return log_law


@pytest.mark.parametrize(("unit", "amount"), [("epsilon", 16), ("rho", 32)])
@pytest.mark.parametrize("source", [OpenDPSource(), BulkSource()], ids=["opendp", "ours"])
def test_no_sign_weighs_what_a_difference_of_zero_does(source, unit, amount):
    """At a scale of about one, a score that is off by one would show."""
    choice = SignChoice(Fraction(amount), REACH, unit)
    signs = [source.choose_signs(np.array([[0]]), np.zeros(1), choice)[1][0] for _ in range(600)]
    assert fits_law(np.array(signs) + 1, log_law_of([1 / 3] * 3))


def test_rho_is_the_range_squared_over_eight():
    choice = SignChoice(Fraction(1, 50), REACH, "rho")
    spread = Fraction(2 * REACH) / Fraction(choice.scale) + 4 * SignChoice.SLACK
    assert spread**2 / 8 <= Fraction(1, 50)


def test_too_little_is_refused():
    with pytest.raises(ValueError, match="too little"):
        SignChoice(Fraction(1, 10**5), REACH).check()


def test_without_noise_the_largest_differences_win():
    differences = np.array([[1, -2, 0], [3, 0, -1]])
    question, signs = ExactSource().choose_signs(
        differences, np.zeros(2), SignChoice(Fraction(1), 1)
    )
    assert (question, signs.tolist()) == (1, [1, 0, -1])


@pytest.mark.parametrize("large", [10**6, 10**12, 2**52])
def test_weights_of_large_tables_are_as_exact_as_those_of_small_ones(large):
    """As floats, logarithms of so large sums would round by more than the slack."""
    choice = SignChoice(Fraction(1, 100), 2**14)
    before = np.array([[large, -large // 3], [large - 7, large // 3], [-large, 5]])
    record = np.array([[2**13, -(2**13)], [-(2**14), 0], [1, 2**14 - 1]])
    first, second = (choice.fixed_weights(d, np.zeros(3)) for d in (before, before + record))
    sums = np.abs(before).sum(axis=1).tolist(), np.abs(before + record).sum(axis=1).tolist()
    for weights, exact in zip((first, second), sums, strict=True):
        for i in range(3):
            wanted = Fraction(exact[i] - max(exact)) / Fraction(choice.scale)
            off = Fraction(weights[i], choice.POINT) - wanted
            assert off + SignChoice.SLACK >= 0
            assert off <= 2 * Fraction(math.log(3)) + SignChoice.SLACK


def test_the_logarithm_of_a_weight_is_cut_off():
    weights = SignChoice(Fraction(1), 1).fixed_weights(np.array([[0], [2**40]]), np.zeros(2))
    assert weights[0] == -(2**61)
    assert weights[1] >= 0
