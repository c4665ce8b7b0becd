"""The whole life of a request over the API: what is said, and what the ledger then holds."""

import json
import sys
import threading
import time
from fractions import Fraction

import pytest

from frith.learners import BY_NAME
from frith.ledger import Book
from frith.ledger.database import StoreError
from frith.server.auth import members
from frith.server.budget import export, tables
from frith.server.budget.policies import Policy
from frith.server.jobs import lifecycle
from frith.server.problems import STOPPED
from frith.server.run.worker import Worker, open_curator
from tests.server.conftest import BUDGET, Person, refused, said
from tests.tables import person_domain, small_domain, small_table

F = Fraction


def domain_text(domain):
    return json.dumps(domain.to_json())


@pytest.fixture
def small(house):
    """A body that registers a small table."""
    path = house.folder / "small.csv"
    small_table().drop(columns="who").to_csv(path, index=False)
    return {
        "name": "small",
        "source": str(path),
        "domain": domain_text(small_domain()),
        "policy": {"epsilon": "2"},
    }


# -- tables and grants -----------------------------------------------------------------------------


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
    lost = house.train(table="small", epsilon="0.5")
    assert lost["state"] == "failed"
    assert "RECORDS" not in lost["problem"]
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

    def slow(source, domain):
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


# -- training --------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", BY_NAME)
def test_every_learner_is_quoted_trained_and_read(house, learner):
    asked = {"learner": learner, "epsilon": "1", "parameters": {}}
    quote = said(house.analyst.post(f"/v1/tables/{house.table}/quotes", json=asked))
    assert quote["granted"]
    assert quote["cost"] == "1.0"
    assert quote["left_after"] == str(float(BUDGET) - 1)
    assert house.spent(house.table) == (0, 0), "a quote costs nothing"
    job = said(house.analyst.ask(house.table, **asked), 202)
    assert (job["state"], job["passes"]) == ("queued", 0)
    assert house.spent(house.table) == house.spent(house.own) == (0, 1)
    assert house.work() == 1
    job = house.analyst.job(job["id"])
    assert job["state"] == "done"
    assert job["passes"] > 0
    assert house.spent(house.table) == house.spent(house.own) == (1, 0)
    path = f"/v1/forests/{job['id']}"
    forest = said(house.analyst.get(path))
    assert forest["learner"] == learner
    assert forest["receipt"]["kind"] == "charge"
    assert forest["receipt"]["amount"] == "1.0"
    assert forest["forest"]["guarantee"]["epsilon"] == "1.0"
    assert said(house.analyst.get(f"{path}/rules?top=3"))
    shares = said(house.analyst.get(f"{path}/importances"))
    assert set(shares) == {a["name"] for a in forest["forest"]["domain"]["attributes"]}
    picture = house.analyst.get(f"{path}/picture.svg?tree=0")
    assert picture.text.startswith("<svg")
    assert picture.headers["content-type"] == "image/svg+xml"
    refused(house.analyst.get(f"{path}/picture.svg?tree=99999"), "not_found")
    assert house.analyst.get(f"{path}/model.onnx").content
    records = {"records": [{"parents": "usual"}, {}, {"health": 7}]}
    predicted = said(house.analyst.post(f"{path}/predictions", json=records))
    assert len(predicted["labels"]) == 3
    assert all(abs(sum(row) - 1) < 1e-4 for row in predicted["probabilities"])
    assert house.spent(house.own) == (1, 0), "reading a release costs nothing"


def test_progress_is_told_in_passes(house):
    job = said(house.analyst.ask(house.table, learner="gini", parameters={}, epsilon="1"), 202)
    seen = []

    def watched(engine, budget, journal, progress):
        def begin(purpose):
            progress(purpose)
            seen.append(house.analyst.job(job["id"]))

        return open_curator(engine, budget, journal, begin)

    house.worker = Worker(house.context, watched)
    house.work()
    assert sorted({s["passes"] for s in seen}) == list(range(1, seen[-1]["passes"] + 1))
    assert {s["state"] for s in seen} == {"running"}
    assert all(s["doing"] for s in seen)
    assert house.analyst.job(job["id"])["passes"] == seen[-1]["passes"] > 1


