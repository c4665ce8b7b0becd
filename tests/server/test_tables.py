"""Tables over the API: registering and grants."""

import threading
from dataclasses import replace
from fractions import Fraction

from frith.privacy import Guarantee
from frith.server.budget import tables
from tests.server.conftest import domain_text, refused, said
from tests.tables import small_domain

F = Fraction


def test_a_table_is_registered_granted_and_then_seen_as_far_as_the_grant_goes(house, small):
    table = said(house.curator.post("/v1/tables", json=small), 201)
    assert table["version"] == 1
    assert table["source"] == "sample: small.csv"
    house.add("bea")
    grant = {"columns": ["size", "color"], "epsilon": "0.5"}
    said(house.curator.put("/v1/tables/small/grants/bea", json=grant))
    bea = house.add("bo", to="small", columns=["size", "color"], epsilon="0.5")
    seen = said(bea.get("/v1/tables/small"))
    assert [a["name"] for a in seen["domain"]["attributes"]] == ["color", "size"]
    assert seen["source"] is None
    assert said(bea.get("/v1/tables/small/budget"))["own"]["total"] == "0.5"
    assert [t["name"] for t in said(bea.get("/v1/tables"))] == ["small"]
    granted = said(house.curator.get("/v1/tables/small/grants"))
    assert [g["member"] for g in granted] == ["bea", "bo"]


def test_a_forest_asks_only_about_granted_attributes(house):
    bea = house.add("bea", to=house.table, columns=["parents", "health"])
    job = house.train(bea)
    forest = said(bea.get(f"/v1/forests/{job['id']}"))["forest"]
    assert [a["name"] for a in forest["domain"]["attributes"]] == ["parents", "health"]
    wanted = bea.post(
        f"/v1/forests/{job['id']}/predictions", json={"records": [{"finance": "inconv"}]}
    )
    refused(wanted, "invalid")


def test_a_grant_that_was_narrowed_or_withdrawn_ends_scores_updates_and_queued_jobs(house):
    bea = house.add("bea", to=house.table)
    forest = house.train(bea)["id"]
    queued = said(bea.ask(house.table, epsilon="0.2"), 202)["id"]
    with house.database.write() as session:
        tables.grant(house.context, session, house.table, "bea", columns=["health"])
    score = {"epsilon": "0.1"}
    refused(bea.post(f"/v1/forests/{forest}/scores", json=score), "forbidden")
    update = {"epsilon": "0.1", "batch": "later"}
    refused(bea.post(f"/v1/forests/{forest}/updates", json=update), "forbidden")
    house.work()
    assert bea.job(queued)["state"] == "failed"
    assert house.spent(f"{house.table}/bea") == (F("0.1"), 0)
    withdrawn = said(bea.ask(house.table, epsilon="0.3"), 202)["id"]
    said(house.curator.delete(f"/v1/tables/{house.table}/grants/bea"), 204)
    house.work()
    assert bea.job(withdrawn)["state"] == "failed"
    assert house.spent(f"{house.table}/bea") == (F("0.1"), 0)
    refused(bea.post(f"/v1/forests/{forest}/scores", json=score), "not_found")


def test_a_table_that_cannot_be_is_not_registered(house, small):
    for change, words in (
        ({"domain": domain_text(small_domain(learned=True))}, "draft learned from the records"),
        (
            {"domain": domain_text(replace(small_domain(), paid=Guarantee(Fraction(1))))},
            "domain was paid for",
        ),
        ({"domain": "not = [toml"}, "domain"),
        ({"domain": "{" * 5_000}, "domain"),
        ({"table": "x.csv"}, "connection has no"),
        ({"table": None}, "pick one table"),
        ({"query": "SELECT 1"}, "pick one table"),
        ({"connection": "other"}, "no connection 'other'"),
        ({"policy": {"epsilon": "0"}}, "above 0"),
        ({"policy": {"epsilon": "1", "delta": "1"}}, "under 1"),
        ({"policy": {"epsilon": "1", "analyst_epsilon": "2"}}, "analyst_epsilon"),
        ({"policy": {"epsilon": "1", "learners": ["oracle"]}}, "learners are"),
        ({"policy": {"epsilon": "1", "learners": []}}, "learners are"),
    ):
        assert words in refused(house.curator.post("/v1/tables", json=small | change), "invalid")
    refused(house.curator.get("/v1/tables/small"), "not_found")


def test_a_source_that_does_not_answer_holds_up_no_other_writer(house, small, monkeypatch):
    others = []

    opened = tables.open_source

    def slow(*args):
        other = threading.Thread(target=house.analyst.ask, args=(house.table,))
        other.start()
        other.join(120)
        others.append("waits" if other.is_alive() else "is served")
        return opened(*args)

    monkeypatch.setattr(tables, "open_source", slow)
    said(house.curator.post("/v1/tables", json=small), 201)
    said(
        house.curator.post(
            "/v1/tables/small/batches",
            json={"name": "b", "connection": "sample", "table": "small.csv"},
        ),
        201,
    )
    assert set(others) == {"is served"}
