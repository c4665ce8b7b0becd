"""What needs a second person: raises of a budget, and requests that a policy wants approved."""

import pytest
from sqlalchemy import event

from frith.server.budget import proposals
from frith.server.schema import Proposal
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


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_a_request_that_is_cancelled_leaves_nothing_to_decide(wary, otto, word):
    house = wary
    for i in range(3):
        job = said(house.analyst.ask(house.table, epsilon=f"0.{6 + i}", reason="a paper"), 202)
        said(house.analyst.post(f"/v1/jobs/{job['id']}/cancel"))
    found = said(otto.get("/v1/proposals"))
    assert {(p["state"], p["decider"]) for p in found} == {("rejected", "ana")}
    assert "already" in refused(decide(otto, found[0], word), "conflict")
    assert house.spent(house.own) == house.spent(house.table) == (0, 0)
    assert said(house.curator.get("/v1/ledger/verification"))["holds"]


def test_an_open_proposal_whose_request_waits_no_longer_can_be_rejected(wary, otto):
    """Earlier versions left them open."""
    house = wary
    job = said(house.analyst.ask(house.table, epsilon="0.6", reason="a paper"), 202)
    said(house.analyst.post(f"/v1/jobs/{job['id']}/cancel"))
    (made,) = said(otto.get("/v1/proposals"))
    with house.database.write() as session:
        session.get(Proposal, made["id"]).state = "open"
    assert "waits no longer" in refused(decide(otto, made), "conflict")
    assert said(decide(otto, made, "reject"))["state"] == "rejected"
    assert house.analyst.job(job["id"])["state"] == "cancelled"
    assert house.spent(house.own) == (0, 0)


def test_one_member_leaves_others_room_to_propose(wary, otto, monkeypatch):
    monkeypatch.setattr(proposals, "_OPEN", 3)
    monkeypatch.setattr(proposals, "_OPEN_OF_ONE", 2)
    house, bea, eve = wary, wary.add("bea", to=wary.table), wary.add("eve", to=wary.table)
    for epsilon in ("0.6", "0.7"):
        said(house.analyst.ask(house.table, epsilon=epsilon, reason="a paper"), 202)
    full = house.analyst.ask(house.table, epsilon="0.8", reason="a paper")
    assert "of yours" in refused(full, "too_many")
    said(bea.ask(house.table, epsilon="0.6", reason="a paper"), 202)
    full = eve.ask(house.table, epsilon="0.6", reason="a paper")
    assert "on this table" in refused(full, "too_many")
    assert house.spent(f"{house.table}/eve") == (0, 0)
    said(decide(otto, said(otto.get("/v1/proposals"))[0], "reject"))
    said(eve.ask(house.table, epsilon="0.6", reason="a paper"), 202)


def test_an_open_proposal_is_listed_however_many_were_decided_after_it(house, monkeypatch):
    monkeypatch.setattr(proposals, "_DECIDED", 2)
    waiting = [propose(house, epsilon) for epsilon in ("50", "51", "52")]
    house.clock.wait(minutes=1)
    for epsilon in ("60", "61", "62"):
        said(decide(house.curator, propose(house, epsilon), "reject"))
    found = said(house.curator.get("/v1/proposals"))
    assert [p["state"] for p in found] == ["open"] * 3 + ["rejected"] * 2
    assert {p["id"] for p in found[:3]} == {p["id"] for p in waiting}


@pytest.mark.parametrize("word", ["approve", "reject"])
def test_a_decision_locks_the_job_before_the_ledger_as_cancelling_does(wary, otto, word):
    """In another order, two transactions of PostgreSQL would wait for each other."""
    house, locked = wary, []
    said(house.analyst.ask(house.table, epsilon="0.6", reason="a paper"), 202)
    (made,) = said(otto.get("/v1/proposals"))

    def note(connection, cursor, statement, *_):
        locked.extend(name for name in ("job", "ledger_head") if f"FROM {name}" in statement)

    event.listen(house.database._writers, "before_cursor_execute", note)
    said(decide(otto, made, word))
    assert locked[:2] == ["job", "ledger_head"]
