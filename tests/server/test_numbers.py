"""A table whose label is a number: what is offered for it, from its registration to a client's model."""

import numpy as np
import pandas as pd
import pytest

from frith import (
    Categorical,
    Domain,
    Forest,
    ForestRegressor,
    Numeric,
    RandomDecisionForestRegressor,
)
from frith.client.estimators import read_estimator
from frith.server.run.sample import ANALYST, CONNECTION
from tests.server.conftest import domain_text, refused, said
from tests.server.test_pages import Browser, check, job_of

DOMAIN = Domain(
    [Categorical("color", ("red", "blue")), Numeric("size", 0, 10)],
    Numeric("price", 0, 8),
    records=600,
)


def flats(n=600):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"color": rng.choice(["red", "blue"], n), "size": rng.uniform(0, 10, n)})
    return table.assign(price=1 + 2 * (table["color"] == "red") + 0.4 * table["size"])


@pytest.fixture
def body(house):
    flats().to_parquet(house.folder / "flats.parquet")
    return {
        "name": "flats",
        "connection": CONNECTION,
        "table": "flats.parquet",
        "domain": domain_text(DOMAIN),
        "policy": {"epsilon": "9"},
    }


@pytest.fixture
def trained(house, body):
    """The id of a forest that predicts a price, trained by a request that names no learner."""
    said(house.curator.post("/v1/tables", json=body), 201)
    said(house.curator.put(f"/v1/tables/flats/grants/{ANALYST}", json={}))
    asked = {"epsilon": "2"}
    job = said(house.analyst.post("/v1/tables/flats/forests", json=asked), 202)["id"]
    house.work()
    assert house.analyst.job(job)["state"] == "done"
    return job


def test_a_policy_must_allow_a_learner_that_predicts_numbers(house, body):
    few = body | {"policy": {"epsilon": "9", "learners": ["gini", "id3"]}}
    assert "allow forest, random" in refused(house.curator.post("/v1/tables", json=few), "invalid")
    info = said(house.curator.post("/v1/tables", json=body), 201)
    assert info["learner"] == "forest"
    answer = house.curator.put("/v1/tables/flats/policy", json=few["policy"])
    assert "allow forest" in refused(answer, "invalid")


def test_other_learners_and_their_parameters_are_refused_before_a_charge(house, trained):
    spent = house.spent("flats")
    for wrong, why in (
        ({"learner": "gini"}, "choose one of forest"),
        (
            {"learner": "forest", "parameters": {"rules_share": 0.1}},
            "has the parameters center, loss, quantile, size_share",
        ),
    ):
        answer = house.analyst.post("/v1/tables/flats/forests", json={"epsilon": "1"} | wrong)
        assert why in refused(answer, "invalid")
    assert house.spent("flats") == spent


def test_intervals_are_not_offered_because_a_job_does_not_release_them(house, trained):
    for parameters in ({"interval": "0.9"}, {"held_out": "0.5"}):
        refused(house.analyst.ask("flats", parameters=parameters, learner="forest"), "invalid")


def test_the_other_regressor_is_asked_for_by_its_name(house, trained):
    asked = {"epsilon": "1", "learner": "random-decision", "parameters": {"n_trees": 2}}
    job = said(house.analyst.post("/v1/tables/flats/forests", json=asked), 202)["id"]
    house.work()
    model = read_estimator(said(house.analyst.get(f"/v1/forests/{job}")))
    assert type(model) is RandomDecisionForestRegressor
    assert model.forest_.trees.n_trees == 2


def test_the_job_is_charged_and_its_forest_predicts_as_the_client_does(house, trained):
    assert house.spent("flats")[0] == 2
    document = said(house.analyst.get(f"/v1/forests/{trained}"))
    model, records = read_estimator(document), flats(20).drop(columns="price")
    assert type(model) is ForestRegressor
    assert model.forest_.guarantee.epsilon == 2
    assert model.receipt_.account == f"flats/{ANALYST}"
    local = Forest.from_json(document["forest"]).predict(records)
    assert np.array_equal(model.predict(records), local)
    assert np.ptp(local) > 1  # a signal of 1,200 carries steps
    asked = {"records": records.to_dict("records")}
    answer = said(house.analyst.post(f"/v1/forests/{trained}/predictions", json=asked))
    assert answer == {"labels": local.tolist(), "classes": [], "probabilities": []}


def test_what_is_made_of_labels_is_refused_in_words(house, trained):
    for path in ("rules", "picture.svg"):
        answer = house.analyst.get(f"/v1/forests/{trained}/{path}")
        assert "predicts a number" in refused(answer, "not_found")
    for path in ("scores", "rules"):
        answer = house.analyst.post(f"/v1/forests/{trained}/{path}", json={"epsilon": "1"})
        assert "not offered for a forest that predicts a number" in refused(answer, "invalid")
    quote = house.analyst.post(f"/v1/forests/{trained}/quotes", json={"epsilon": "1"})
    assert "not offered" in refused(quote, "invalid")
    assert house.spent("flats")[0] == 2
    effects = said(house.analyst.get(f"/v1/forests/{trained}/effects"))
    assert effects["labels"] == ["price"]


def test_the_pages_offer_what_there_is(house, trained):
    analyst = Browser(house, house.sample.analyst_token)
    form = check(analyst.get("/tables/flats")).text
    assert 'value="forest"' in form
    assert 'value="gini"' not in form
    page = check(analyst.get(f"/forests/{trained}")).text
    for shown in ('id="importances"', 'id="effects"', "in the unit of price", "ForestRegressor"):
        assert shown in page
    for not_measured in ('id="rules"', 'id="picture"', 'id="scores"', 'id="counted"', "rules.csv"):
        assert not_measured not in page
    for path in ("effects.svg", "effects.csv", "forest.json", "model.onnx", "report.html",
                 "certificate.html", "card.md"):  # fmt: skip
        analyst.get(f"/forests/{trained}/{path}")
    analyst.get(f"/forests/{trained}/rules.csv", status=404)
    analyst.get(f"/forests/{trained}/picture.svg", status=404)
    dry = job_of(
        analyst.post("/tables/flats/forests", learner="forest", epsilon="1", kind="dry-run")
    )
    house.work()
    assert "says nothing about the table" in check(analyst.get(f"/forests/{dry}")).text
