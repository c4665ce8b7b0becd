"""Other shares of labels than in training: post-processing, from what was released or declared."""

import numpy as np
import pandas as pd
import pytest

from frith import Categorical, Domain, ForestClassifier, Numeric, RandomDecisionForestClassifier

RARE = 0.006
PUBLIC = {"no": 1 - RARE, "yes": RARE}
DOMAIN = Domain([Numeric("x", 0, 1, cells=8)], Categorical("y", ("no", "yes")), records=20_000)


def rare_table(n=20_000, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.random(n) < RARE
    x = np.where(y, rng.beta(4, 1, n), rng.beta(1, 2, n))
    return pd.DataFrame({"x": x}), np.where(y, "yes", "no")


@pytest.fixture(scope="module")
def trained():
    return RandomDecisionForestClassifier(DOMAIN, epsilon="inf", max_depth=3, random_state=0).fit(
        *rare_table(), notices=False
    )


def recall(found, y):
    return np.mean(found[y == "yes"] == "yes")


def test_a_class_of_six_in_a_thousand_is_found_once_labels_count_alike(trained):
    """And it costs false alarms: about one record in eight is then called rare."""
    X, y = rare_table(seed=1)
    assert recall(trained.predict(X), y) == 0
    balanced = trained.predict(X, class_prior="balanced")
    assert recall(balanced, y) > 0.6
    assert 0.02 < np.mean(balanced == "yes") < 0.3


def test_probabilities_are_multiplied_by_new_over_old_shares(trained):
    X, _ = rare_table(50, seed=2)
    plain = trained.predict_proba(X)
    odds = plain[:, 1] / plain[:, 0]
    shifted = trained.predict_proba(X, class_prior={"no": 3, "yes": 1}, trained_prior=PUBLIC)
    np.testing.assert_allclose(shifted.sum(axis=1), 1)
    expected = odds * (0.25 / RARE) / (0.75 / (1 - RARE))
    np.testing.assert_allclose(shifted[:, 1] / shifted[:, 0], expected)
    same = trained.predict_proba(X, class_prior=PUBLIC, trained_prior=PUBLIC)
    np.testing.assert_allclose(same, plain)


def test_the_old_shares_are_those_that_were_counted(trained):
    X, _ = rare_table(50, seed=2)
    counts = trained.forest_.values[trained.forest_.trees.roots].sum(axis=0)
    counted = dict(zip(DOMAIN.label.values, counts.tolist(), strict=True))
    given = trained.predict_proba(X, class_prior="balanced", trained_prior=counted)
    np.testing.assert_allclose(trained.predict_proba(X, class_prior="balanced"), given)


def test_a_forest_of_scores_needs_counted_rules_or_a_declared_prior():
    X, y = rare_table(2_000)
    model = ForestClassifier(DOMAIN, epsilon=1).fit(X, y, notices=False)
    with pytest.raises(ValueError, match="counted no labels"):
        model.predict_proba(X, class_prior="balanced")
    assert model.predict_proba(X, class_prior="balanced", trained_prior=PUBLIC).shape == (2_000, 2)
    model.measure_rules(X, y, epsilon=1)
    assert np.isfinite(model.predict_proba(X, class_prior="balanced")).all()


@pytest.mark.parametrize(
    "wrong", [{"no": 1}, {"no": 0, "yes": 1}, {"no": 1, "yes": np.nan}, [1, 1], "x"]
)
def test_a_prior_that_leaves_a_label_out_is_refused(trained, wrong):
    with pytest.raises(ValueError, match="a share above 0 for each label"):
        trained.predict(rare_table(5)[0], class_prior=wrong)
