"""Policies and budgets over the API: caps, deltas, renewal, and batches of their own."""

import json
from fractions import Fraction

from frith.server.budget.policies import Policy
from tests.server.conftest import pass_days, refused, said

F = Fraction


def test_a_policy_says_which_learners_and_how_much_at_once(house):
    table = house.register(
        "strict", learners=("id3", "gini"), request_epsilon="1", least_epsilon="0.5"
    )
    assert "id3, gini" in refused(house.analyst.ask(table, epsilon="1"), "invalid")
    id3 = {"learner": "id3", "parameters": {}}
    assert "at most epsilon 1" in refused(
        house.analyst.ask(table, epsilon="1.01", **id3), "invalid"
    )
    assert "at least epsilon 0.5" in refused(
        house.analyst.ask(table, epsilon="0.49", **id3), "invalid"
    )
    forest = house.train(table=table, epsilon="1", **id3)["id"]
    for epsilon in ("0.49", "1.01"):
        score = house.analyst.post(f"/v1/forests/{forest}/scores", json={"epsilon": epsilon})
        refused(score, "invalid")


def test_an_analyst_has_a_cap_of_their_own(house):
    table = house.register("shared", epsilon="3", analyst_epsilon="1")
    bea = house.add("bea", to=table, epsilon="0.5")
    said(house.analyst.ask(table, epsilon="1"), 202)
    assert "you have" in refused(house.analyst.ask(table, epsilon="0.1"), "over_budget")
    assert "at most epsilon 0.5" in refused(bea.ask(table, epsilon="0.6"), "over_budget")
    said(bea.ask(table, epsilon="0.5"), 202)
    assert house.spent(table) == (0, F("1.5"))


def test_a_lower_budget_reaches_accounts_of_batches_too(house):
    forest = house.train(epsilon="1")["id"]
    path = f"/v1/forests/{forest}/updates"
    said(house.analyst.post(path, json={"epsilon": "1", "batch": "later"}), 202)
    policy = {"epsilon": "1", "least_epsilon": "0.01"}
    said(house.curator.put(f"/v1/tables/{house.table}/policy", json=policy))
    answer = house.analyst.post(path, json={"epsilon": "0.5", "batch": "later"})
    assert "no budget left" in refused(answer, "over_budget")


def test_the_budget_of_a_disjoint_batch_is_told(house):
    forest = house.train(epsilon="1")["id"]
    shared = {"name": "shared", "connection": "sample", "table": "later.parquet", "disjoint": False}
    said(house.curator.post(f"/v1/tables/{house.table}/batches", json=shared), 201)
    bea = house.add("bea", to=house.table, epsilon="3")
    asked = {"epsilon": "0.5", "batch": "later"}
    said(house.analyst.post(f"/v1/forests/{forest}/updates", json=asked), 202)
    path = f"/v1/tables/{house.table}/budget"
    for person, total, held in ((house.analyst, "40.0", "0.5"), (bea, "3.0", "0.0")):
        [batch] = said(person.get(path))["batches"]
        assert (batch["batch"], batch["own"]["total"], batch["own"]["held"]) == (
            "later",
            total,
            held,
        )
        assert batch["own"]["name"] == f"{house.table}+later/{person.name}"
        assert batch["whole"] is None
    [batch] = said(house.curator.get(path))["batches"]
    assert (batch["whole"]["total"], batch["whole"]["held"]) == ("40.0", "0.5")


def test_a_policy_keeps_its_delta_and_its_renewal(house):
    for change in ({"delta": "1e-6"}, {"renewal_days": 30}):
        answer = house.curator.put(
            f"/v1/tables/{house.table}/policy", json={"epsilon": "1"} | change
        )
        refused(answer, "conflict")


def test_a_pure_table_takes_no_delta(house):
    assert "delta = 0" in refused(house.analyst.ask(house.table, delta="1e-9"), "invalid")


def test_a_pure_request_costs_half_its_square_in_rho(house):
    table = house.register("gauss", epsilon="4", delta="1e-6")
    asked = {"epsilon": "0.5", "learner": "id3", "parameters": {}}
    quote = said(house.analyst.post(f"/v1/tables/{table}/quotes", json=asked))
    assert (quote["unit"], quote["cost"]) == ("rho", "0.125")
    house.train(table=table, **asked)
    assert house.spent(table) == (F(1, 8), 0)
    with_delta = house.train(table=table, epsilon="0.5", delta="1e-6")
    assert with_delta["state"] == "done"
    assert house.spent(table)[0] < F(1, 8) + F(1, 8), "a request with a delta is cheaper"


def test_a_budget_that_renews_is_there_anew_and_says_so(house):
    table = house.register("monthly", epsilon="1", renewal_days=30)
    house.train(table=table, epsilon="1")
    refused(house.analyst.ask(table, epsilon="0.5"), "over_budget")
    late = said(house.analyst.ask(house.table), 202)
    assert "30 days" in said(house.analyst.get(f"/v1/tables/{table}/budget"))["renewal"]
    pass_days(house, 31)
    house.analyst = house.add("bea", to=table)
    assert said(house.analyst.get(f"/v1/tables/{table}/budget"))["own"]["spent"] == "0.0"
    said(house.analyst.ask(table, epsilon="0.5"), 202)
    assert house.spent(f"{table}@0") == (1, 0)
    assert house.spent(f"{table}@1") == (0, F("0.5"))
    assert late["table"] == house.table


def test_a_job_is_charged_to_the_period_it_was_accepted_in(house):
    table = house.register("monthly", epsilon="1", renewal_days=30)
    said(house.analyst.ask(table, epsilon="1"), 202)
    pass_days(house, 31)
    house.work()
    assert house.spent(f"{table}@0") == (1, 0)
    assert house.spent(f"{table}@1") == (0, 0)


def test_policies_are_read_back_as_they_were_written():
    policy = Policy("1", "1e-6", learners=("id3",), renewal_days=3)
    assert Policy.from_json(json.loads(json.dumps(policy.to_json()))) == policy
