"""`frith rules`."""

import csv
import io
import json

import pytest

from frith import Forest


def test_the_table_shows_the_first_rules_and_says_how_many_there_are(run, forest):
    result = run("rules", forest)
    count = len(Forest.load(forest).rules())
    lines = result.stdout.splitlines()
    assert lines[0].split() == ["confidence", "support", "good", "rule"]
    assert sum("%" in line for line in lines) == 20
    assert f"{count:,} rules in all" in result.stderr


def test_filters_are_those_of_the_forest(run, forest):
    args = ("--min-confidence", 0.7, "--min-support", 5, "--label", "yes", "--attribute", "size",
            "--leaves", "--sort", "support", "--format", "json")  # fmt: skip
    said = json.loads(run("rules", forest, *args).stdout)
    expected = Forest.load(forest).rules(
        min_confidence=0.7, min_support=5, label="yes", attribute="size", leaves_only=True,
        sort="support",
    )  # fmt: skip
    assert len(expected) > 0
    assert said == json.loads(json.dumps(expected.to_json()))


def test_top_takes_the_first(run, forest):
    said = json.loads(run("rules", forest, "--top", 3, "--format", "json").stdout)
    assert [r["node"] for r in said["rules"]] == [r.node for r in Forest.load(forest).rules()[:3]]


def test_csv_and_markdown_hold_every_rule(run, forest):
    rules = Forest.load(forest).rules()
    rows = list(csv.DictReader(io.StringIO(run("rules", forest, "--format", "csv").stdout)))
    assert [row["rule"] for row in rows] == [rule.text for rule in rules]
    assert [float(row["support"]) for row in rows] == [rule.support for rule in rules]
    assert run("rules", forest, "--format", "markdown").stdout == rules.to_markdown()


def test_no_rule_left_is_said(run, forest):
    assert "no rule passes these filters" in run("rules", forest, "--min-support", 1e9).stdout


@pytest.mark.parametrize("wrong", [("--label", "maybe"), ("--attribute", "weight")])
def test_unknown_names_are_one_line(run, forest, wrong):
    result = run("rules", forest, *wrong, code=2)
    assert result.stderr.startswith("error: the forest has no ")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize("wrong", [("--min-confidence", 2), ("--top", 0), ("--format", "pdf")])
def test_wrong_options_are_usage_errors(run, forest, wrong):
    run("rules", forest, *wrong, code=2)


def test_help_says_that_it_costs_nothing(run):
    assert "Costs no budget" in run("rules", "--help").stdout


def test_a_missing_file_is_one_line(run, tmp_path):
    assert run("rules", tmp_path / "none.json", code=2).stderr.count("\n") == 1