def test_a_dry_run_trains_and_is_free(house):
    before = house.entries()
    job = house.train(kind="dry-runs")
    assert job["state"] == "done"
    assert job["receipt"] is None
    assert said(house.analyst.get(f"/v1/forests/{job['id']}"))["forest"]
    assert house.entries() == before
    update = {"epsilon": "1", "batch": "later"}
    refused(house.analyst.post(f"/v1/forests/{job['id']}/updates", json=update), "invalid")


def test_a_dry_run_reads_no_record(house):
    (house.folder / "records.parquet").unlink()
    assert house.train(kind="dry-runs")["state"] == "done"
    assert house.train()["state"] == "failed"


def test_a_score_is_charged_and_is_of_the_asked_forest(house):
    forest = house.train(epsilon="4", parameters={})["id"]
    job = said(house.analyst.post(f"/v1/forests/{forest}/scores", json={"epsilon": "0.5"}), 202)
    refused(house.analyst.get(f"/v1/scores/{job['id']}"), "not_ready")
    house.work()
    score = said(house.analyst.get(f"/v1/scores/{job['id']}"))
    counts = score["score"]["counts"]
    assert abs(sum(map(sum, counts)) - 10_368) < 1_000, "noise of 25 counts at epsilon 0.5"
    assert score["receipt"]["amount"] == "0.5"
    assert house.spent(house.table) == house.spent(house.own) == (F("4.5"), 0)
    refused(house.analyst.get(f"/v1/scores/{forest}"), "not_found")
    refused(house.analyst.get(f"/v1/forests/{job['id']}"), "not_found")


@pytest.mark.parametrize("disjoint", [True, False])
def test_an_update_is_charged_to_the_batch_only_where_it_is_disjoint(house, disjoint):
    source = str(house.folder / "later.parquet")
    body = {"name": "next", "source": source, "disjoint": disjoint}
    said(house.curator.post(f"/v1/tables/{house.table}/batches", json=body), 201)
    forest = house.train(epsilon="1")["id"]
    path, asked = f"/v1/forests/{forest}/updates", {"epsilon": "0.5", "batch": "next"}
    quote = said(house.analyst.post(f"/v1/forests/{forest}/quotes", json=asked))
    assert (quote["cost"], quote["left"]) == ("0.5", "40.0" if disjoint else "39.0")
    refused(house.analyst.post(path, json=asked | {"batch": "nothing"}), "not_found")
    job = said(house.analyst.post(path, json=asked), 202)
    house.work()
    assert house.analyst.job(job["id"])["state"] == "done"
    updated = said(house.analyst.get(f"/v1/forests/{job['id']}"))["forest"]
    batch = f"{house.table}+next"
    if disjoint:
        assert updated["guarantee"]["epsilon"] == "1.0"
        assert house.spent(house.table) == (1, 0)
        assert house.spent(batch) == house.spent(f"{batch}/ana") == (F("0.5"), 0)
    else:
        assert updated["guarantee"]["epsilon"] == "1.5"
        assert house.spent(house.table) == house.spent(house.own) == (F("1.5"), 0)
        assert house.spent(batch) == (0, 0)


def test_a_quote_of_a_score_is_what_the_score_costs(house):
    forest = house.train(epsilon="1")["id"]
    path = f"/v1/forests/{forest}"
    quote = said(house.analyst.post(f"{path}/quotes", json={"epsilon": "0.5"}))
    assert (quote["granted"], quote["cost"], quote["left_after"]) == (True, "0.5", "38.5")
    assert house.spent(house.own) == (1, 0), "a quote is free"
    said(house.analyst.post(f"{path}/scores", json={"epsilon": "0.5"}), 202)
    assert house.spent(house.own) == (1, F("0.5"))
    quote = said(house.analyst.post(f"{path}/quotes", json={"epsilon": "40"}))
    assert not quote["granted"]
    assert "ask for at most epsilon 38.5" in quote["refusal"]


