"""Replay must hold for a sound learner, and must catch unsound ones."""

from fractions import Fraction

import numpy as np
import pytest

from frith import Budget, RandomDecisionForestClassifier, open_table
from frith.audit.flawed_curators import UnsoundCurator
from frith.audit.replay import arbitrary_releases, replay, replay_curator
from frith.curator import Curator
from frith.forest import Forest
from frith.forest.trees import sum_up
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LeafCounts
from tests.tables import small_domain, small_table


class Sneaky(RandomDecisionForestClassifier):
    """Counts leaves in one go, as a sound learner does, with a hook for mischief."""

    def trees(self, curator):
        return grow_random_trees(curator.domain, 3, 2, np.random.default_rng(0))

    def learn(self, curator):
        trees = self.trees(curator)
        kernel = self.kernel(trees, curator.domain)
        release = curator.noisy_counts(kernel, Fraction(1), "leaves")
        values = sum_up(trees, release.values, curator.domain)
        return Forest(curator.domain, trees, values, curator.guarantee, np.zeros(trees.n_nodes))

    def kernel(self, trees, domain):
        return LeafCounts(trees, domain)


class ChargesOneTree(LeafCounts):
    """Three trees at the price of one."""

    l1 = l2_squared = 1


class Undercharging(Sneaky):
    def kernel(self, trees, domain):
        return ChargesOneTree(trees, domain)


class PeeksAtSize(Sneaky):
    """Reads the exact number of records behind the curator's back to size its trees."""

    def trees(self, curator):
        n = len(curator._engine._engine._encoded)
        return grow_random_trees(curator.domain, 1, 1 + n % 2, np.random.default_rng(0))


def run(learner, budget=None, open_curator=Curator):
    table = small_table(60)
    a, b = (open_table(t, small_domain(records=60)) for t in (table, table.drop(index=7)))
    return replay(learner, a, b, budget or Budget.of(1), arbitrary_releases(0), open_curator)


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_sound_learner_stays_within_its_budget_and_uses_all_of_it(delta):
    result = run(Sneaky(), Budget.of(1, delta))
    assert result.holds
    assert result.loss > Fraction(999, 1000) * result.budget


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_sensitivity_that_is_too_small_is_caught(delta):
    result = run(Undercharging(), Budget.of(1, delta), UnsoundCurator)
    assert not result.holds
    assert result.loss > Fraction(29, 10) * result.budget


def test_an_exact_number_in_the_structure_is_caught():
    result = run(PeeksAtSize())
    assert not result.holds
    assert "the forest's trees" in result.differences


def test_a_frozen_forest_carries_no_guarantee():
    curator = replay_curator(
        open_table(small_table(), small_domain()), Budget.of(1), arbitrary_releases(0)
    )
    forest = Sneaky().learn(curator)
    assert not forest.guarantee.holds
    assert "frozen" in " ".join(forest.guarantee.assumptions)
