"""A label on a log scale: trees add up to its logarithm, and predictions are in its own unit."""

import json
import math
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import frith
from frith import (
    Categorical,
    Domain,
    Forest,
    ForestRegressor,
    Numeric,
    RandomDecisionForestRegressor,
    open_table,
)
from frith.curator.number_score import NumberScore
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_label
from frith.errors import FormatError
from frith.forest.report import make_card, make_report

PAY = Numeric("pay", 10, 100_000, scale="log")
ATTRIBUTES = (Numeric("school", 0, 20), Categorical("town", ("no", "yes")))


def workers(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"school": rng.uniform(0, 20, n), "town": rng.choice(["no", "yes"], n)})
    log = 5 + 0.1 * table["school"] + 0.5 * (table["town"] == "yes") + rng.normal(0, 0.6, n)
    return table.assign(pay=np.exp(log))


def domain_of(n=None, label=PAY):
    return Domain(ATTRIBUTES, label, records=n)


def logarithms(table):
    return table.assign(pay=np.log(table["pay"]))


def fitted(table, domain, **kwargs):
    return ForestRegressor(domain, **kwargs).fit(table, notices=False)


def rows(table):
    return table.drop(columns="pay")


# -- the declaration -------------------------------------------------------------------------------


def test_a_log_scale_is_declared_in_the_domain_and_kept_in_files(tmp_path):
    domain = domain_of(9)
    assert 'scale = "log"' in domain.to_toml()
    domain.save(tmp_path / "domain.toml")
    for copy in (
        Domain.from_json(json.loads(json.dumps(domain.to_json()))),
        Domain.load(tmp_path / "domain.toml"),
        pickle.loads(pickle.dumps(domain)),
        replace(domain, records=9),
    ):
        assert copy == domain
        assert copy.has_log_target
        assert copy.target == Numeric("pay", math.log(10), math.log(100_000))
    linear = domain_of(9, Numeric("pay", 10, 100_000))
    assert linear != domain
    assert not linear.same_codes(domain)
    assert linear.target is linear.label


def test_codes_are_those_of_the_logarithm_and_every_value_has_one():
    table = workers(2_000)
    given = pd.DataFrame(
        {"pay": [*table["pay"], 0.0, -5.0, 1e-300, 1e300, np.inf, -np.inf, np.nan]}
    )
    domain = domain_of()
    codes = encode_label(columns_of(given)[0]("pay"), domain.label)
    with np.errstate(all="ignore"):
        logs = np.log(given["pay"].to_numpy(copy=True))
    logs[2_000:2_002] = -1e9  # zero and negative numbers count as the lower bound
    there = encode_label(columns_of(pd.DataFrame({"pay": logs}))[0]("pay"), domain.target)
    assert codes[2_000:].tolist() == [0, 0, 0, 1_023, 1_023, 0, -1]
    assert np.array_equal(codes[:2_000], there[:2_000])
    assert np.ptp(codes[:2_000]) > 100


def test_numbers_come_back_within_the_bounds():
    wide = Domain(ATTRIBUTES, Numeric("pay", 5e-324, 1.7976931348623157e308, scale="log"))
    for domain in (domain_of(), wide):
        ends = np.array([domain.target.low, domain.target.high])
        label = domain.label
        assert domain.from_target(ends) == pytest.approx([label.low, label.high], rel=1e-12)
        assert np.all(domain.from_target(ends) <= label.high)
        assert np.all(domain.from_target(ends) >= label.low)
    assert domain_of().to_target(100.0) == math.log(100)


# -- what is learned -------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", [ForestRegressor, RandomDecisionForestRegressor])
def test_the_forest_is_that_of_the_logarithm(learner):
    """With exact sums, taking the logarithm beforehand gives the same trees, values and predictions."""
    table = workers(3_000)
    seed = {} if learner is ForestRegressor else {"random_state": 0}
    model = learner(domain_of(3_000), epsilon="inf", **seed)
    here = model.fit(table, notices=False)
    beforehand = domain_of(3_000, domain_of().target)
    there = clone(model).set_params(domain=beforehand).fit(logarithms(table), notices=False)
    assert here.forest_.trees == there.forest_.trees
    assert np.array_equal(here.forest_.values, there.forest_.values)
    expected = np.exp(there.predict(rows(table)))
    assert here.predict(rows(table)) == pytest.approx(expected, rel=1e-12)
    assert np.ptp(expected) > 100