def test_a_quote_is_refused_where_asking_would_be(house):
    bea = house.add("bea", to=house.table)
    forest, other = (
        house.train(bea, **asked)["id"] for asked in ({}, {"learner": "id3", "parameters": {}})
    )
    update = {"epsilon": "0.9", "batch": "later"}
    updated = said(bea.post(f"/v1/forests/{forest}/updates", json=update), 202)["id"]
    refused(bea.post(f"/v1/forests/{updated}/quotes", json=update), "not_ready")
    house.work()
    for name, asked in (
        (other, update),  # no random decision forest
        (updated, update),  # it has the batch already
        (forest, update | {"batch": "none"}),
        (forest, update | {"epsilon": "0.001"}),
        (forest, {"epsilon": "0.001"}),
        (forest, {"epsilon": "1", "delta": "1e-9"}),
        ("0" * 16, {"epsilon": "1"}),
    ):
        kind = "updates" if "batch" in asked else "scores"
        quote = bea.post(f"/v1/forests/{name}/quotes", json=asked)
        assert quote.status_code >= 400
        assert quote.content == bea.post(f"/v1/forests/{name}/{kind}", json=asked).content
    refused(house.analyst.post(f"/v1/forests/{forest}/quotes", json=update), "not_found")
    with house.database.write() as session:
        tables.grant(house.context, session, house.table, "bea", columns=["health"])
    for asked in (update, {"epsilon": "1"}):
        refused(bea.post(f"/v1/forests/{forest}/quotes", json=asked), "forbidden")


def test_a_request_without_a_learner_gets_one_that_is_allowed(house):
    table = house.register("few", learners=("gini", "id3"))
    for name, learner in ((house.table, "forest"), (table, "gini")):
        assert said(house.analyst.get(f"/v1/tables/{name}"))["learner"] == learner
        said(house.analyst.post(f"/v1/tables/{name}/quotes", json={"epsilon": "1"}))
        job = said(house.analyst.post(f"/v1/tables/{name}/forests", json={"epsilon": "1"}), 202)
        assert job["request"]["learner"] == learner


def test_a_batch_is_added_to_a_forest_once(house):
    """Twice would be charged twice, while the forest's guarantee takes the batch for disjoint."""
    forest = house.train(epsilon="1")["id"]
    asked = {"epsilon": "0.9", "batch": "later"}
    job = said(house.analyst.post(f"/v1/forests/{forest}/updates", json=asked), 202)
    house.work()
    again = house.analyst.post(f"/v1/forests/{job['id']}/updates", json=asked)
    assert "already" in refused(again, "conflict")
    other = {"name": "other", "source": str(house.folder / "later.parquet"), "disjoint": True}
    said(house.curator.post(f"/v1/tables/{house.table}/batches", json=other), 201)
    path = f"/v1/forests/{job['id']}/updates"
    second = said(house.analyst.post(path, json=asked | {"batch": "other"}), 202)
    house.work()
    refused(house.analyst.post(f"/v1/forests/{second['id']}/updates", json=asked), "conflict")


def test_only_random_decision_forests_are_updated(house):
    forest = house.train(learner="id3", parameters={})["id"]
    asked = {"epsilon": "1", "batch": "later"}
    refused(house.analyst.post(f"/v1/forests/{forest}/updates", json=asked), "invalid")


def test_persons_are_charged_and_named_in_the_guarantee(house, small):
    path = house.folder / "people.csv"
    small_table().to_csv(path, index=False)
    body = small | {"source": str(path), "domain": domain_text(person_domain())}
    said(house.curator.post("/v1/tables", json=body), 201)
    with house.database.write() as session:
        tables.grant(house.context, session, "small", "ana")
    job = house.train(table="small", epsilon="1")
    forest = said(house.analyst.get(f"/v1/forests/{job['id']}"))["forest"]
    assert "person" in forest["guarantee"]["neighbors"]


