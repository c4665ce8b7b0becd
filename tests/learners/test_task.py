"""The kind of the label is the task: a learner of the other kind says which one to use."""

import numpy as np
import pandas as pd
import pytest

from frith import (
    Categorical,
    Domain,
    Forest,
    ForestClassifier,
    ForestRegressor,
    Numeric,
    open_table,
)
from frith.errors import DomainError
from tests.learners.conformance import LEARNERS

DOMAIN = Domain([Numeric("age", 0, 100)], Numeric("pay", 0, 8), records=50)
TABLE = pd.DataFrame({"age": np.linspace(0, 99, 50), "pay": np.linspace(0, 8, 50)})


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_a_classifier_names_the_regressor(make):
    told = "the label 'pay' is a number between 0 and 8; use ForestRegressor"
    with pytest.raises(DomainError, match=told):
        make(DOMAIN).fit(TABLE[["age"]], TABLE["pay"])
    with pytest.raises(DomainError, match=told):
        make().fit(open_table(TABLE, DOMAIN))


def test_the_regressor_names_the_classifier():
    domain = Domain([Numeric("age", 0, 100)], Categorical("pay", ("low", "high")), records=50)
    told = "the label 'pay' has 2 declared values; use ForestClassifier"
    labels = ["low", "high"] * 25
    with pytest.raises(DomainError, match=told):
        ForestRegressor(domain).fit(TABLE[["age"]], labels)
    with pytest.raises(DomainError, match=told):
        ForestRegressor().fit(open_table(TABLE[["age"]], domain, labels))


def test_a_forest_of_the_other_kind_is_not_adopted():
    forest = ForestRegressor(DOMAIN).fit(TABLE[["age"]], TABLE["pay"]).forest_
    with pytest.raises(DomainError, match="use ForestRegressor"):
        ForestClassifier.from_forest(forest)
    again = ForestRegressor.from_forest(Forest.from_json(forest.to_json()))
    assert np.array_equal(again.predict(TABLE[["age"]]), forest.predict(TABLE))


def test_a_float_target_without_a_domain_names_the_regressor():
    with pytest.raises(ValueError, match="Unknown label type.*use ForestRegressor"):
        ForestClassifier(epsilon=1).fit(TABLE[["age"]], TABLE["pay"] + 0.123)
