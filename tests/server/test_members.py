"""Members and tokens over the API."""

from frith.server.auth import members
from tests.server.conftest import Person, refused, said


def test_a_member_whose_name_ends_like_another_sees_nothing_of_theirs(house):
    """Accounts are told apart by whole names: `na` is the end of `ana`."""
    house.train()
    na = house.add("na", to=house.table)
    assert said(na.get("/v1/ledger")) == []
    assert said(na.get("/v1/jobs")) == []


def test_who_is_disabled_is_shut_out_at_once_and_may_be_let_in_again(house):
    waiting = said(house.analyst.ask(house.table), 202)["id"]
    assert said(house.curator.put("/v1/members/ana", json={"disabled": True}))["disabled"]
    refused(house.analyst.get("/v1/me"), "unauthorized")
    refused(house.curator.post("/v1/members/ana/tokens", json={}), "conflict")
    house.work()
    assert said(house.curator.get(f"/v1/jobs/{waiting}"))["state"] == "failed"
    assert house.spent(house.own) == (0, 0)
    assert said(house.curator.put("/v1/members/ana", json={"disabled": False}))["disabled"] is None
    refused(house.analyst.get("/v1/me"), "unauthorized")
    token = said(house.curator.post("/v1/members/ana/tokens", json={}), 201)["token"]
    assert said(Person(house.app, "ana", token).get("/v1/me"))["name"] == "ana"


def test_nobody_disables_themselves_or_nobody(house):
    refused(house.curator.put("/v1/members/carla", json={"disabled": True}), "conflict")
    refused(house.curator.put("/v1/members/nobody", json={"disabled": True}), "not_found")
    assert said(house.curator.get("/v1/me"))["disabled"] is None


def test_tokens_are_listed_without_secrets_and_end_at_once(house):
    issued = said(house.analyst.post("/v1/members/ana/tokens", json={"days": 1}), 201)
    secret = issued["token"].rsplit("_", 1)[1]
    listed = house.analyst.get("/v1/members/ana/tokens")
    assert issued["id"] in listed.text
    assert secret not in listed.text
    assert issued["token"] not in house.curator.get("/v1/members/ana/tokens").text
    other = house.stranger(authorization=f"Bearer {issued['token']}")
    assert other.get("/v1/me").status_code == 200
    said(house.analyst.delete(f"/v1/tokens/{issued['id']}"), 204)
    assert other.get("/v1/me").status_code == 401


def test_an_analyst_ends_no_token_of_anybody_else(house):
    with house.database.write() as session:
        theirs = members.issue_token(house.context, session, "carla").token.id
    unknown = house.analyst.delete("/v1/tokens/0123456789ab")
    answer = house.analyst.delete(f"/v1/tokens/{theirs}")
    assert answer.content == unknown.content
    assert answer.status_code == unknown.status_code == 404
    refused(house.analyst.post("/v1/members/carla/tokens", json={}), "forbidden")