# -- cancelling ------------------------------------------------------------------------------------


def test_cancelling_gives_a_reservation_back(house):
    job = said(house.analyst.ask(house.table, epsilon="1"), 202)["id"]
    assert said(house.analyst.post(f"/v1/jobs/{job}/cancel"))["state"] == "cancelled"
    assert house.spent(house.table) == house.spent(house.own) == (0, 0)
    assert house.work() == 0
    refused(house.analyst.get(f"/v1/forests/{job}"), "not_ready")
    again = said(house.analyst.ask(house.table, epsilon="1"), 202)
    assert again["id"] != job, "a request that was cancelled can be asked again"


def test_a_job_that_runs_or_is_done_cannot_be_cancelled(house):
    running = said(house.analyst.ask(house.table), 202)["id"]
    with house.database.write() as session:
        lifecycle.take(house.context, session, "w")
        lifecycle.start(house.context, session, running, "w", [])
    done = house.train(epsilon="0.2")["id"]
    spent = house.spent(house.own)
    assert spent[0] == F("0.3")
    for job, state in ((running, "running"), (done, "done")):
        assert state in refused(house.analyst.post(f"/v1/jobs/{job}/cancel"), "conflict")
    assert house.spent(house.own) == spent


def start_job(house, job):
    with house.database.write() as session:
        taken = lifecycle.take(house.context, session, house.worker.name)
        assert taken.id == job
        lifecycle.start(house.context, session, job, house.worker.name, [])


def test_a_curator_can_stop_a_running_job_and_its_charge_is_kept(house):
    job = said(house.analyst.ask(house.table), 202)["id"]
    start_job(house, job)
    stopped = said(house.curator.post(f"/v1/jobs/{job}/cancel"))
    assert (stopped["state"], stopped["problem"]) == ("failed", STOPPED)
    assert house.spent(house.own) == house.spent(house.table) == (F("0.1"), 0)
    with pytest.raises(lifecycle.Lost), house.database.write() as session:
        lifecycle.finish(house.context, session, job, house.worker.name, {"late": True})
    refused(house.analyst.get(f"/v1/forests/{job}"), "not_ready")
    again = said(house.analyst.ask(house.table), 202)
    assert again["id"] != job


def test_members_take_turns_and_dry_runs_come_last(house):
    house.set(running_per_member=2)
    bea = house.add("bea", to=house.table)

    def ask(person, **body):
        house.clock.move(seconds=1)
        return said(person.ask(house.table, **body), 202)["id"]

    def take():
        with house.database.write() as session:
            found = lifecycle.take(house.context, session, house.context.new_secret(4))
            return found and found.id

    dry = ask(house.analyst, kind="dry-runs", epsilon="0.01")
    anas = [ask(house.analyst, epsilon=f"0.0{number}") for number in (2, 3, 4)]
    beas = ask(bea, epsilon="0.05")
    assert [take() for _ in range(4)] == [anas[0], beas, anas[1], None]
    for job in (*anas, beas):
        house.change_job(job, state="done", lease=None)
    assert take() == dry


def test_nobody_else_cancels_a_job(house):
    bea = house.add("bea", to=house.table)
    job = said(house.analyst.ask(house.table), 202)["id"]
    refused(bea.post(f"/v1/jobs/{job}/cancel"), "not_found")
    assert said(house.curator.post(f"/v1/jobs/{job}/cancel"))["state"] == "cancelled"


# -- repeats and keys ------------------------------------------------------------------------------


def test_the_same_analyst_repeats_a_request_for_free(house):
    job = house.train()
    spent = house.spent(house.own)
    again = said(house.analyst.ask(house.table), 202)
    assert again == job
    spelled = {"n_trees": 2, "height": 2, "size_share": 0.05}
    assert said(house.analyst.ask(house.table, parameters=spelled, epsilon=0.1), 202) == job
    assert house.spent(house.own) == spent
    assert house.work() == 0


