"""The law of the number of runs, its exact draws, and the best of them."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from frith.privacy import stopping
from frith.privacy.stopping import RandomStopping, best_of
from tests.statistics import FALSE_FAILURE

LAWS = [
    RandomStopping(Fraction(eta), Fraction(gamma))
    for eta in (0, "1/2", 1) for gamma in ("1/20", "1/3", "9/10")
]  # fmt: skip


@pytest.mark.parametrize("law", LAWS, ids=str)
def test_probabilities_add_up_and_have_the_stated_mean(law):
    chances = np.array([law.probability(k) for k in range(1, 800)])
    assert chances.sum() == pytest.approx(1)
    assert chances @ np.arange(1, 800) == pytest.approx(law.mean)
    ratio = chances[1] / chances[0]  # (1 - gamma) (1 + eta) / 2, by hand
    assert ratio == pytest.approx(float((1 - law.gamma) * (1 + law.eta) / 2))


def test_eta_of_one_is_the_geometric_law():
    law = RandomStopping(Fraction(1), Fraction(1, 4))
    assert [law.probability(k) for k in (1, 2, 3)] == pytest.approx([1 / 4, 3 / 16, 9 / 64])
    assert law.price == 3
    assert RandomStopping(Fraction(0), Fraction(1, 4)).price == 2


@pytest.mark.parametrize("law", [LAWS[1], LAWS[4], LAWS[7]], ids=str)
def test_draws_follow_the_law_and_not_another(law):
    n, most = 12_000, 6  # the other law then passes with a chance below 1e-16
    draws = np.array([law.draw() for _ in range(n)])
    seen = np.bincount(np.minimum(draws, most), minlength=most + 1)[1:]

    def fit(other):
        chances = [other.probability(k) for k in range(1, most)]
        return chisquare(seen, n * np.array([*chances, 1 - sum(chances)])).pvalue

    assert fit(law) > FALSE_FAILURE
    assert fit(RandomStopping(law.eta, law.gamma * Fraction(4, 5))) < FALSE_FAILURE


@pytest.mark.parametrize("eta", ["0", "1/3", "1"])
@pytest.mark.parametrize("mean", [2, 10, 500])
def test_a_mean_can_be_asked_for(eta, mean):
    assert RandomStopping.of_mean(Fraction(eta), mean).mean == pytest.approx(mean, rel=1e-3)


@pytest.mark.parametrize(("eta", "gamma"), [(-1, "1/2"), (2, "1/2"), (1, 0), (1, 1)])
def test_other_laws_are_refused(eta, gamma):
    with pytest.raises(ValueError, match="eta|gamma"):
        RandomStopping(Fraction(eta), Fraction(gamma))
    with pytest.raises(ValueError, match="eta|gamma"):
        RandomStopping(1, 0.5)


def test_the_best_run_wins_and_the_first_of_equals():
    scores = iter([3, 7, 7, 1])
    made = iter("abcd")

    class Four(RandomStopping):
        def draw(self):
            return 4

    found = best_of(Four(Fraction(1), Fraction(1, 2)), lambda: (next(scores), next(made)))
    assert found == "b"


def test_a_draw_of_a_large_mean_takes_about_as_many_coins(monkeypatch):
    """Not their square: one that is not accepted is given up early."""
    coins, happens = [], stopping._happens
    monkeypatch.setattr(
        stopping, "_happens", lambda chance: coins.append(chance) or happens(chance)
    )
    law = RandomStopping.of_mean(Fraction(0), 1_000)
    for _ in range(10):
        law.draw()
    assert len(coins) < 100 * 10 * 2 / law.gamma
