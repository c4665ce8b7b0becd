"""A budget too small for what a forest would ask is refused before anything is charged, or asks for less."""

import itertools

import numpy as np
import pandas as pd
import pytest

from frith import Categorical, Domain, ForestClassifier, ForestRegressor, Ledger, Numeric, Person
from frith.errors import DomainError, OutsideWindow

ROWS = 300
X = np.random.default_rng(0).random(ROWS)
TABLE = pd.DataFrame(
    {
        "who": np.arange(ROWS) // 3,
        "x": X,
        "number": X,
        "two": np.where(X > 0.5, "l1", "l0"),
        "six": [f"l{int(6 * v)}" for v in X],
    }
)
LABELS = {
    "number": Numeric("number", 0, 1),
    "two": Categorical("two", ("l0", "l1")),
    "six": Categorical("six", tuple(f"l{i}" for i in range(6))),
}


def outcome(tmp_path, label, epsilon, records=None, per_person=1, **more):
    """Whether a fit ended, and whether it was charged."""
    kind = ForestRegressor if label == "number" else ForestClassifier
    person = Person("who", records=per_person)
    domain = Domain([Numeric("x", 0, 1)], LABELS[label], records=records, person=person)
    path = tmp_path / "budget.db"
    Ledger.create(path, epsilon=10, records_per_person=per_person)
    model = kind(domain, epsilon=epsilon, ledger=path, n_jobs=1, **more)
    try:
        model.fit(TABLE[["who", "x", label]], notices=False)
    except OutsideWindow:
        return False, Ledger(path).remaining != 10
    return True, Ledger(path).remaining != 10


@pytest.mark.parametrize("label", LABELS)
@pytest.mark.parametrize(
    ("epsilon", "records", "per_person"),
    [
        *itertools.product(["1e-9", "1e-8", "1e-6"], [10**13, 2**47], [1]),
        *itertools.product(["1e-9", "1e-7"], [None, 10**13], [100, 1_000]),
    ],
)
def test_no_question_is_too_small_once_another_was_paid_for(
    tmp_path, label, epsilon, records, per_person
):
    is_fitted, is_charged = outcome(tmp_path, label, epsilon, records, per_person)
    assert is_fitted == is_charged


@pytest.mark.parametrize("label", LABELS)
def test_many_records_with_a_tiny_epsilon_get_fewer_steps(tmp_path, label):
    assert outcome(tmp_path, label, "1e-8", 2**47) == (True, True)


@pytest.mark.parametrize(
    ("size_share", "rules_share"), [("0.9", 0), ("0.98", 0), ("0.02", "0.97"), ("0.5", "0.45")]
)
def test_a_large_share_for_something_else_leaves_fewer_steps(tmp_path, size_share, rules_share):
    for label in ("two", "six"):
        shares = {"size_share": size_share, "rules_share": rules_share}
        folder = tmp_path / label
        folder.mkdir()
        assert outcome(folder, label, "0.1", **shares) == (True, True)
        folder = tmp_path / f"{label} of many"
        folder.mkdir()
        assert outcome(folder, label, "1e-5", 10**9, **shares) == (True, True)


@pytest.mark.parametrize("records", [None, ROWS])
def test_rules_too_small_to_count_are_refused_before_the_fit(tmp_path, records):
    assert outcome(tmp_path, "two", 1, records, rules_share="1e-16") == (False, False)


def test_a_target_whose_square_is_no_number_is_refused_with_the_domain():
    Domain([Numeric("x", 0, 1)], Numeric("y", -1e140, 1e140))
    with pytest.raises(DomainError, match="larger unit"):
        Domain([Numeric("x", 0, 1)], Numeric("y", 0, 1e141))