def test_a_raised_version_makes_a_repeat_a_new_request(house):
    job = house.train()
    version = said(house.curator.post(f"/v1/tables/{house.table}/version"))["version"]
    assert version == 2
    again = house.train()
    assert again["id"] != job["id"]
    assert again["version"] == 2
    assert house.spent(house.table) == house.spent(house.own) == (F("0.2"), 0)


def test_another_analysts_repeat_is_charged_to_them_and_not_to_the_table(house):
    first = house.train()
    bea = house.add("bea", to=house.table)
    second = house.train(bea)
    assert second["id"] != first["id"]
    assert house.spent(house.table) == (F("0.1"), 0)
    assert house.spent(f"{house.table}/bea") == (F("0.1"), 0)
    forests = [said(p.get(f"/v1/forests/{j['id']}")) for p, j in
               ((house.analyst, first), (bea, second))]  # fmt: skip
    assert forests[0]["forest"] == forests[1]["forest"]


def test_a_repeat_looks_like_a_new_request(house):
    """In the job's fields and passes, and in how far the numbers of receipts are apart."""
    shapes = []
    for person in (house.analyst, house.add("bea", to=house.table)):
        asked = said(person.ask(house.table, learner="gini", parameters={}, epsilon="1"), 202)
        assert asked["state"] == "queued"
        assert asked["receipt"]["kind"] == "reserve"
        house.work()
        done = person.job(asked["id"])
        shape = {
            "apart": done["receipt"]["id"] - asked["receipt"]["id"],
            "passes": done["passes"],
            "spent": done["receipt"]["spent"],
            "keys": sorted(done),
            "forest": said(person.get(f"/v1/forests/{done['id']}"))["forest"],
        }
        shapes.append(shape)
    first, repeat = shapes
    assert first == repeat


def test_a_repeat_is_refused_like_a_new_request_when_the_table_is_exhausted(house):
    table = house.register("tiny", epsilon="1")
    bea = house.add("bea", to=table)
    said(house.analyst.ask(table, epsilon="0.6"), 202)
    house.work()
    said(house.analyst.ask(table, epsilon="0.4"), 202)
    house.work()
    repeat, fresh = bea.ask(table, epsilon="0.6"), bea.ask(table, epsilon="0.61")
    for answer in (repeat, fresh):
        assert "no budget left" in refused(answer, "over_budget")
    assert repeat.json().keys() == fresh.json().keys()
    assert house.spent("tiny/bea") == (0, 0)
    assert said(house.analyst.ask(table, epsilon="0.6"), 202)["state"] == "done"


def test_two_who_ask_the_same_before_it_is_done_both_pay_for_a_release(house):
    bea = house.add("bea", to=house.table)
    for person in (house.analyst, bea):
        said(person.ask(house.table), 202)
    house.work()
    assert house.spent(house.table) == (F("0.2"), 0)


def test_an_idempotency_key_belongs_to_one_analyst_one_table_and_one_body(house):
    other = house.register("other")
    bea = house.add("bea", to=house.table)
    first = house.analyst.ask(house.table, key="k1")
    again = house.analyst.ask(house.table, key="k1")
    assert first.content == again.content
    assert said(first, 202)
    assert "another request" in refused(
        house.analyst.ask(house.table, key="k1", epsilon="0.2"), "conflict"
    )
    refused(house.analyst.ask(other, key="k1"), "conflict")
    refused(house.analyst.ask(house.table, key="k1", kind="dry-runs"), "conflict")
    theirs = said(bea.ask(house.table, key="k1", epsilon="0.2"), 202)
    assert theirs["member"] == "bea"
    assert house.spent(house.own) == (0, F("0.1"))
    house.work()
    assert said(house.analyst.ask(house.table, key="k1"), 202)["state"] == "done"
    job = said(first, 202)["id"]
    assert said(house.analyst.ask(house.table, key="k2"), 202)["id"] == job, "a repeat"
    refused(house.analyst.ask(house.table, key="k2", epsilon="0.2"), "conflict")
    said(house.curator.post(f"/v1/tables/{house.table}/version"))
    for key in ("k1", "k2"):
        assert said(house.analyst.ask(house.table, key=key), 202)["id"] == job
    assert house.spent(house.own) == (F("0.1"), 0)
    for bad in ("", " ", "é", "a" * 129, "a b"):
        answer = house.analyst.post(
            f"/v1/tables/{house.table}/forests",
            json={"epsilon": "1"},
            headers={"idempotency-key": bad.encode("latin-1")},
        )
        refused(answer, "invalid")


