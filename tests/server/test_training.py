"""Training, scoring and updating over the API: what is said, and what the ledger then holds."""

from fractions import Fraction

import numpy as np
import pytest

from frith import Forest
from frith.learners import BY_NAME
from frith.server.budget import tables
from frith.server.run.worker import Worker, open_curator
from tests.server.conftest import BUDGET, domain_text, refused, said
from tests.tables import person_domain, small_table

F = Fraction


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
    assert shares
    assert set(shares) <= {a["name"] for a in forest["forest"]["domain"]["attributes"]}
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
    assert house.train()["state"] == "queued"


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
    body = {"name": "next", "connection": "sample", "table": "later.parquet", "disjoint": disjoint}
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
    other = {"name": "other", "connection": "sample", "table": "later.parquet", "disjoint": True}
    said(house.curator.post(f"/v1/tables/{house.table}/batches", json=other), 201)
    path = f"/v1/forests/{job['id']}/updates"
    second = said(house.analyst.post(path, json=asked | {"batch": "other"}), 202)
    house.work()
    refused(house.analyst.post(f"/v1/forests/{second['id']}/updates", json=asked), "conflict")


def test_only_random_decision_forests_are_updated(house):
    forest = house.train(learner="id3", parameters={})["id"]
    asked = {"epsilon": "1", "batch": "later"}
    refused(house.analyst.post(f"/v1/forests/{forest}/updates", json=asked), "invalid")


def test_rules_of_a_forest_are_counted_for_an_epsilon_of_their_own(house, records):
    job = house.train(learner="forest", parameters={}, epsilon="1")["id"]
    asked = {"epsilon": "20"}
    price = said(house.analyst.post(f"/v1/forests/{job}/quotes", json=asked | {"rules": True}))
    assert (price["cost"], price["left"]) == ("20.0", "39.0")
    second = said(house.analyst.post(f"/v1/forests/{job}/rules", json=asked), 202)
    house.work()
    assert house.spent(house.own)[0] == 21
    before, after = (
        Forest.from_json(said(house.analyst.get(f"/v1/forests/{id}"))["forest"])
        for id in (job, second["id"])
    )
    assert (before.measured, after.guarantee.epsilon) == (None, 21)
    assert np.array_equal(before.values, after.values)
    for rule in after.measured.rules(leaves_only=True):
        true = int(rule.covers(records).sum())
        assert abs(rule.support - true) <= rule.support_margin + 1
    again = house.analyst.post(f"/v1/forests/{second['id']}/rules", json=asked)
    assert "counted already" in refused(again, "conflict")


@pytest.mark.parametrize("kind", ["forests", "dry-runs"])
def test_rules_are_counted_for_forests_of_scores_only(house, kind):
    learner = "id3" if kind == "forests" else "forest"
    asked = house.analyst.ask(house.table, kind=kind, learner=learner, parameters={})
    forest, path = said(asked, 202)["id"], "/v1/forests/{}/rules"
    house.work()
    answer = house.analyst.post(path.format(forest), json={"epsilon": "1"})
    assert "train one first" in refused(answer, "invalid")


def test_a_quote_is_for_one_thing(house):
    forest = house.train()["id"]
    asked = {"epsilon": "1", "batch": "later", "rules": True}
    refused(house.analyst.post(f"/v1/forests/{forest}/quotes", json=asked), "invalid")


def test_persons_are_charged_and_named_in_the_guarantee(house, small):
    path = house.folder / "people.csv"
    small_table().to_csv(path, index=False)
    body = small | {"table": path.name, "domain": domain_text(person_domain())}
    said(house.curator.post("/v1/tables", json=body), 201)
    with house.database.write() as session:
        tables.grant(house.context, session, "small", "ana")
    job = house.train(table="small", epsilon="1")
    forest = said(house.analyst.get(f"/v1/forests/{job['id']}"))["forest"]
    assert "person" in forest["guarantee"]["neighbors"]
