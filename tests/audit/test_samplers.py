"""Samplers against their laws, and the test itself against laws that are slightly off."""

import numpy as np
import pytest

from frith.audit.samplers import (
    FALSE_FAILURE,
    Fit,
    _outcome,
    audit_samplers,
    audit_sources,
    p_value,
)
from frith.audit.sizes import QUICK
from frith.privacy.mechanisms import DiscreteLaplace
from tests.audit.subjects import BUDGETS, SMALL


def test_every_noise_source_follows_its_law():
    outcome = audit_sources(QUICK)
    assert not outcome.failed, outcome.found
    assert outcome.found.startswith("19 laws")


@pytest.mark.parametrize("subject", SMALL.values(), ids=SMALL.keys())
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_every_learner_passes(subject, budget):
    outcome = audit_samplers(subject, budget, QUICK)
    assert not outcome.failed, outcome.found


def test_the_right_law_fits_and_one_twenty_percent_off_does_not():
    from fractions import Fraction

    from frith.privacy.sources import OpenDPSource

    noise, wider = DiscreteLaplace(Fraction(1, 2), 1), DiscreteLaplace(Fraction(5, 12), 1)
    drawn = OpenDPSource().perturb(np.zeros(20_000, dtype=np.int64), noise, 1)
    reach = int(np.abs(drawn).max()) + 1
    observed, grid = (
        np.bincount(drawn + reach, minlength=2 * reach + 1),
        np.arange(-reach, reach + 1),
    )
    assert p_value(observed, np.exp(noise.log_law(grid))) > FALSE_FAILURE
    assert p_value(observed, np.exp(wider.log_law(grid))) < FALSE_FAILURE


def test_rare_outcomes_are_pooled_and_still_seen():
    law = np.array([0.9, 0.05, 0.05 - 1e-6, 1e-6])
    assert p_value(np.array([9_000, 500, 500, 0]), law) > 0.5
    assert p_value(np.array([9_000, 500, 300, 200]), law) < FALSE_FAILURE
    assert p_value(np.array([10]), np.ones(1)) == 1


def test_p_values_of_the_right_law_are_spread_evenly():
    """At most a tenth of them under a tenth, but for chance: Hoeffding at 1e-9."""
    rng, law = np.random.default_rng(0), np.array([0.5, 0.3, 0.15, 0.05])
    found = np.array([p_value(rng.multinomial(2_000, law), law) for _ in range(400)])
    assert abs(np.mean(found < 0.1) - 0.1) < np.sqrt(np.log(2 / 1e-9) / (2 * 400))


def test_without_draws_nothing_was_checked():
    assert _outcome("x", []).status == "not checked"
    assert _outcome("x", [Fit("fine", 0.5), Fit("no number", np.nan)]).failed