def test_two_new_requests_need_no_key(house):
    ids = {said(house.analyst.ask(house.table, epsilon=e), 202)["id"] for e in ("0.1", "0.2")}
    assert len(ids) == 2


# -- policies --------------------------------------------------------------------------------------


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
    source = str(house.folder / "later.parquet")
    shared = {"name": "shared", "source": source, "disjoint": False}
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
    house.clock.move(days=31)
    house.analyst = house.add("bea", to=table)
    assert said(house.analyst.get(f"/v1/tables/{table}/budget"))["own"]["spent"] == "0.0"
    said(house.analyst.ask(table, epsilon="0.5"), 202)
    assert house.spent(f"{table}@0") == (1, 0)
    assert house.spent(f"{table}@1") == (0, F("0.5"))
    assert late["table"] == house.table


def test_a_job_is_charged_to_the_period_it_was_accepted_in(house):
    table = house.register("monthly", epsilon="1", renewal_days=30)
    said(house.analyst.ask(table, epsilon="1"), 202)
    house.clock.move(days=31)
    house.work()
    assert house.spent(f"{table}@0") == (1, 0)
    assert house.spent(f"{table}@1") == (0, 0)


def test_results_are_delivered_on_their_schedule_and_nothing_tells_of_them_before(house):
    house.set(deliver_every=3600)
    first = said(house.analyst.ask(house.table), 202)["id"]
    house.clock.move(seconds=10)
    second = said(house.analyst.ask(house.table, epsilon="0.2"), 202)["id"]
    assert house.worker.work_once()
    early = house.analyst.job(first)
    assert (early["state"], early["passes"], early["doing"]) == ("running", 0, "")
    assert "running" in refused(house.analyst.get(f"/v1/forests/{first}"), "not_ready")
    assert "running" in refused(house.analyst.post(f"/v1/jobs/{first}/cancel"), "conflict")
    assert said(house.analyst.get("/v1/forests")) == []
    assert not house.worker.work_once(), "the next start would tell that this one has ended"
    assert house.analyst.job(second)["state"] == "queued"
    house.clock.move(seconds=3589)
    assert house.analyst.job(first)["state"] == "running"
    house.clock.move(seconds=1)
    assert house.analyst.job(first)["state"] == "done"
    assert house.worker.work_once()
    assert house.analyst.job(second)["state"] == "running"


def test_on_a_schedule_no_start_tells_that_another_job_has_ended(house):
    """Also with a second worker: the first job is at work until it is shown."""
    house.set(deliver_every=3600, running_per_member=1)
    said(house.analyst.ask(house.table), 202)
    house.clock.move(seconds=1)
    second = said(house.analyst.ask(house.table, epsilon="0.2"), 202)["id"]
    assert house.worker.work_once()
    other = Worker(house.context)
    assert not other.work_once()
    assert house.analyst.job(second)["state"] == "queued"
    house.clock.move(seconds=3599)
    assert other.work_once()


def test_too_many_queued_jobs_of_one_member_are_refused(house):
    house.set(queued_per_member=2)
    for epsilon in ("0.1", "0.2"):
        said(house.analyst.ask(house.table, epsilon=epsilon), 202)
    full = house.analyst.ask(house.table, epsilon="0.3")
    refused(full, "too_many")
    assert full.headers["retry-after"] == "10"
    said(house.curator.ask(house.table, epsilon="0.3"), 202)


