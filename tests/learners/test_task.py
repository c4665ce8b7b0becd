"""The kind of the label is the task: a learner of the other kind says which one to use."""

import numpy as np
import pandas as pd
import pytest

from frith import Domain, ForestClassifier, Numeric, open_table
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


def test_a_float_target_without_a_domain_names_the_regressor():
    with pytest.raises(ValueError, match="Unknown label type.*use ForestRegressor"):
        ForestClassifier(epsilon=1).fit(TABLE[["age"]], TABLE["pay"] + 0.123)
