"""Thresholded counts: the law of the shown values on neighbors, and the threshold itself."""

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.privacy.thresholds import ThresholdedCounts


def law(counts, scale, threshold):
    """The probability of every set of shown values: each value that occurs is shown by itself."""
    p = math.exp(-1 / scale)
    shown = {}
    for value, count in counts.items():
        k = threshold - count
        shown[value] = p**k / (1 + p) if k > 0 else 1 - p ** (1 - k) / (1 + p)
    sets = {}
    for picks in itertools.product((False, True), repeat=len(counts)):
        chance = 1.0
        for value, pick in zip(counts, picks, strict=True):
            chance *= shown[value] if pick else 1 - shown[value]
        sets[frozenset(v for v, pick in zip(counts, picks, strict=True) if pick)] = chance
    return sets


def excess(one, other, epsilon):
    """The least delta for which `one` is (epsilon, delta)-close to `other`."""
    return sum(max(0.0, p - math.exp(epsilon) * other.get(s, 0.0)) for s, p in one.items())


def neighbors(m, counted):
    """Tables of up to three values, and each of them with a unit of up to m records more."""
    for counts in itertools.product(counted, repeat=3):
        for added in itertools.product(range(m + 1), repeat=3):
            if 0 < sum(added) <= m:
                more = [c + a for c, a in zip(counts, added, strict=True)]
                yield tuple(
                    {v: c for v, c in zip("abc", t, strict=True) if c} for t in (counts, more)
                )


def worst(mechanism, m, lower=0):
    scale, threshold = mechanism.noise.scale, mechanism.threshold - lower
    epsilon, found = float(mechanism.epsilon), 0.0
    for less, more in neighbors(m, (0, 1, threshold - 2, threshold)):
        one, other = law(less, scale, threshold), law(more, scale, threshold)
        found = max(found, excess(one, other, epsilon), excess(other, one, epsilon))
    return found


@pytest.mark.parametrize("m", [1, 2, 3])
@pytest.mark.parametrize("epsilon", ["0.3", "2"])
@pytest.mark.parametrize("delta", ["1e-2", "1e-6"])
def test_what_is_shown_keeps_epsilon_and_delta(m, epsilon, delta):
    mechanism = ThresholdedCounts(Fraction(epsilon), Fraction(delta), m)
    found = worst(mechanism, m)
    assert found <= float(mechanism.delta) * (1 + 1e-9)
    steps = math.ceil(mechanism.noise.scale)  # of the threshold, to e times the chance
    assert worst(mechanism, m, 3 * steps) > float(mechanism.delta)  # it can fail


def test_a_threshold_that_forgets_the_records_of_a_person_is_found():
    alone, person = (ThresholdedCounts(Fraction(2), Fraction("1e-4"), m) for m in (1, 3))
    assert worst(person, 3, lower=person.threshold - alone.threshold) > float(person.delta)


@given(
    st.fractions(min_value=Fraction(1, 10**9), max_value=100),
    st.integers(1, 300),
    st.integers(1, 1_000),
)
def test_the_threshold_leaves_delta_in_exact_decimals(epsilon, exponent, m):
    delta = Fraction(1, 10**exponent)
    mechanism = ThresholdedCounts(epsilon, delta, m)
    with localcontext() as context:
        context.prec = 60
        scale = Decimal(mechanism.noise.scale)  # a float, exactly
        p = (-1 / scale).exp()
        tail = p ** (mechanism.threshold - m) / (1 + p)
        allowed = Decimal(delta.numerator) / Decimal(delta.denominator)
        assert m * tail <= allowed
    assert mechanism.threshold > m


def test_noise_is_for_all_records_of_a_unit():
    assert ThresholdedCounts(Fraction(1, 2), Fraction("1e-6"), 3).noise.scale == 6.0


def test_it_states_claim_proof_assumption_and_check():
    text = ThresholdedCounts.__doc__
    assert all(f"\n    {heading}" in text for heading in ("Claim", "Proof", "Assumes", "Checked"))
    assert np.isfinite(ThresholdedCounts(Fraction(1), Fraction(1, 10**300), 1).threshold)
