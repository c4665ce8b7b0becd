"""`frith effects`, and what other commands say about them."""

import io
import json
from xml.etree import ElementTree

import pandas as pd
import pytest

from frith import Forest
from frith.forest.report import make_card, make_certificate


@pytest.fixture
def scores(desk, run):
    """The path of a saved forest of scores."""
    path = desk / "scores.json"
    run(
        "train",
        desk / "table.parquet",
        "--domain",
        desk / "domain.toml",
        "--epsilon",
        20,
        "-o",
        path,
    )
    return path


def test_effects_are_printed_with_their_noise(run, scores):
    said = run("effects", scores).stdout
    assert "log-odds of good = yes" in said
    assert "± noise" in said
    assert "size" in said


def test_effects_are_data(run, scores):
    effects = Forest.load(scores).effects()
    said = run("effects", scores, "--format", "csv").stdout
    pd.testing.assert_frame_equal(pd.read_csv(io.StringIO(said), keep_default_na=True)[["effect"]],
                                  effects.to_frame()[["effect"]])  # fmt: skip
    assert json.loads(run("effects", scores, "--format", "json").stdout) == effects.to_json()
    pairs = pd.read_csv(io.StringIO(run("effects", scores, "--pairs", "--format", "csv").stdout))
    assert len(pairs) == len(effects.pairs_to_frame())


def test_one_attribute_alone(run, scores):
    said = run("effects", scores, "--attribute", "size", "--format", "csv").stdout
    assert set(pd.read_csv(io.StringIO(said))["attribute"]) == {"size"}
    assert "no attribute 'weight'" in run("effects", scores, "--attribute", "weight", code=2).stderr


def test_a_forest_of_counts_has_none_and_says_so(run, forest, desk):
    for args in (("effects", forest), ("draw", forest, "--effects", "-o", desk / "e.svg")):
        assert "holds label counts" in run(*args, code=2).stderr
    assert not (desk / "e.svg").exists()


def test_effects_are_drawn(run, scores, desk):
    run("draw", scores, "--effects", "-o", desk / "effects.svg")
    written = (desk / "effects.svg").read_text(encoding="utf-8")
    assert written == Forest.load(scores).effects().draw()
    ElementTree.fromstring(written)
    assert "--all" in run("draw", scores, "--effects", "--all", "-o", desk / "e.svg", code=2).stderr


def test_predictions_are_explained(run, scores, desk):
    said = run("predict", scores, desk / "table.csv", "--explain").stdout
    frame, forest = pd.read_csv(io.StringIO(said)), Forest.load(scores)
    expected = forest.explain(pd.read_csv(desk / "table.csv"))
    assert list(frame)[1:] == [f"adds {name}" for name in expected]
    assert abs(frame.iloc[:, 1:].to_numpy() - expected.to_numpy()).max() < 1e-9


def test_a_forest_is_shown_with_its_origin(run, scores):
    said, forest = run("show", scores).stdout, Forest.load(scores)
    assert "ForestClassifier" in said
    assert forest.origin.date in said
    facts = json.loads(run("show", scores, "--json").stdout)
    assert facts["origin"] == forest.origin.to_json()


def test_papers_are_written(run, scores, desk):
    forest = Forest.load(scores)
    run("report", scores, "--form", "certificate")
    run("report", scores, "--form", "card", "-o", desk / "README.md")
    assert (desk / "scores.certificate.html").read_text("utf-8") == make_certificate(forest)
    assert (desk / "README.md").read_text("utf-8") == make_card(forest)
    refused = run("report", scores, "--form", "certificate", "--data", desk / "table.csv", code=2)
    assert "leave out --data" in refused.stderr
