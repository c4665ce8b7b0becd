"""How far scores are to be believed: what noisy counts of labels by score make of two numbers."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from frith import Categorical, Domain, ForestClassifier
from frith.growing.calibrating import bins_of, fitted, share_of_calibration

SCORES = np.array([-2.0, -0.7, 0.7, 2.0])


def counts_of(shift, factor, sizes):
    p = expit(shift + factor * SCORES)
    return np.column_stack([sizes * (1 - p), sizes * p])


@pytest.mark.parametrize(("shift", "factor"), [(0, 1), (0.3, 1), (-0.4, 0.8), (0.2, 1.8)])
@pytest.mark.parametrize("n_records", [4_000, None])
def test_exact_counts_give_back_shift_and_factor(shift, factor, n_records):
    counts = counts_of(shift, factor, np.array([500, 1_500, 1_000, 1_000]))
    a, b, noise = fitted(counts, 1.0, SCORES, n_records)
    assert (a, b) == pytest.approx((shift, factor), abs=0.06)
    assert noise < 0.01


def test_counts_that_are_all_noise_make_scores_less_sure():
    a, b, noise = fitted(np.full((4, 2), 500.0), 1e12, SCORES, 4_000)
    assert a == pytest.approx(0, abs=0.05)
    assert 0.5 < b < 1
    assert noise > 1


@pytest.mark.parametrize("share", [0.02, 0.2, 0.4])
@pytest.mark.parametrize("n_records", [4_000, None])
def test_one_label_for_everybody_says_its_share(share, n_records):
    counts = 4_000 * np.array([[1 - share, share]])
    a, b, _ = fitted(counts, 20.0**2, np.array([-1.0]), n_records)
    assert expit(a - b) == pytest.approx(share, abs=0.01)


@pytest.mark.parametrize("shift", [-3, -1.5, 1.5, 3])
def test_no_label_turns_whatever_the_shares(shift):
    a, b, _ = fitted(counts_of(shift, 1, np.full(4, 1_000)), 1.0, SCORES, 4_000)
    assert np.sign(a) == np.sign(shift)
    assert np.array_equal(np.sign(a + b * SCORES), np.sign(SCORES))
    assert b > 0


def test_scores_go_on_telling_records_apart_where_they_are_wrong():
    a, b, _ = fitted(counts_of(0, -1, np.full(4, 1_000)), 1.0, SCORES, 4_000)
    assert 0 < b < 0.1
    assert abs(a) < 0.1


def test_bins_hold_one_score_each_and_the_largest_share_one():
    edges, middles = bins_of(np.array([0.7, -0.7, 2, -2]))
    assert edges.tolist() == [-1.35, 0, 1.35]
    assert middles.tolist() == SCORES.tolist()
    edges, middles = bins_of(np.arange(-9.5, 10))
    assert edges.tolist() == [-2, -1, 0, 1, 2]
    assert middles.tolist() == [-6, -1.5, -0.5, 0.5, 1.5, 6]
    edges, middles = bins_of(np.array([-1.0]))
    assert (len(edges), middles.tolist()) == (0, [-1])


def test_little_signal_buys_no_counts_and_more_signal_pays_less_for_them():
    shares = [share_of_calibration(s) for s in (0, 49, 50, 400, 4_000, np.inf)]
    assert shares[0] == shares[1] == shares[-1] == 0
    assert shares[2:-1] == [Fraction(150, 1000), Fraction(60, 1000), Fraction(19, 1000)]


def test_a_rare_label_is_said_to_be_rare():
    """With nothing to learn, where steps alone would say one in four."""
    rng = np.random.default_rng(0)
    n = 4_000
    X = pd.DataFrame(rng.integers(0, 5, (n, 4)), columns=list("pqrs"))
    y = np.where(rng.random(n) < 0.02, "rare", "often")
    domain = Domain(
        [Categorical(c, tuple(range(5))) for c in "pqrs"],
        Categorical("y", ("often", "rare")),
        records=n,
    )
    model = ForestClassifier(domain, epsilon="0.1").fit(X, y)
    asked = model.forest_.guarantee.asked
    assert asked[-1].purpose == "labels by score"
    assert asked[-1].share == Fraction(60, 1000)
    assert sum(q.share for q in asked) == 1
    assert model.predict_proba(X)[:, 1].mean() < 0.2
