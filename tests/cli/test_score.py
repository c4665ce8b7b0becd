"""`frith score`."""

import json
import re
from fractions import Fraction

import pytest

from frith import ForestClassifier, Ledger
from frith.curator.label_score import LabelScore
from tests.tables import small_domain, small_table


@pytest.fixture
def files(tmp_path):
    domain, table = small_domain(), small_table(400)
    forest = ForestClassifier(domain, epsilon=5).fit(table, notices=False).forest_
    forest.save(tmp_path / "forest.json")
    table.to_csv(tmp_path / "records.csv", index=False)
    Ledger.create(tmp_path / "budget.db", epsilon=1)
    return tmp_path


def test_a_forest_is_scored_and_charged(files, run):
    where = [str(files / name) for name in ("forest.json", "records.csv")]
    paid = ["--ledger", str(files / "budget.db")]
    given = ["--epsilon", "0.6", "--by", "color", "--metric", "auc", "--metric", "accuracy"]
    said = run("score", *where, *given, *paid).stdout
    assert re.match(r"auc [01]\.\d", said)  # noise makes 1 of it in one score of 400
    assert "false alarms" in said
    assert Ledger(files / "budget.db").remaining == Fraction(2, 5)
    run("score", *where, "--epsilon", "0.6", *paid, code=3)
    shown = run("score", *where, "--epsilon", "0.4", "--json", *paid).stdout
    score = LabelScore.from_json(json.loads(shown))
    assert score.guarantee.epsilon == Fraction(2, 5)
    assert next(iter(score.values)) == "accuracy"
