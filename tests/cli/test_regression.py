"""A number to predict, on the command line: draft, train, look, predict."""

import json

import numpy as np
import pandas as pd
import pytest

from frith import Domain, Forest


@pytest.fixture
def prices(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": rng.uniform(0, 10, 400), "color": rng.choice(["red", "blue"], 400)}
    )
    table["price"] = 1 + 0.5 * table["size"] + 0.1 * rng.normal(size=400)
    table.to_csv(tmp_path / "prices.csv", index=False)
    (tmp_path / "domain.toml").write_text(
        """format = "frith-domain/1"
records = 400
label = { name = "price", low = 0, high = 8 }
[[attributes]]
name = "size"
low = 0
high = 10
"""
    )
    return tmp_path


def train(run, prices, *more, code=0):
    return run("train", prices / "prices.csv", "--domain", prices / "domain.toml",
               "-o", prices / "forest.json", "--force", *more, code=code)  # fmt: skip


def test_a_label_of_many_numbers_is_drafted_with_bounds(run, prices):
    run("domain", "draft", prices / "prices.csv", "--label", "price", "-o", prices / "draft.toml")
    label = Domain.load(prices / "draft.toml").label
    assert label.low <= 1
    assert 6 <= label.high <= 8


def test_the_domain_decides_what_is_trained(run, prices):
    said = train(run, prices, "--epsilon", 5)
    assert "label 'price', a number between 0 and 8" in said.stdout
    assert Forest.load(prices / "forest.json").vote == "sum"
    assert "price" in run("show", prices / "forest.json").stdout
    assert "what attributes add to price" in run("effects", prices / "forest.json").stdout


def test_predictions_are_numbers_and_explanations_add_up_to_them(run, prices):
    train(run, prices, "--epsilon", "inf")
    forest, table = prices / "forest.json", prices / "prices.csv"
    said = json.loads(run("predict", forest, table, "--explain", "--json").stdout)
    numbers = Forest.load(forest).predict(pd.read_csv(table))
    assert said["prediction"] == pytest.approx(numbers.tolist())
    parts = np.array(said["adds (base)"]) + said["adds size"]
    assert np.clip(parts, 0, 8) == pytest.approx(numbers)


def test_what_is_about_labels_is_refused_in_words(run, prices):
    train(run, prices, "--epsilon", 1)
    forest, table = prices / "forest.json", prices / "prices.csv"
    for words in (
        ("rules", forest),
        ("draw", forest, "-o", prices / "tree.svg"),
        ("predict", forest, table, "--proba"),
    ):
        assert "not offered for a forest that predicts a number" in run(*words, code=2).stderr
    other = train(run, prices, "--epsilon", 1, "--learner", "gini", code=2)
    assert "use ForestRegressor" in other.stderr


def test_a_log_scale_in_the_domain_is_kept_in_every_word(run, prices):
    """Predictions are in the label's own unit, contributions and effects in that of its logarithm."""
    text = (prices / "domain.toml").read_text()
    text = text.replace("low = 0, high = 8", 'low = 0.5, high = 8, scale = "log"')
    (prices / "domain.toml").write_text(text)
    said = train(run, prices, "--epsilon", "inf")
    assert "logarithm" in said.stdout
    forest, table = prices / "forest.json", prices / "prices.csv"
    found = json.loads(run("predict", forest, table, "--explain", "--json").stdout)
    numbers = Forest.load(forest).predict(pd.read_csv(table))
    assert found["prediction"] == pytest.approx(numbers.tolist())
    logs = np.array(found["adds (base) to log(price)"]) + found["adds size to log(price)"]
    assert np.clip(np.exp(logs), 0.5, 8) == pytest.approx(numbers)
    assert "the natural logarithm of price" in run("effects", forest).stdout
    score = run("score", forest, table, "--epsilon", 2).stdout
    assert "all of the target's natural logarithm" in score