def test_the_same_questions_are_asked_as_of_any_number():
    """Sums are of clipped whole numbers on the grid, so the scale changes no sensitivity."""
    table = workers(1_000)
    asked = [
        fitted(table, domain_of(1_000, label), epsilon=1).forest_.guarantee.asked
        for label in (PAY, Numeric("pay", 10, 100_000))
    ]
    first, second = (
        [(q.purpose, q.share, q.mechanism, q.scale) for q in questions[:2]] for questions in asked
    )
    assert first == second


def test_bad_targets_raise_nothing_and_are_clamped():
    table = workers(400).astype({"pay": object})
    table.loc[:9, "pay"] = [0, -1, None, "much", np.inf, -np.inf, np.nan, 1e400, "12", True]
    for bad in (table, table.assign(pay=0.0), table.assign(pay=-3.0), table.assign(pay=None)):
        predicted = fitted(bad, domain_of(400), epsilon=1).predict(rows(bad))
        assert np.all((predicted >= 10) & (predicted <= 100_000))


def test_a_center_is_given_in_the_labels_own_unit():
    table = workers(50).assign(pay=100_000.0)
    model = fitted(table, domain_of(1, PAY), epsilon="0.0001", center=100_000)
    assert model._center(open_curator(table)) == 2**20  # the upper end of the fixed point
    for outside in (5, -1, 200_000):
        with pytest.raises(ValueError, match="declared bounds, 10 and 100000"):
            fitted(table, domain_of(50), epsilon=1, center=outside)


def open_curator(table):
    from frith.curator import Curator
    from frith.privacy.budget import Budget

    return Curator(open_table(table, domain_of(50)), Budget.of(1))


# -- quantiles and intervals -----------------------------------------------------------------------


def test_intervals_cover_targets_in_their_own_unit():
    """2,000 held-out and 10,000 new records: the margin is over five standard errors."""
    model = fitted(workers(10_000), domain_of(10_000), epsilon=1, interval="0.9")
    new = workers(10_000, seed=1)
    low, high = model.predict_interval(rows(new)).T
    assert 0.86 < np.mean((new["pay"] >= low) & (new["pay"] <= high)) < 0.95
    middle = model.predict(rows(new))
    inside = (low > 10) & (high < 100_000)
    factor = np.exp(model.interval_radius_)
    assert high[inside] / middle[inside] == pytest.approx(factor)
    assert middle[inside] / low[inside] == pytest.approx(factor)


def test_quantiles_are_those_of_the_target():
    table = workers(20_000)
    new = workers(10_000, seed=1)
    for quantile in (0.2, 0.5, 0.9):
        model = fitted(table, domain_of(20_000), epsilon=2, loss="quantile", quantile=quantile)
        assert abs(np.mean(new["pay"] <= model.predict(rows(new))) - quantile) < 0.06


# -- what is said of it ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    table = workers(4_000)
    return ForestRegressor(domain_of(4_000), epsilon=2).fit(table, notices=False)


def test_contributions_add_up_to_the_logarithm(model):
    new = workers(200, seed=2)
    parts = model.explain(rows(new))
    assert parts.columns.name == "log(pay)"
    assert np.exp(parts.sum(axis=1)).to_numpy() == pytest.approx(model.predict(rows(new)))


def test_json_and_onnx_predict_in_the_labels_own_unit(model, tmp_path):
    new, forest = rows(workers(200, seed=2)), model.forest_
    model.forest_.save(tmp_path / "forest.json")
    assert np.array_equal(Forest.load(tmp_path / "forest.json").predict(new), model.predict(new))
    onnxruntime = pytest.importorskip("onnxruntime")
    made = forest.to_onnx()
    facts = {prop.key: prop.value for prop in made.metadata_props}
    assert facts["frith.scale"] == "log"
    assert json.loads(facts["frith.bounds"]) == [10, 100_000]
    session = onnxruntime.InferenceSession(made.SerializeToString())
    inputs = {
        "school": new["school"].to_numpy()[:, None],
        "town": new["town"].to_numpy(dtype=object)[:, None],
    }
    assert session.run(["label"], inputs)[0] == pytest.approx(model.predict(new), rel=1e-12)


