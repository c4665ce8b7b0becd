"""`frith check`: exact counts for the curator, and nothing missed."""

import json
from dataclasses import replace

import pandas as pd
import pytest

from frith import Categorical, Domain, Numeric, Person


@pytest.fixture
def messy(tmp_path):
    """A domain, and a table with one of everything outside it."""
    attributes = [
        Categorical("color", ("red", "other"), other="other"),
        Categorical("round", ("no", "yes", "unknown"), missing="unknown"),
        Numeric("size", 0, 10),
    ]
    label = Categorical("good", ("no", "yes"))
    Domain(attributes, label, person=Person("who", 2)).save(tmp_path / "domain.toml")
    table = pd.DataFrame({
        "color": ["red", "teal", "teal", "pink", None, "red"],
        "round": ["no", "yes", None, "maybe", "no", "no"],
        "size": [1.0, -3.0, 12.5, None, 10.0, 0.0],
        "good": ["no", "yes", "perhaps", None, "no", "yes"],
        "who": ["a", "b", None, "", "c", "d"],
        "extra": [1, 2, 3, 4, 5, 6],
    })  # fmt: skip
    table.to_parquet(tmp_path / "table.parquet")
    table.to_feather(tmp_path / "table.feather")
    table.to_csv(tmp_path / "table.csv", index=False)
    table.astype({"color": "category", "size": str}).to_parquet(tmp_path / "coded.parquet")
    return tmp_path


def columns_of(report):
    return {c["column"]: c for c in report["columns"]}


@pytest.mark.parametrize("name", ["table.parquet", "table.feather", "table.csv"])
def test_everything_outside_is_counted(run, messy, name):
    result = run("check", messy / name, "--domain", messy / "domain.toml", "--json", code=1)
    report = json.loads(result.stdout)
    columns = columns_of(report)
    assert report["outside"] is True
    assert (report["rows"], report["malformed_rows"]) == (6, 0)
    assert (columns["color"]["missing"], columns["color"]["outside"]) == (1, 3)
    assert columns["color"]["examples"] == ["teal", "pink"]
    assert (columns["round"]["missing"], columns["round"]["outside"]) == (1, 1)
    assert columns["round"]["missing_is_declared"] is True
    assert (columns["size"]["missing"], columns["size"]["clamped"]) == (1, 2)
    assert columns["size"]["examples"] == [-3.0, 12.5]
    assert (columns["good"]["missing"], columns["good"]["outside"]) == (1, 1)
    assert columns["who"]["missing"] == 2
    assert "extra" not in columns


def test_dictionaries_and_numbers_as_text_are_read_as_in_training(run, messy):
    args = ("check", messy / "coded.parquet", "--domain", messy / "domain.toml", "--json")
    columns = columns_of(json.loads(run(*args, code=1).stdout))
    assert (columns["color"]["missing"], columns["color"]["outside"]) == (1, 3)
    assert columns["size"]["clamped"] == 2


def test_the_report_is_readable_and_says_it_is_private(run, messy):
    result = run("check", messy / "table.csv", "--domain", messy / "domain.toml", code=1)
    words = " ".join(result.stdout.split())
    for part in ("teal", "counts as 'other'", "clamped to 0 .. 10", "good (label)"):
        assert part in words
    assert "for the curator alone" in result.stderr


@pytest.mark.parametrize("name", ["table.parquet", "table.feather", "table.csv"])
def test_a_table_inside_its_domain_exits_with_0(run, desk, name):
    result = run("check", desk / name, "--domain", desk / "domain.toml")
    assert "nothing lies outside" in result.stdout
    report = run("check", desk / name, "--domain", desk / "domain.toml", "--json").stdout
    assert json.loads(report)["outside"] is False


def test_declared_missing_values_are_told_but_are_not_outside(run, desk):
    (desk / "gaps.csv").write_text("color,round,size,good\nred,,,yes\n")
    args = ("check", desk / "gaps.csv", "--domain", desk / "domain.toml", "--json")
    columns = columns_of(json.loads(run(*args).stdout))
    assert (columns["round"]["missing"], columns["size"]["missing"]) == (1, 1)


def test_rows_of_the_wrong_length_are_counted_once(run, desk):
    (desk / "torn.csv").write_text("color,round,size,good\nred,no,1,yes\nred,no\nred,no,1,yes,1\n")
    result = run("check", desk / "torn.csv", "--domain", desk / "domain.toml", "--json", code=1)
    report = json.loads(result.stdout)
    assert (report["rows"], report["malformed_rows"]) == (1, 2)


def test_infinities_are_clamped_and_the_report_stays_json(run, desk):
    (desk / "far.csv").write_text("color,round,size,good\nred,no,inf,yes\nred,no,big,yes\n")
    result = run("check", desk / "far.csv", "--domain", desk / "domain.toml", "--json", code=1)
    size = columns_of(json.loads(result.stdout))["size"]
    assert (size["clamped"], size["outside"]) == (1, 1)
    assert size["examples"] == ["inf", "big"]


def test_a_folder_of_files_is_one_table(run, desk):
    (desk / "parts").mkdir()
    table = pd.read_parquet(desk / "table.parquet")
    table[:150].to_parquet(desk / "parts" / "a.parquet")
    table[150:].to_parquet(desk / "parts" / "b.parquet")
    result = run("check", desk / "parts", "--domain", desk / "domain.toml", "--json")
    assert json.loads(result.stdout)["rows"] == 400


def test_a_missing_column_is_an_error(run, desk):
    (desk / "narrow.csv").write_text("color,good\nred,yes\n")
    result = run("check", desk / "narrow.csv", "--domain", desk / "domain.toml", code=2)
    assert "has no column 'round'" in result.stderr


def test_a_column_of_millions_of_strangers_is_tallied_within_bounds():
    from frith.domain.check import _TALLIED, Finding

    finding = Finding("name", "attribute", "", "")
    for start in range(0, 10 * _TALLIED, _TALLIED):
        finding.add_values(range(start, start + _TALLIED))
    assert finding.outside == 10 * _TALLIED
    assert len(finding.tally) == _TALLIED


def test_a_notice_is_told_where_nothing_lies_outside(run, desk):
    domain = Domain.load(desk / "domain.toml")
    replace(domain, records=4_000).save(desk / "many.toml")
    result = run("check", desk / "table.csv", "--domain", desk / "many.toml")
    assert "far fewer records than records = 4,000" in " ".join(result.stdout.split())
