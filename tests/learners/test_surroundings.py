"""What stands around a fit in scikit-learn is named in the guarantee where it is not covered."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from frith import Categorical, Domain, Numeric, RandomDecisionForestClassifier
from frith.learners.surroundings import CALIBRATED

DOMAIN = Domain([Numeric("a", -3, 3), Numeric("b", -3, 3)], Categorical("y", (0, 1)), records=60)
X = np.random.default_rng(0).normal(size=(60, 2))
y = (X[:, 0] > 0).astype(int)


def learner():
    return RandomDecisionForestClassifier(DOMAIN, n_trees=2, max_depth=2)


def assumed(model):
    return "\n".join(model.forest_.guarantee.assumptions)


def test_a_plain_fit_assumes_nothing_more():
    said = assumed(learner().fit(X, y))
    assert CALIBRATED not in said
    assert "before this learner" not in said


@pytest.mark.parametrize("search", [False, True])
def test_a_fitted_step_before_the_learner_is_named(search):
    pipeline = make_pipeline(FunctionTransformer(), StandardScaler(), learner())
    if search:
        name = "randomdecisionforestclassifier__n_trees"
        pipeline = GridSearchCV(pipeline, {name: [1]}, cv=2).fit(X, y).best_estimator_
    said = assumed(pipeline.fit(X, y)[-1])
    assert "what StandardScaler learned from the records before this learner: not covered" in said


def test_a_step_that_learns_nothing_is_not_named():
    said = assumed(make_pipeline(FunctionTransformer(), learner()).fit(X, y)[-1])
    assert "before this learner" not in said


@pytest.mark.parametrize("n_jobs", [None, 2])
@pytest.mark.xdist_group("processes")
def test_several_fits_of_a_calibrator_say_that_they_add(n_jobs):
    calibrated = CalibratedClassifierCV(learner(), cv=2, n_jobs=n_jobs).fit(X, y)
    inner = [c.estimator for c in calibrated.calibrated_classifiers_]
    assert len(inner) == 2
    assert all(CALIBRATED in assumed(model) for model in inner)