def test_who_asks_too_often_is_told_how_long_to_wait(house):
    house.set(requests_per_second=1)
    answers = [house.analyst.get("/v1/me") for _ in range(2)]
    assert [a.headers.get("retry-after") for a in answers] == [None, "1"]
    assert answers[1].status_code == 429
    house.set(failures_per_minute=1)
    wrong = house.stranger(authorization="Bearer frith_a_b")
    answers = [wrong.get("/v1/me") for _ in range(2)]
    assert [(a.status_code, a.headers.get("retry-after")) for a in answers] == [
        (401, None), (429, "60"),
    ]  # fmt: skip


def test_a_database_that_cannot_be_reached_is_to_be_asked_again(house, monkeypatch):
    def locked():
        raise StoreError("/secret/server.db is locked")

    monkeypatch.setattr(house.database, "read", locked)
    answer = house.analyst.get("/v1/me")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert "secret" not in refused(answer, "unavailable")


def test_a_server_without_onnx_says_what_to_do_instead(house, monkeypatch):
    forest = house.train()["id"]
    monkeypatch.setitem(sys.modules, "onnx", None)
    answer = house.analyst.get(f"/v1/forests/{forest}/model.onnx")
    assert answer.status_code == 501
    assert "as JSON" in refused(answer, "not_offered")
    assert "retry-after" not in answer.headers


# -- amounts and parameters ------------------------------------------------------------------------

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
        began = time.monotonic()
        answer = ask_raw(house, f'{{"epsilon": {amount}, "learner": "id3"}}')
        assert answer.status_code in (400, 422), amount
        assert time.monotonic() - began < 2, amount
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
        {"height": 2**32},
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
    began = time.monotonic()
    for learner, name in (("c45", "max_depth"), ("id3", "max_depth"), ("gini", "depth")):
        house.train(learner=learner, parameters={name: 10_000}, kind="dry-runs")
    assert time.monotonic() - began < 20


def test_learners_offer_no_parameter_that_the_server_sets(house):
    for learner in said(house.analyst.get("/v1/learners")):
        assert not {"domain", "epsilon", "delta", "ledger", "n_jobs", "as_published"} & set(
            learner["parameters"]
        )


# -- ledgers ---------------------------------------------------------------------------------------


def test_analysts_read_their_own_entries_and_curators_the_whole_chain(house):
    bea = house.add("bea", to=house.table)
    house.train()
    house.train(bea, epsilon="0.2")
    assert {e["account"] for e in said(bea.get("/v1/ledger"))} == {f"{house.table}/bea"}
    assert all(line.split(",")[1] in ("account", f"{house.table}/bea")
               for line in bea.get("/v1/ledger.csv").text.splitlines())  # fmt: skip
    whole = said(house.curator.get("/v1/ledger"))
    assert {e["account"] for e in whole} >= {house.table, house.own, f"{house.table}/bea"}
    verified = said(house.curator.get("/v1/ledger/verification"))
    assert verified["holds"]
    assert verified["entries"] == len(whole)


def test_a_ledger_is_read_a_page_at_a_time(house):
    bea = house.add("b_a", to=house.table)
    house.train(bea, epsilon="0.2")
    house.train(house.add("bxa", to=house.table))
    house.train(bea, epsilon="0.3")
    for person in (bea, house.curator):
        whole, read = said(person.get("/v1/ledger")), []
        query = {"limit": 2}
        while page := said(person.get("/v1/ledger", params=query)):
            assert len(page) <= 2
            read += page
            query["after"] = page[-1]["id"]
        assert read == whole
        assert len(whole) > 4
    for query in ({"limit": 0}, {"limit": 1001}, {"after": -1}, {"after": 2**63}, {"after": "x"}):
        refused(bea.get("/v1/ledger", params=query), "invalid")
    assert {e["account"] for e in said(bea.get("/v1/ledger"))} == {f"{house.table}/b_a"}


