"""Tables over the API: registering, sources and their secrets, and grants."""

import threading
from fractions import Fraction

import pytest

from frith.server.budget import tables
from tests.server.conftest import domain_text, refused, said
from tests.tables import small_domain, small_table

F = Fraction


def test_a_table_is_registered_granted_and_then_seen_as_far_as_the_grant_goes(house, small):
    table = said(house.curator.post("/v1/tables", json=small), 201)
    assert table["version"] == 1
    assert table["source"] == small["source"]
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
        ({"domain": "not = [toml"}, "domain"),
        ({"domain": "{" * 5_000}, "domain"),
        ({"source": "/nowhere/x.csv"}, "/nowhere/x.csv"),
        ({"source": "https://example.org/x.csv"}, "no engine for https"),
        ({"policy": {"epsilon": "0"}}, "above 0"),
        ({"policy": {"epsilon": "1", "delta": "1"}}, "under 1"),
        ({"policy": {"epsilon": "1", "analyst_epsilon": "2"}}, "analyst_epsilon"),
        ({"policy": {"epsilon": "1", "learners": ["oracle"]}}, "learners are"),
        ({"policy": {"epsilon": "1", "learners": []}}, "learners are"),
    ):
        assert words in refused(house.curator.post("/v1/tables", json=small | change), "invalid")
    refused(house.curator.get("/v1/tables/small"), "not_found")


def test_a_query_needs_the_curators_word(house, small):
    pytest.importorskip("duckdb")
    parquet = house.folder / "small.parquet"
    small_table().to_parquet(parquet)
    query = f"duckdb://?query=SELECT * FROM '{parquet}'"
    assert "sign that" in refused(
        house.curator.post("/v1/tables", json=small | {"source": query}), "invalid"
    )
    said(house.curator.post("/v1/tables", json=small | {"source": query, "signed": True}), 201)
    batch = {"name": "more", "source": query}
    said(house.curator.post("/v1/tables/small/batches", json=batch), 201)


def test_a_source_names_its_secrets_by_variables_of_the_server(house, small, monkeypatch):
    monkeypatch.setenv("RECORDS", small["source"])
    table = said(house.curator.post("/v1/tables", json=small | {"source": "${RECORDS}"}), 201)
    assert table["source"] == "${RECORDS}"
    with house.database.write() as session:
        tables.grant(house.context, session, "small", "ana")
    assert house.train(table="small", epsilon="1")["state"] == "done"
    monkeypatch.delenv("RECORDS")
    assert house.train(table="small", epsilon="0.5")["state"] == "queued"
    assert house.spent("small") == (1, Fraction(1, 2))
    missing = house.curator.post("/v1/tables", json=small | {"name": "x", "source": "${RECORDS}"})
    assert "RECORDS" in refused(missing, "invalid")


def test_no_error_quotes_what_a_variable_of_the_server_holds(house, small, monkeypatch):
    """Else a curator of one table could read every secret in the server's environment."""
    monkeypatch.setenv("OTHER", "postgresql://frith:hunter%2Fhunter@db.example/state")
    for source in ("${OTHER}", "/x/${OTHER}.csv", "duckdb:///${OTHER}?table=t"):
        answer = house.curator.post("/v1/tables", json=small | {"source": source})
        refused(answer, "invalid")
        assert "hunter" not in answer.text


def test_a_source_cannot_name_the_servers_own_settings(house, small, monkeypatch):
    """A curator of one table could have them sent to a database of their own."""
    monkeypatch.setenv("FRITH_DATABASE", small["source"])
    answer = house.curator.post("/v1/tables", json=small | {"source": "${FRITH_DATABASE}"})
    assert "the server's own" in refused(answer, "invalid")


def test_a_source_with_a_password_in_it_is_not_stored(house, small):
    for source in (
        "postgresql://frith:hunter2@db.example/records?table=t",
        "postgresql://frith:hunt/er2@db.example/records?table=t",
        "postgresql://frith:hunt@er2@db.example/records?table=t",
        "postgresql://frith:hunt?er2@db.example/records?table=t",
        "postgresql://db.example/records?table=t&password=hunter2",
        "postgresql://db.example/records?table=t&sslpassword=hunter2",
    ):
        answer = house.curator.post("/v1/tables", json=small | {"source": source})
        assert "${NAME}" in refused(answer, "invalid")
        assert "er2" not in answer.text
        assert "er2" not in tables.masked(source)
        batch = {"name": "more", "source": source}
        answer = house.curator.post(f"/v1/tables/{house.table}/batches", json=batch)
        assert "er2" not in answer.text
        assert answer.status_code == 422


def test_masking_leaves_sources_without_a_password_alone():
    for source in ("/data/a:b@c.csv", "duckdb:///x.db?table=t", "postgresql://u@h/d?table=t"):
        assert tables.masked(source) == source


def test_a_source_that_does_not_answer_holds_up_no_other_writer(house, small, monkeypatch):
    others = []

    def slow(source, domain, timeouts):
        other = threading.Thread(target=house.analyst.ask, args=(house.table,))
        other.start()
        other.join(10)
        others.append("waits" if other.is_alive() else "is served")
        return tables.open_table(source, domain)

    monkeypatch.setattr(tables, "open_source", slow)
    said(house.curator.post("/v1/tables", json=small), 201)
    said(
        house.curator.post(
            "/v1/tables/small/batches", json={"name": "b", "source": small["source"]}
        ),
        201,
    )
    assert set(others) == {"is served"}
