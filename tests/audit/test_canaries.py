"""One-run canaries: the theorem's number, how sure it is, and what it finds."""

import math
import os
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import binom

from frith import Budget
from frith.audit.canaries import (
    audit_canaries,
    audit_forest,
    canary_world,
    epsilon_bound,
    guess,
    p_value,
)
from frith.audit.flawed_curators import HalfScaleCurator
from frith.audit.sizes import QUICK
from frith.audit.subjects import Subject
from frith.audit.twins import Leaves
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.run.sample import CONNECTION
from frith.server.sources import Source
from tests.audit.subjects import BUDGETS, SUBJECTS
from tests.hosting import hosted

AUDITS = 200 if os.environ.get("FRITH_FULL") == "1" else 20


def test_without_delta_the_chance_is_that_of_a_binomial():
    q = math.e / (1 + math.e)
    assert p_value(100, 40, 35, 1.0, 0.0) == pytest.approx(binom.sf(34, 40, q))


def test_with_delta_it_is_the_theorem_written_out():
    m, r, v, epsilon, delta = 30, 12, 9, 0.7, 1e-3
    q = math.exp(epsilon) / (1 + math.exp(epsilon))

    def f(x):
        return sum(math.comb(r, k) * q**k * (1 - q) ** (r - k) for k in range(max(0, x), r + 1))

    steepest = max((f(v - i) - f(v)) / i for i in range(1, m + 1))
    assert p_value(m, r, v, epsilon, delta) == pytest.approx(f(v) + 2 * m * delta * steepest)


def test_the_bound_is_the_largest_refuted_epsilon():
    found = epsilon_bound(1_000, 500, 400, 0.0, 0.95)
    assert (
        p_value(1_000, 500, 400, found - 1e-6, 0.0)
        < 0.05
        <= p_value(1_000, 500, 400, found + 1e-6, 0)
    )
    assert epsilon_bound(1_000, 500, 250, 0.0, 0.95) == 0
    assert epsilon_bound(1_000, 500, 400, 1e-5, 0.95) < found


def test_half_are_guessed_and_ties_fall_at_random():
    guesses = guess(np.zeros(100), np.random.default_rng(0))
    assert (np.sum(guesses == 1), np.sum(guesses == -1)) == (25, 25)
    assert guess(np.arange(8.0), np.random.default_rng(0)).tolist() == [-1, -1, 0, 0, 0, 0, 1, 1]


def test_no_more_than_the_stated_share_of_audits_exceed_a_sound_epsilon():
    subject, size = Subject("leaves", lambda: Leaves(max_depth=1)), replace(QUICK, canaries=400)
    found = [audit_canaries(subject, Budget.of(1), size, seed).loss for seed in range(AUDITS)]
    assert sum(b > 1 for b in found) <= binom.ppf(1 - 1e-6, AUDITS, 0.05)
    assert max(found) > 0.3  # and it does see something


def test_most_audits_of_a_broken_mechanism_exceed_its_claim():
    subject = Subject("half", lambda: Leaves(max_depth=1), HalfScaleCurator)
    size = replace(QUICK, canaries=400)
    found = [audit_canaries(subject, Budget.of(1), size, seed).loss for seed in range(AUDITS)]
    assert sum(b > 1 for b in found) >= 0.8 * AUDITS


@pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS.keys())
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_every_learner_passes(subject, budget):
    outcome = audit_canaries(subject, budget, QUICK)
    assert not outcome.failed, outcome.found


def test_a_servers_forests_give_away_no_more_about_canaries_than_they_were_charged(tmp_path):
    """As a curator would: canaries beside the records of a table that others may ask about."""
    domain, canaries = canary_world(400)
    inside = np.random.default_rng(1).random(400) < 0.5
    with hosted(tmp_path) as host:
        canaries[inside].to_parquet(tmp_path / "canaries.parquet")
        with host.context.database.write() as session:
            source = Source(CONNECTION, "canaries.parquet")
            policy = Policy("100")
            tables.register(
                host.context, session, "aviary", source, domain, policy, curator="carla"
            )
        with host.connect() as database:
            kept, loose = (
                database.train("aviary", "random-decision", epsilon=e, n_trees=1).forest_
                for e in ("1", "20")
            )
    assert not audit_forest(kept, canaries, inside, Budget.of(1)).failed
    assert audit_forest(loose, canaries, inside, Budget.of(20)).loss > 3
    assert audit_forest(loose, canaries, inside, Budget.of(1)).failed  # were 1 all it was charged


def test_without_canaries_nothing_was_checked():
    subject, (domain, canaries) = next(iter(SUBJECTS.values())), canary_world(4)
    _, forest = subject.fit(subject.open(canaries, domain), BUDGETS["pure"])
    none = audit_forest(forest, canaries.iloc[:0], np.zeros(0, dtype=bool), BUDGETS["pure"])
    assert none.status == "not checked"