def test_words_say_that_sums_are_logarithms(model):
    forest, unit = model.forest_, "the natural logarithm of pay"
    assert "its trees add up to the logarithm" in forest.describe()
    assert unit in forest.effects().unit
    assert unit in forest.effects().to_json()["unit"]
    assert "log(pay)" in forest.export_text(0)
    for page in (make_report(forest), make_card(forest)):
        assert unit in page
        assert "below the mean where numbers spread" in page
        assert "log scale" in page
    report = make_report(forest, workers(500, seed=3))
    assert "On the log scale, which it was learned on, R2 is" in report


def test_a_test_on_ones_own_records_is_in_the_labels_own_unit(model):
    """RMSE as of `predict`, up to the rounding of targets to the grid: a hundredth of each."""
    from frith.forest.report.trial import number_words

    new = workers(2_000, seed=3)
    rmse = np.sqrt(np.mean((model.predict(rows(new)) - new["pay"]) ** 2))
    told = number_words(model.forest_, new).split("squared error is ")[1].split(",")[0]
    assert float(told) == pytest.approx(rmse, rel=0.03)


def test_private_scores_are_of_the_logarithm_and_say_so(model):
    new = workers(4_000, seed=3)
    score = frith.private_score(model, new, epsilon="inf")
    errors = np.log(model.predict(rows(new))) - np.log(new["pay"])
    assert score.rmse == pytest.approx(np.sqrt(np.mean(errors**2)), rel=0.01)
    assert score.mae == pytest.approx(np.abs(errors).mean(), rel=0.01)
    assert score.r2 == pytest.approx(1 - np.mean(errors**2) / np.log(new["pay"]).var(), abs=0.02)
    assert "natural logarithm" in str(score)
    data = json.loads(json.dumps(score.to_json()))
    assert data["scale"] == "log"
    assert NumberScore.from_json(data) == score
    assert NumberScore.from_json({k: v for k, v in data.items() if k != "scale"}) != score
    with pytest.raises(FormatError, match="linear or log"):
        NumberScore.from_json(data | {"scale": "cubic"})


def test_a_score_of_another_scale_is_refused(model):
    linear = Domain(ATTRIBUTES, Numeric("pay", 10, 100_000))
    with pytest.raises(ValueError, match="other attributes, values or bounds"):
        frith.private_score(model, workers(100), epsilon=1, domain=linear)


# -- skewed tables ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "low", "gains"),
    [("cps1988_wages", 50, True), ("diamonds", 100, True), ("insurance", 500, False)],
)
def test_logarithms_of_a_skewed_target_are_explained(name, low, gains):
    """Without noise. A long tail gains by a log scale; two groups, as in insurance, need not."""
    X, y, domain = skewed(name, low)
    name, high = domain.label.name, domain.label.high
    half, logs, found = np.arange(len(X)) % 2 == 0, np.log(np.maximum(y, low)), {}
    for scale in ("linear", "log"):
        declared = Domain(domain.attributes, Numeric(name, low, high, scale=scale), int(half.sum()))
        model = ForestRegressor(declared, epsilon="inf").fit(X[half], y[half], notices=False)
        error = np.log(model.predict(X[~half])) - logs[~half]
        found[scale] = 1 - np.mean(error**2) / logs[~half].var()
    assert found["log"] > 0.3
    assert found["log"] > found["linear"] or not gains


def skewed(name, low):
    """3,000 records of a table, or made-up ones where it is not at hand."""
    try:
        X, y, domain = frith.datasets.load(name)
    except ValueError:
        table = workers(3_000, seed=len(name))
        return rows(table), table["pay"] * low / 10, domain_of(None, Numeric("pay", low, 1e4 * low))
    chosen = np.random.default_rng(0).permutation(len(X))[:3_000]
    return X.iloc[chosen], y.iloc[chosen].astype(float), domain
