"""What needs a second person: raises of a budget, and requests that a policy wants approved."""

import pytest

from tests.server.conftest import Person, refused, said
from tests.server.test_log import last
from tests.server.test_pages import Browser


@pytest.fixture
def otto(house):
    return house.add("otto", "operator")


def propose(house, epsilon="50", by=None):
    body = {"policy": {"epsilon": epsilon}, "reason": "the second wave"}
    return said((by or house.curator).post(f"/v1/tables/{house.table}/proposals", json=body), 201)


def decide(person, proposal, word="approve"):
    return person.post(f"/v1/proposals/{proposal['id']}/{word}")


def total(house):
    return said(house.curator.get(f"/v1/tables/{house.table}/budget"))["whole"]["epsilon"]


def test_nobody_raises_a_budget_alone(house, otto):
    policy = {"epsilon": "50"}
    answer = house.curator.put(f"/v1/tables/{house.table}/policy", json=policy)
    assert "needs two people" in refused(answer, "conflict")
    made = propose(house)
    assert "nobody approves" in refused(decide(house.curator, made), "forbidden")
    assert total(house) == "40.0"
    assert said(decide(otto, made))["decider"] == "otto"
    assert total(house) == "50.0"
    line = last(house)
    assert (line.entry.actor, line.what, line.target) == ("otto", "approve raise", house.table)
    assert line.event.more["proposer"] == "carla"
    refused(decide(otto, made), "conflict")


def test_lowering_needs_one_and_what_lowers_is_no_proposal(house):
    said(house.curator.put(f"/v1/tables/{house.table}/policy", json={"epsilon": "30"}))
    body = {"policy": {"epsilon": "20"}, "reason": "less"}
    refused(house.curator.post(f"/v1/tables/{house.table}/proposals", json=body), "invalid")
    body = {"policy": {"epsilon": "40"}, "reason": " "}
    refused(house.curator.post(f"/v1/tables/{house.table}/proposals", json=body), "invalid")


def test_a_proposal_falls_with_its_policy_and_with_its_proposer(house, otto):
    made = propose(house)
    said(house.curator.put(f"/v1/tables/{house.table}/policy", json={"epsilon": "30"}))
    assert "has changed" in refused(decide(otto, made), "conflict")
    cora = house.add("cora", "curator")
    said(house.curator.put(f"/v1/tables/{house.table}/curators/cora"), 204)
    made = propose(house, by=cora)
    said(house.curator.put("/v1/members/cora", json={"disabled": True}))
    assert "disabled" in refused(decide(otto, made), "conflict")
    assert total(house) == "30.0"


def test_others_curators_and_analysts_decide_nothing(house):
    made = propose(house)
    refused(decide(house.add("cora", "curator"), made), "not_found")
    refused(decide(house.analyst, made), "forbidden")
    assert said(house.analyst.get("/v1/proposals")) == []
    said(decide(house.curator, made, "reject"))
    assert said(house.curator.get("/v1/proposals"))[0]["state"] == "rejected"


@pytest.fixture
def wary(house):
    """The table wants requests above 0.5 approved."""
    policy = {"epsilon": "40", "approval_epsilon": "0.5"}
    said(house.curator.put(f"/v1/tables/{house.table}/policy", json=policy))
    return house


def test_a_large_request_says_why_and_waits(wary, otto):
    house = wary
    said(house.analyst.ask(house.table, epsilon="0.5"), 202)
    assert house.work() == 1
    assert "say why" in refused(house.analyst.ask(house.table, epsilon="0.6"), "invalid")
    job = said(house.analyst.ask(house.table, epsilon="0.6", reason="a paper"), 202)
    assert (job["state"], house.work()) == ("waiting", 0)
    assert float(house.spent(house.own)[1]) == 0.6, "it is reserved"
    (made,) = said(house.curator.get("/v1/proposals"))
    assert (made["member"], made["reason"], made["job"]) == ("ana", "a paper", job["id"])
    said(decide(house.curator, made))
    assert house.work() == 1
    assert house.analyst.job(job["id"])["state"] == "done"
    assert said(house.curator.get("/v1/ledger/verification"))["holds"]


def test_a_request_that_is_rejected_costs_nothing(wary):
    house = wary
    job = said(house.analyst.ask(house.table, epsilon="0.7", reason="a paper"), 202)
    page = Browser(house, house.curator.token).get("/curate/proposals").text
    assert "a paper" in page
    assert (
        "waiting for approval" in Browser(house, house.analyst.token).get(f"/jobs/{job['id']}").text
    )
    (made,) = said(house.curator.get("/v1/proposals"))
    said(decide(house.curator, made, "reject"))
    found = house.analyst.job(job["id"])
    assert (found["state"], "not approved" in found["problem"]) == ("failed", True)
    assert house.spent(house.own) == (0, 0)
    assert said(house.curator.get("/v1/ledger/verification"))["holds"]


def test_nobody_approves_their_own_request_and_it_can_be_cancelled(wary):
    house = wary
    job = said(house.curator.ask(house.table, epsilon="0.8", reason="mine"), 202)
    (made,) = said(house.curator.get("/v1/proposals"))
    refused(decide(house.curator, made), "forbidden")
    assert said(house.curator.post(f"/v1/jobs/{job['id']}/cancel"))["state"] == "cancelled"
    refused(decide(house.add("otto", "operator"), made), "conflict")


@pytest.mark.parametrize("handed_over", [False, True])
def test_nobody_approves_what_their_service_account_asks_for(wary, otto, handed_over):
    house, cora = wary, wary.add("cora", "curator")
    said(house.curator.put(f"/v1/tables/{house.table}/curators/cora"), 204)
    robot = {"name": "robot", "role": "analyst", "owner": "cora"}
    said(house.curator.post("/v1/members", json=robot), 201)
    token = said(cora.post("/v1/members/robot/tokens", json={}), 201)["token"]
    said(cora.put(f"/v1/tables/{house.table}/grants/robot", json={}))
    asked = Person(house.app, "robot", token).ask(house.table, epsilon="5", reason="at night")
    said(asked, 202)
    if handed_over:
        said(house.curator.put("/v1/members/robot", json={"owner": "otto"}))
    (made,) = said(cora.get("/v1/proposals"))
    assert "nobody approves" in refused(decide(cora, made), "forbidden")
    if handed_over:
        assert "nobody approves" in refused(decide(otto, made), "forbidden")
    assert house.work() == 0
    said(decide(house.curator, made))
    assert house.work() == 1
