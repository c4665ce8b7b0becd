"""The black box: bounds that are as sure as they say, and learners that stay under their claim."""

import os

import numpy as np
import pytest
from scipy.stats import binom

from frith import Budget
from frith.audit.black_box import audit_black_box
from frith.audit.events import epsilon_bound, lower_bound
from frith.audit.sizes import QUICK
from tests.audit.subjects import SUBJECTS

FULL = os.environ.get("FRITH_FULL") == "1"
AUDITS = 200 if FULL else 20
SOME = SUBJECTS if FULL else dict(list(SUBJECTS.items())[::3])
FALSE_FAILURE = 1e-6
CONFIDENCE = 0.95


def counts(rng, true, epsilon, runs=2_000):
    """A count with noise of scale 1 / epsilon, and a second cell that nobody is in."""
    p = -np.expm1(-epsilon)
    noise = rng.geometric(p, (runs, 2)) - rng.geometric(p, (runs, 2))
    return (noise + [true, 0]).astype(float)


def audited(epsilon, seed, delta=0.0):
    rng = np.random.default_rng(seed)
    sides = counts(rng, 3, epsilon), counts(rng, 4, epsilon)
    return lower_bound(*sides, delta, CONFIDENCE).epsilon


def test_no_more_than_the_stated_share_of_audits_exceed_a_sound_epsilon():
    """The mechanism is 1-DP and no better, so every report over 1 is wrong: at most 1 in 20 are."""
    wrong = sum(audited(1.0, seed) > 1.0 for seed in range(AUDITS))
    most = binom.ppf(1 - FALSE_FAILURE, AUDITS, 1 - CONFIDENCE)
    assert wrong <= most


def test_most_audits_of_a_broken_mechanism_exceed_its_claim():
    """Noise at half of the scale is 2-DP, where 1 is claimed."""
    caught = sum(audited(2.0, seed) > 1.0 for seed in range(AUDITS))
    assert caught >= 0.9 * AUDITS


def test_a_delta_explains_events_that_are_rare():
    rng = np.random.default_rng(0)
    first = (rng.random((4_000, 1)) < 0.02).astype(float)  # one side alone ever says 1
    second = np.zeros((4_000, 1))
    assert lower_bound(first, second, 0.0, CONFIDENCE).epsilon > 1.5
    assert lower_bound(first, second, 0.04, CONFIDENCE).epsilon == 0


def test_equal_sides_show_nothing():
    rng = np.random.default_rng(1)
    sides = rng.integers(0, 5, (2, 400, 3)).astype(float)
    assert lower_bound(*sides, 0.0, 1 - FALSE_FAILURE).epsilon == 0
    assert lower_bound(np.zeros((4, 1)), np.zeros((4, 1)), 0.0, CONFIDENCE).event == "no event"


def test_the_bound_is_the_one_of_clopper_and_pearson():
    """0 of 59 is P < 5% at 95%: 0.95^59 = 0.0485; so 59 of 59 against it gives log(.95 / .05)."""
    found = epsilon_bound(59, 59, 0, 59, 0.0, 0.90)  # each side has half of the error
    assert found == pytest.approx(np.log(0.05 ** (1 / 59) / (1 - 0.05 ** (1 / 59))))


@pytest.mark.parametrize("subject", SOME.values(), ids=SOME.keys())
def test_learners_pass(subject):
    outcome = audit_black_box(subject, Budget.of(1), QUICK)
    assert not outcome.failed, outcome.found
    assert outcome.confidence == CONFIDENCE
