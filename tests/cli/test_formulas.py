"""Every CSV file that frith writes is text to a spreadsheet, however values and purposes are spelled."""

import csv
import io

import pandas as pd
import pytest

from frith import Categorical, Domain, ForestClassifier, RandomDecisionForestClassifier
from frith.ledger import Ledger
from frith.privacy import Budget
from frith.privacy.neighbors import RECORD

EVIL = "=HYPERLINK(1)"
WORDS = (EVIL, "+x", "-x", "@x", "\tx", "\rx", "a\r=x")


def cells(text):
    return [cell for row in csv.reader(io.StringIO(text, newline="")) for cell in row]


@pytest.fixture
def evil(tmp_path):
    """A forest whose attribute and labels are formulas, and records for it."""
    domain = Domain([Categorical("@a", ("-1", "b"))], Categorical(EVIL, (*WORDS, "-1.5")))
    table = pd.DataFrame({"@a": ["-1", "b"] * 8, EVIL: [*WORDS, "-1.5"] * 2})
    model = RandomDecisionForestClassifier(domain, epsilon=100, n_trees=2, random_state=0)
    model.fit(table[["@a"]], table[EVIL]).forest_.save(tmp_path / "forest.json")
    table.to_parquet(tmp_path / "table.parquet")
    return tmp_path


def is_plain(cell):
    """Whether a spreadsheet shows this cell as it is."""
    return not cell.startswith(("=", "+", "-", "@", "\t", "\r")) or cell.lstrip("+-")[0].isdigit()


def test_rules_and_predictions_hold_no_formula(run, evil):
    for args in (
        ("rules", evil / "forest.json", "--format", "csv"),
        ("predict", evil / "forest.json", evil / "table.parquet"),
    ):
        found = cells(run(*args).stdout)
        assert any(cell.startswith("'") for cell in found)
        assert all(map(is_plain, found))


def test_effects_hold_no_formula(run, tmp_path):
    domain = Domain([Categorical("@a", ("=1", "b"))], Categorical("y", ("+x", "-x")), records=5_000)
    table = pd.DataFrame({"@a": ["=1", "b"] * 2_500, "y": ["+x", "-x"] * 2_500})
    model = ForestClassifier(domain, epsilon=100).fit(table[["@a"]], table["y"])
    model.forest_.save(tmp_path / "forest.json")
    found = cells(run("effects", tmp_path / "forest.json", "--format", "csv").stdout)
    assert {"'@a", "'=1"} <= set(found)
    assert all(map(is_plain, found))


def test_a_ledgers_export_holds_no_formula_and_its_amounts_stay_numbers(run, tmp_path):
    place = tmp_path / "ledger.db"
    ledger = Ledger.create(place, epsilon=1)
    for purpose in WORDS:
        ledger.charge(Budget.of("1/8"), purpose, RECORD)
    found = cells(run("ledger", "export", place).stdout)
    assert {"'=HYPERLINK(1)", "'+x", "'-x", "'@x", "'\tx", "' x", "a =x"} <= set(found)
    assert "0.125" in found
    assert all(map(is_plain, found))