def test_an_export_is_whole_and_comes_in_parts(house, monkeypatch):
    house.train()
    whole = house.curator.get("/v1/ledger.csv")
    asked = []
    real = Book.page
    monkeypatch.setattr(export, "PAGE", 2)
    monkeypatch.setattr(Book, "page", lambda *a: asked.append(a[1:]) or real(*a))
    monkeypatch.setattr(Book, "entries", None)
    assert house.curator.get("/v1/ledger.csv").text == whole.text
    assert whole.headers["content-type"] == "text/csv; charset=utf-8"
    assert len(asked) >= 3
    assert house.add("na").get("/v1/ledger.csv").text == whole.text.splitlines()[0] + "\n"


def test_an_export_that_cannot_begin_says_so(house, monkeypatch):
    def locked(*_):
        raise StoreError("locked")

    monkeypatch.setattr(Book, "page", locked)
    refused(house.curator.get("/v1/ledger.csv"), "unavailable")


def ask_dry_runs(house, count):
    """Jobs for nothing, some of them asked at the same moment; the newest first."""
    found = []
    for number in range(count):
        seeded = {"n_trees": 1, "random_state": number}
        body = {"epsilon": "1", "learner": "random-decision", "parameters": seeded}
        found.append(said(house.analyst.post(f"/v1/tables/{house.table}/dry-runs", json=body), 202))
        house.clock.move(seconds=number % 2)
    return sorted(found, key=lambda job: (job["created"], -int(job["id"], 16)), reverse=True)


def test_jobs_and_forests_are_listed_in_pages(house):
    house.set(queued_per_member=10)
    jobs = [job["id"] for job in ask_dry_runs(house, 5)]
    house.work()

    def list_all(what, size):
        found = []
        while True:
            before = f"&before={found[-1]}" if found else ""
            page = said(house.analyst.get(f"/v1/{what}?limit={size}{before}"))
            found += [job["id"] for job in page]
            if len(page) < size:
                return found

    assert len(set(jobs)) == 5
    for what in ("jobs", "forests"):
        for size in (1, 2, 5, 6):
            assert list_all(what, size) == jobs
    bea = house.add("bea", to=house.table)
    refused(bea.get(f"/v1/jobs?before={jobs[0]}"), "not_found")
    refused(house.analyst.get("/v1/jobs?before=none"), "not_found")


def test_a_page_of_forests_is_full_though_some_are_not_shown_yet(house):
    house.set(queued_per_member=10, deliver_every=3600)
    jobs = [job["id"] for job in ask_dry_runs(house, 5)]
    house.work()
    assert said(house.analyst.get("/v1/forests?limit=2")) == []
    long_ago = dict.fromkeys(("created", "finished"), "2000-01-01T00:00:00+00:00")
    for job in jobs[2:]:
        house.change_job(job, **long_ago)
    listed = said(house.analyst.get("/v1/forests?limit=2"))
    assert [job["id"] for job in listed] == sorted(jobs[2:])[:2]


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


def test_metrics_are_for_curators(house):
    house.train()
    text = house.curator.get("/metrics").text
    assert 'frith_jobs{kind="train",state="done"} 1.0' in text
    assert 'route="/v1/jobs/{job}"' in text
    refused(house.analyst.get("/metrics"), "forbidden")


def test_metrics_do_not_grow_with_what_callers_make_up(house):
    for number in range(5):
        house.stranger().request(f"MADEUP{number}", f"/v1/x{number}")
        house.analyst.request(f"MADEUP{number}", "/v1/tables")
    text = house.curator.get("/metrics").text
    assert "MADEUP" not in text
    assert 'method="other"' in text


def test_policies_are_read_back_as_they_were_written():
    policy = Policy("1", "1e-6", learners=("id3",), renewal_days=3)
    assert Policy.from_json(json.loads(json.dumps(policy.to_json()))) == policy
