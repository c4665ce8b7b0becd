"""An estimator made of a forest is the one that was fitted, whoever fitted it."""

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from sklearn.base import clone

from frith import Forest, open_table
from frith import RandomDecisionForestClassifier as RandomForest
from frith.learners import BY_NAME
from frith.learners.base import NOT_COVERED
from tests.tables import person_domain, small_domain, small_table

ATTRIBUTES = ["color", "round", "size"]
every_learner = pytest.mark.parametrize("learner", BY_NAME.values(), ids=BY_NAME)


def fitted(learner, epsilon="1/3", **kwargs):
    engine = open_table(small_table(300), small_domain())
    return learner(small_domain(), epsilon=epsilon, **kwargs).fit(engine)


def sent(forest):
    """The forest as it comes out of a file or from a server."""
    return Forest.from_json(json.loads(json.dumps(forest.to_json())))


@every_learner
@pytest.mark.parametrize("epsilon", ["1/3", "inf"])
def test_it_is_as_if_fitted_here(learner, epsilon):
    here = fitted(learner, epsilon)
    there = learner.from_forest(sent(here.forest_), receipt="a receipt")
    X = small_table(100, seed=1)[ATTRIBUTES]
    for table in (X, pa.Table.from_pandas(X)):
        assert np.array_equal(there.predict(table), here.predict(table))
        assert np.array_equal(there.predict_proba(table), here.predict_proba(table))
    for name in ("classes_", "feature_names_in_", "n_features_in_", "feature_importances_"):
        assert np.array_equal(getattr(there, name), getattr(here, name)), name
    assert (there.domain_, there.forest_) == (here.domain_, here.forest_)
    assert there.receipt_ == "a receipt"
    assert there.score(X, here.predict(X)) == 1
    with pytest.raises(ValueError, match="missing"):
        there.predict(X[["color", "size"]])


@every_learner
def test_the_guarantee_stays_as_it_came(learner):
    forest = fitted(learner, delta=1e-6).forest_
    assert learner.from_forest(forest).forest_.guarantee == forest.guarantee
    told = tuple(a for a in forest.guarantee.assumptions if a != NOT_COVERED)
    bare = replace(forest, guarantee=replace(forest.guarantee, assumptions=told))
    model = learner.from_forest(bare)
    assert model.forest_.guarantee.assumptions == told
    assert NOT_COVERED not in told


@every_learner
def test_parameters_are_the_forests_unless_given(learner):
    forest = fitted(learner, delta=1e-6).forest_
    model = learner.from_forest(forest)
    assert (model.epsilon, model.delta) == (Fraction(1, 3), Fraction(1, 10**6))
    assert model.domain == forest.domain
    assert model.receipt_ is None
    other = learner.from_forest(forest, epsilon=2, delta=0, n_jobs=1)
    assert (other.epsilon, other.delta, other.n_jobs) == (2, 0, 1)
    assert other.forest_.guarantee.epsilon == Fraction(1, 3)
    again = clone(model).fit(small_table()[ATTRIBUTES], small_table()["good"])
    assert again.forest_.guarantee.epsilon == Fraction(1, 3)
    assert NOT_COVERED in again.forest_.guarantee.assumptions  # this one was learned here
    with pytest.raises(TypeError, match="no_such"):
        learner.from_forest(forest, no_such=1)


@every_learner
def test_another_domain_than_the_forests_is_refused(learner, tmp_path):
    forest = fitted(learner).forest_
    small_domain().save(tmp_path / "domain.toml")
    assert learner.from_forest(forest, domain=tmp_path / "domain.toml").domain_ == small_domain()
    assert learner.from_forest(forest, domain=None).domain is None
    with pytest.raises(ValueError, match="another domain"):
        learner.from_forest(forest, domain=small_domain(records=7))


# -- updates -----------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [small_domain(), person_domain()], ids=["records", "persons"])
def test_a_random_forest_can_be_updated(domain):
    engine = open_table(small_table(300), domain)
    forest = RandomForest(domain, epsilon="1/3", n_trees=3, max_depth=2).fit(engine).forest_
    model = RandomForest.from_forest(sent(forest))
    model.update(engine).update(open_table(small_table(50), domain), epsilon="1/6")
    assert model.forest_.guarantee.epsilon == Fraction(5, 6)
    assert model.forest_.trees == forest.trees
    assert not np.array_equal(model.forest_.values, forest.values)
    assert model.partial_fit(engine).forest_.guarantee.epsilon == Fraction(7, 6)


def test_an_exact_forest_is_updated_as_if_it_had_stayed():
    X, y = small_table(300)[ATTRIBUTES], small_table(300)["good"]
    here = RandomForest(small_domain(records=300), epsilon="inf", random_state=0).fit(X, y)
    there = RandomForest.from_forest(sent(here._grown))
    assert there.forest_ == here.forest_  # pruned alike
    assert there.update(X, y).forest_ == here.update(X, y).forest_


def test_a_forest_that_does_not_count_is_not_updated():
    forest = replace(fitted(RandomForest).forest_, vote="shares")
    model = RandomForest.from_forest(forest)
    with pytest.raises(ValueError, match="vote by counts"):
        model.update(small_table()[ATTRIBUTES], small_table()["good"])
    assert model.forest_ == forest
