"""A report is one page that needs nothing else, and says what is private about itself."""

import itertools
import re

import numpy as np
import pytest

from frith import Categorical, Domain, Numeric, RandomDecisionForestClassifier
from frith._markup import tag
from frith.forest.nodes import Rule
from frith.forest.report import make_report, write_report
from frith.forest.report.charts import bars
from frith.forest.report.trial import try_forest
from frith.learners import BY_NAME
from tests.tables import small_domain, small_table

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def records():
    return small_table(300)


def fitted(records, learner="random-decision", epsilon=1):
    return BY_NAME[learner](small_domain(), epsilon=epsilon).fit(records).forest_


@pytest.mark.parametrize("learner", list(BY_NAME))
def test_every_learner_has_a_report(records, learner):
    page = make_report(fitted(records, learner))
    for words in (
        "What it promises",
        "Where the budget went",
        "The clearest first",
        "Trees",
        "e^1 (about 2.72)",
    ):
        assert words in page


def test_nothing_is_loaded_from_elsewhere_and_nothing_runs(records):
    page = make_report(fitted(records), records)
    assert not re.search(r"<script|<link|@import|\bsrc=|url\(", page)
    without_names = re.sub(r'xmlns(:\w+)?="[^"]*"', "", page)
    assert "http" not in without_names


def test_without_data_a_report_reads_releases_only(records):
    forest = fitted(records)
    assert make_report(forest) == make_report(type(forest).from_json(forest.to_json()))
    assert "as private as the records" not in make_report(forest)


def test_with_data_it_says_how_private_it_is(records):
    page = make_report(fitted(records), records)
    assert "as private as the records" in page
    assert "On your records" in page


def test_numbers_on_data_are_those_of_the_forest(records):
    forest, table = fitted(records), records
    trial = try_forest(forest, table)
    right = forest.predict(table) == table[small_domain().label.name].to_numpy()
    assert trial.accuracy == pytest.approx(np.mean(right))
    assert trial.records == len(table)
    assert sum(b.records for b in trial.bins) == len(table)


def test_records_without_a_known_label_are_left_out_and_counted(records):
    table = records.copy()
    table.loc[table.index[:7], small_domain().label.name] = "never heard of"
    assert try_forest(fitted(records), table).unknown == 7


def test_no_records_at_all_are_no_problem(records):
    trial = try_forest(fitted(records), records.iloc[:0])
    assert (trial.records, trial.accuracy) == (0, 0)


def test_names_are_escaped():
    domain = Domain(
        [Categorical(HOSTILE, ("a", HOSTILE)), Numeric("n", 0, 1)], Categorical("<b>", ("x", "y")),
        records=10,
    )  # fmt: skip
    model = RandomDecisionForestClassifier(domain, epsilon=1).fit([["a", 0.5]] * 10, ["x"] * 10)
    page = make_report(model.forest_)
    assert "<script" not in page
    assert "<b>" not in page


def test_a_forest_without_a_guarantee_says_so(records):
    assert "No guarantee" in make_report(fitted(records, epsilon="inf"))


def test_markup_escapes_text_and_attributes():
    assert tag("p", "<", title='"') == '<p title="&quot;">&lt;</p>'


def test_it_is_written_to_a_file(records, tmp_path):
    write_report(fitted(records), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text().startswith("<!doctype html>")


def test_scores_are_called_an_opinion_and_counts_are_not(records):
    scored, counted = fitted(records, "forest"), fitted(records)
    assert "opinion, not counted" in make_report(scored)
    assert "opinion" not in make_report(counted)
    assert "Counted in the table" in make_report(counted)


def test_rules_that_move_no_odds_are_left_out(records, monkeypatch):
    forest = fitted(records, "forest", epsilon=100)
    said = itertools.cycle(["× 2", "× 1"])
    monkeypatch.setattr(Rule, "cells", property(lambda _: (next(said), "noise")))
    assert ">× 1<" not in make_report(forest)
    monkeypatch.setattr(Rule, "cells", ("× 1", "noise"))
    assert make_report(forest).count(">× 1<") == 1


def test_bars_are_as_long_as_their_shares():
    page = bars([("a", 0.25, 0.5), ("b", 0.0, 0.0)])
    assert '<rect x="0.00%" width="25.00%" height="100%" class="spent">' in page
    assert '<line x1="0.00%" y1="50%" x2="75.00%" y2="50%" class="error">' in page
    assert page.count("<line") == 1
