"""Parameters that no learner can use: refused before anything is charged, with the limits that are stated."""

import inspect

import pytest

from frith import Ledger
from frith.learners import BY_NAME, REGRESSORS
from tests.learners.test_regressor import domain_of, table_of
from tests.tables import small_domain, small_table

BAD = {
    "bins": [1, 2.5, "two"],
    "n_trees": [0, 2.5, "two"],
    "max_depth": [-1, 2.5, "two"],
    "max_features": [0, 2],
    "split_share": [0, 1, 2],
    "size_share": [0, 1, 2],
    "rules_share": [-1, 1, 2],
    "coverage": [0, 1, 2],
    "interval": [0, 1, 2],
    "held_out": [0, 1, 2],
    "mechanism": ["best"],
    "criterion": ["best"],
    "queries": ["all"],
    "allocation": ["all"],
    "loss": ["all"],
    "quantile": [0, 1, 2],
    "center": [1e9],
    "random_state": ["seed", -1],
}
NEEDS = {
    "size_share": {"max_depth": None},
    "quantile": {"loss": "quantile"},
    "held_out": {"coverage": 0.9, "interval": 0.9},
    "criterion": {"queries": "exponential"},
}
CASES = [
    pytest.param(kind, table, domain, name, value, id=f"{kind.__name__}-{name}-{value}")
    for kinds, domain, table in (
        (BY_NAME, small_domain(), small_table(50)),
        (REGRESSORS, domain_of(), table_of(50)),
    )
    for kind in kinds.values()
    for name in inspect.signature(kind).parameters
    for value in BAD.get(name, ())
]


def made(kind, domain, tmp_path, **given):
    known = inspect.signature(kind).parameters
    return kind(
        domain, ledger=tmp_path / "budget.db", **{k: v for k, v in given.items() if k in known}
    )


@pytest.mark.parametrize(("kind", "table", "domain", "name", "value"), CASES)
def test_a_bad_parameter_is_refused_and_nothing_is_charged(
    kind, table, domain, name, value, tmp_path
):
    """Also where the number of records is not declared, and would be the first question."""
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=1)
    model = made(kind, domain, tmp_path, epsilon=1, **(NEEDS.get(name, {}) | {name: value}))
    with pytest.raises((ValueError, TypeError), match=f"{name}|[Ss]eed"):
        model.fit(table)
    assert ledger.remaining == 1


@pytest.mark.parametrize(
    "kind", [k for k in BY_NAME.values() if "bins" in inspect.signature(k).parameters]
)
def test_the_fewest_bins_are_two(kind, tmp_path):
    Ledger.create(tmp_path / "budget.db", epsilon=1)
    assert made(kind, small_domain(), tmp_path, epsilon=1, bins=2).fit(small_table(50)).forest_
