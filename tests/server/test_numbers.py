"""A table whose label is a number: what is offered for it, from its registration to a client's model."""

import re
from html import unescape

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
from frith.client.estimators import read_estimator, read_score
from frith.curator.number_score import NumberScore
from frith.server.jobs.requests import ASSUMED
from frith.server.run.sample import ANALYST, CONNECTION
from frith.server.web.texts import figure
from tests.server.conftest import domain_text, refused, said
from tests.server.test_pages import Browser, check, job_of

DOMAIN = Domain(
    [Categorical("color", ("red", "blue")), Numeric("size", 0, 10)],
    Numeric("price", 0, 8),
    records=600,
)

LOG = Numeric("price", 0.5, 8, scale="log")


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
    for path, more in (("rules", {}), ("updates", {"batch": "later"})):
        asked = {"epsilon": "1"} | more
        answer = house.analyst.post(f"/v1/forests/{trained}/{path}", json=asked)
        assert "not offered for a forest that predicts a number" in refused(answer, "invalid")
        asked |= {"rules": True} if path == "rules" else {}
        quote = house.analyst.post(f"/v1/forests/{trained}/quotes", json=asked)
        assert "not offered" in refused(quote, "invalid")
    for more in ({"metrics": ["auc"]}, {"by": ["color"]}, {"positive": 3}):
        asked = {"epsilon": "1"} | more
        answer = house.analyst.post(f"/v1/forests/{trained}/scores", json=asked)
        assert "for labels with values" in refused(answer, "invalid")
    assert house.spent("flats")[0] == 2
    effects = said(house.analyst.get(f"/v1/forests/{trained}/effects"))
    assert effects["labels"] == ["price"]


def test_a_score_costs_what_its_quote_says_and_tells_errors(house, trained):
    """Forests see all 600 records, so R2 is high; a standard error of 0.05 is what epsilon 5 gives."""
    path, asked = f"/v1/forests/{trained}", {"epsilon": "5"}
    quote = said(house.analyst.post(f"{path}/quotes", json=asked))
    assert (quote["cost"], quote["left"], quote["granted"]) == ("5.0", "7.0", True)
    job = said(house.analyst.post(f"{path}/scores", json=asked), 202)["id"]
    refused(house.analyst.get(f"/v1/scores/{job}"), "not_ready")
    house.work()
    answer = said(house.analyst.get(f"/v1/scores/{job}"))
    assert answer["receipt"]["amount"] == "5.0"
    assert house.spent("flats")[0] == 7
    score = read_score(answer)
    assert isinstance(score, NumberScore)
    assert score.guarantee.epsilon == 5
    assert {*ASSUMED} <= {*score.guarantee.assumptions}
    model, table = read_estimator(said(house.analyst.get(path))), flats()
    exact = np.sqrt(np.mean((model.predict(table.drop(columns="price")) - table["price"]) ** 2))
    assert abs(score.rmse - exact) < 10 * score.error("rmse") + 0.02
    assert np.isnan(score.coverage)  # a job releases no intervals
    again = said(house.analyst.post(f"{path}/scores", json={"epsilon": "5.0"}), 202)
    assert said(house.analyst.get(f"/v1/scores/{again['id']}"))["score"] == answer["score"]
    assert house.spent("flats")[0] == 7  # the same request, spelled otherwise


def test_a_score_beyond_the_budget_is_refused(house, trained):
    asked = {"epsilon": "7.5"}
    assert not said(house.analyst.post(f"/v1/forests/{trained}/quotes", json=asked))["granted"]
    refused(house.analyst.post(f"/v1/forests/{trained}/scores", json=asked), "over_budget")
    assert house.spent("flats")[0] == 2


def test_a_score_of_too_little_budget_shows_no_number_that_means_nothing(house, trained):
    analyst = Browser(house, house.sample.analyst_token)
    assert figure(float("nan")) == "\N{EN DASH}"
    job = job_of(analyst.post(f"/forests/{trained}/scores", epsilon="0.001"))
    house.work()
    shown = check(analyst.get(f"/forests/{trained}")).text
    assert f'id="score-{job}"' in shown
    assert "nan" not in shown.split('id="scores"')[1].split("</section>")[0].lower()


