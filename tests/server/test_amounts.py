"""Amounts and parameters over the API: read exactly, or refused at once."""

import json
from fractions import Fraction

from tests.server.conftest import refused, said

F = Fraction


BAD_AMOUNTS = [
    "1e400", "Infinity", "inf", "-inf", "NaN", "nan", "-1", "-0.1", "0", "0.0", "", " ", "1/0",
    "0/1", "1e999999999", "1e-999999999", "9" * 500, "1" + "0" * 30, "0x10", "1_000", "true", "½",
    "\uff11", "1\n", "1 2", "1//2", "1/2/3", "e1", ".", "+1",
]  # fmt: skip


BAD_JSON = ["1e400", "-1e400", "NaN", "Infinity", "-1", "0", "true", "false", "null", "[1]", "{}",
            "1" + "0" * 5_000, "-0.0", "1e-320"]  # fmt: skip


def ask_raw(house, body):
    return house.analyst.post(
        f"/v1/tables/{house.table}/forests",
        content=body,
        headers={"content-type": "application/json"},
    )


def test_what_is_no_finite_positive_amount_is_refused_at_once(house):
    for amount in [json.dumps(a) for a in BAD_AMOUNTS] + BAD_JSON:
        answer = ask_raw(house, f'{{"epsilon": {amount}, "learner": "id3"}}')
        assert answer.status_code in (400, 422), amount
        assert len(answer.content) < 1_000
        delta = ask_raw(house, f'{{"epsilon": 1, "delta": {amount}, "learner": "id3"}}')
        allowed = ('"0"', '"0.0"', "0", '"0/1"')
        assert (delta.status_code == 202) == (amount in allowed), amount
    assert house.spent(house.own) == (0, 1), "one request with a delta of 0"


def test_amounts_are_read_exactly_as_written(house):
    spellings = ('"0.1"', "0.1", '"1/10"', '"1e-1"', '"0.10"')
    asked = [ask_raw(house, f'{{"epsilon": {a}, "learner": "id3"}}') for a in spellings]
    assert len({said(answer, 202)["id"] for answer in asked}) == 1
    assert house.spent(house.own) == (0, F(1, 10))


def test_parameters_that_are_not_offered_are_refused(house):
    for parameters in (
        {"as_published": True},
        {"as_published": 1},
        {"as_published": "true"},
        {"n_trees": 10_001},
        {"max_depth": 2**32},
        {"n_trees": -1},
        {"n_trees": 1e300},
        {"domain": "x.toml"},
        {"ledger": "x.db"},
        {"n_jobs": 64},
        {"epsilon": "1"},
        {"delta": "0.1"},
        {"random_state": 2**32},
        {"random_state": "../../etc/passwd"},
        {"__class__": "x"},
        {"n_trees": "9" * 999},
    ):
        for kind in ("forests", "dry-runs", "quotes"):
            answer = house.analyst.ask(house.table, parameters=parameters, kind=kind)
            refused(answer, "invalid")
    assert house.spent(house.own) == (0, 0)


def test_no_offered_parameter_holds_up_a_worker(house):
    """The largest levels, heights and bins are soon refused or soon done."""
    for learner, name in (("c45", "max_depth"), ("id3", "max_depth"), ("gini", "max_depth")):
        job = house.train(learner=learner, parameters={name: 10_000}, kind="dry-runs")
        assert job["state"] in ("done", "failed")


def test_learners_offer_no_parameter_that_the_server_sets(house):
    for learner in said(house.analyst.get("/v1/learners")):
        assert not {"domain", "epsilon", "delta", "ledger", "n_jobs", "as_published"} & set(
            learner["parameters"]
        )
