"""`frith predict`: the same labels as in Python, in the order of the file."""

import json

import numpy as np
import pandas as pd
import pytest

from frith import Categorical, Domain, Forest, RandomDecisionForestClassifier
from tests.tables import small_table


def expected(forest, desk):
    return Forest.load(forest).predict(pd.read_parquet(desk / "table.parquet"))


@pytest.mark.parametrize("table", ["table.parquet", "table.feather", "table.csv"])
def test_predictions_go_to_stdout_as_csv(run, desk, forest, table):
    lines = run("predict", forest, desk / table).stdout.splitlines()
    assert lines == ["prediction", *expected(forest, desk)]


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_predictions_are_written_with_probabilities(run, desk, forest, name):
    result = run("predict", forest, desk / "table.csv", "--proba", "-o", desk / name)
    assert result.stdout == ""
    assert "400 predictions" in result.stderr
    read = pd.read_csv if name.endswith("csv") else pd.read_parquet
    written = read(desk / name)
    assert list(written.columns) == ["prediction", "P(no)", "P(yes)"]
    assert (written["prediction"] == expected(forest, desk)).all()
    chances = Forest.load(forest).predict_proba(pd.read_parquet(desk / "table.parquet"))
    assert np.array_equal(written[["P(no)", "P(yes)"]].to_numpy(), chances)


def test_json_holds_the_predictions_or_says_where_they_are(run, desk, forest):
    args = ("predict", forest, desk / "table.parquet", "--json")
    said = json.loads(run(*args, "--proba").stdout)
    assert said["prediction"] == list(expected(forest, desk))
    assert set(said) == {"prediction", "P(no)", "P(yes)"}
    said = json.loads(run(*args, "-o", desk / "out.csv").stdout)
    assert said == {"path": str(desk / "out.csv"), "rows": 400}


def test_a_table_needs_no_label(run, desk, forest):
    table = small_table(50).drop(columns=["good", "who"])
    table.to_parquet(desk / "new.parquet")
    assert len(run("predict", forest, desk / "new.parquet").stdout.splitlines()) == 51


def test_no_records_give_a_header(run, desk, forest):
    table = desk / "none.parquet"
    small_table(5)[:0].to_parquet(table)
    assert run("predict", forest, table, "--proba").stdout == "prediction,P(no),P(yes)\n"
    assert json.loads(run("predict", forest, table, "--json").stdout) == {"prediction": []}
    (desk / "header.csv").write_text("color,round,size")
    assert run("predict", forest, desk / "header.csv").stdout == "prediction\n"


def test_many_batches_stay_in_order(run, desk, forest, monkeypatch):
    monkeypatch.setattr("frith.engines.batches.ROWS", 7)
    lines = run("predict", forest, desk / "table.parquet").stdout.splitlines()
    assert lines[1:] == list(expected(forest, desk))


@pytest.mark.parametrize(
    ("labels", "spelled"), [((0, 1), {"0", "1"}), ((False, True), {"false", "true"})]
)
def test_labels_are_spelled_as_in_the_domain(run, tmp_path, labels, spelled):
    domain = Domain([Categorical("smokes", ("no", "yes"))], Categorical("ill", labels), records=40)
    X = pd.DataFrame({"smokes": ["no", "yes"] * 20})
    model = RandomDecisionForestClassifier(domain, epsilon=float("inf"), random_state=0)
    model.fit(X, list(labels) * 20).forest_.save(tmp_path / "forest.json")
    X.to_csv(tmp_path / "table.csv", index=False)
    args = ("predict", tmp_path / "forest.json", tmp_path / "table.csv")
    assert set(run(*args).stdout.splitlines()[1:]) == spelled
    assert set(json.loads(run(*args, "--json").stdout)["prediction"]) == set(labels)


def test_a_missing_column_leaves_an_earlier_output_alone(run, desk, forest):
    (desk / "narrow.csv").write_text("color\nred\n")
    (desk / "out.csv").write_text("kept")
    result = run("predict", forest, desk / "narrow.csv", "-o", desk / "out.csv", code=2)
    assert "has no column 'round'" in result.stderr
    assert (desk / "out.csv").read_text() == "kept"


def test_the_table_is_not_written_over(run, desk, forest):
    before = (desk / "table.csv").read_bytes()
    run("predict", forest, desk / "table.csv", "-o", desk / "table.csv", code=2)
    assert (desk / "table.csv").read_bytes() == before


def test_a_torn_row_is_an_error_for_predictions_follow_rows(run, desk, forest):
    (desk / "torn.csv").write_text("color,round,size\nred,no,1\nred\n")
    assert "Expected 3 columns" in run("predict", forest, desk / "torn.csv", code=2).stderr


def test_other_output_formats_are_refused(run, desk, forest):
    result = run("predict", forest, desk / "table.csv", "-o", desk / "out.xlsx", code=2)
    assert ".csv or .parquet" in result.stderr