def test_a_label_on_a_log_scale_is_predicted_and_scored(house, body):
    declared = domain_text(Domain(DOMAIN.attributes, LOG, records=600))
    said(house.curator.post("/v1/tables", json=body | {"domain": declared}), 201)
    said(house.curator.put(f"/v1/tables/flats/grants/{ANALYST}", json={}))
    forest = said(house.analyst.post("/v1/tables/flats/forests", json={"epsilon": "2"}), 202)["id"]
    house.work()
    job = said(house.analyst.post(f"/v1/forests/{forest}/scores", json={"epsilon": "5"}), 202)["id"]
    house.work()
    assert read_score(said(house.analyst.get(f"/v1/scores/{job}"))).scale == "log"
    model = read_estimator(said(house.analyst.get(f"/v1/forests/{forest}")))
    records = flats(20).drop(columns="price")
    asked = {"records": records.to_dict("records")}
    answer = said(house.analyst.post(f"/v1/forests/{forest}/predictions", json=asked))
    assert answer["labels"] == model.predict(records).tolist()
    assert 0.5 <= min(answer["labels"]) <= max(answer["labels"]) <= 8
    analyst = Browser(house, house.sample.analyst_token)
    assert "0.5 to 8, log scale" in check(analyst.get("/tables/flats")).text
    page = check(analyst.get(f"/forests/{forest}")).text
    for shown in ("the natural logarithm of price", "score of log(price)", "geometric mean"):
        assert shown in page


def test_a_log_scale_is_chosen_in_the_form_that_registers_a_table(house):
    flats().to_csv(house.folder / "flats.csv", index=False)
    curator = Browser(house, house.sample.curator_token)
    fields = {"name": "flats", "connection": CONNECTION, "table": "flats.csv", "label": "price",
              "epsilon": "1", "learners": ["forest"]}  # fmt: skip
    drafted = check(curator.post("/curate/register", status=200, draft="yes", **fields)).text
    assert '<select name="column-0-scale"' in drafted
    assert "column-1-scale" not in drafted
    carried = unescape(re.search(r'name="columns-draft" value="([^"]*)"', drafted)[1])
    fields |= {"columns-draft": carried, "column-0-scale": "log", "column-0-high": "8"}
    fields |= {f"column-{i}-public": "on" for i in range(3)}
    wrong = fields | {"column-0-low": "0"}
    answer = curator.post("/curate/register", status=422, columns="yes", **wrong)
    assert "bounds above 0" in answer.text
    fields["column-0-low"] = "0.5"
    shown = check(curator.post("/curate/register", status=200, columns="yes", **fields)).text
    text = unescape(re.search(r'name="domain"[^>]*>(.*?)</textarea>', shown, re.DOTALL)[1])
    label = Domain.from_toml(text).label
    assert (label.scale, label.low, label.high) == ("log", 0.5, 8)
    assert '<option value="log" selected' in shown


def test_the_pages_offer_what_there_is(house, trained):
    analyst = Browser(house, house.sample.analyst_token)
    form = check(analyst.get("/tables/flats")).text
    assert 'value="forest"' in form
    assert 'value="gini"' not in form
    page = check(analyst.get(f"/forests/{trained}")).text
    for shown in ('id="importances"', 'id="effects"', "price, in its own unit", "ForestRegressor"):
        assert shown in page
    for not_measured in ('id="rules"', 'id="picture"', 'id="counted"', "rules.csv", "score-what"):
        assert not_measured not in page
    assert "how far off the forest is on the table" in page
    score = job_of(analyst.post(f"/forests/{trained}/scores", epsilon="3"))
    house.work()
    page = check(analyst.get(f"/forests/{trained}")).text
    for shown in (f'id="score-{score}"', "mean absolute error", "standard error of the noise"):
        assert shown in page
    assert house.spent("flats")[0] == 5
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
