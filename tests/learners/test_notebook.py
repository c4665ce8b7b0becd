"""What a notebook shows: short texts, escaped HTML, no warnings, and nothing that was not released."""

import re
import sys
import types
import warnings
from html.parser import HTMLParser

import pytest
from sklearn.pipeline import make_pipeline

from frith import Categorical, Domain, ForestClassifier, ForestRegressor, Ledger, Numeric, check
from frith.datasets import load
from frith.forest import Forest
from frith.learners import BY_NAME
from tests.tables import small_domain, small_table

HOSTILE = "<script>alert(1)</script>"


class Balanced(HTMLParser):
    """Fails on tags that are not closed, or closed in the wrong order."""

    def __init__(self, text):
        super().__init__()
        self.opened, self.seen = [], set()
        self.feed(text)
        assert self.opened == []

    def handle_starttag(self, tag, attrs):
        self.opened.append(tag)
        self.seen.add(tag)

    def handle_endtag(self, tag):
        assert self.opened.pop() == tag


@pytest.fixture(autouse=True)
def _no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    place = tmp_path_factory.mktemp("ledger") / "budget.db"
    Ledger.create(place, epsilon=4)
    table = small_table()
    model = ForestClassifier(small_domain(), epsilon=2, rules_share=0.2, ledger=place)
    return model.fit(table.drop(columns="good"), table["good"]), Ledger(place)


@pytest.mark.parametrize("kind", BY_NAME.values(), ids=BY_NAME)
def test_estimators_are_short_and_shown_without_a_warning(kind):
    domain = load("tic_tac_toe")[2]
    model = kind(domain, epsilon=0.25)
    assert len(repr(model)) < 200
    shown = model._repr_mimebundle_()
    assert set(shown) == {"text/plain", "text/html"}
    assert "not fitted" in shown["text/html"]
    assert "a fit costs epsilon 0.25" in shown["text/html"]
    Balanced(shown["text/html"])


def test_a_fitted_estimator_shows_what_it_promises_and_its_receipt(fitted):
    model, _ = fitted
    html = model._repr_html_()
    for said in (
        "fitted",
        "epsilon 2",
        "one record added or removed",
        "e^2",
        "receipt",
        "Where the",
    ):
        assert said in html
    assert "not fitted" not in html
    Balanced(html)


def test_an_estimator_without_a_price_says_so():
    assert "no guarantee" in ForestClassifier(epsilon=float("inf"))._repr_html_()
    assert "not legal" in ForestClassifier(epsilon=-1)._repr_html_()
    assert "all parameters are the defaults" in ForestClassifier()._repr_html_()


def test_a_pipeline_is_drawn_without_a_warning(fitted):
    for step in (fitted[0], ForestRegressor(small_domain())):
        drawn = make_pipeline(step)._repr_mimebundle_()["text/html"]
        assert type(step).__name__ in drawn


def test_the_parts_of_a_forest_are_shown(fitted):
    forest = fitted[0].forest_
    for part, said in (
        (forest, "attributes used"),
        (forest.guarantee, "times as likely"),
        (forest.rules(), "opinion"),
        (forest.measured.rules(), "95%"),
        (forest.effects(), "<svg"),
    ):
        assert len(repr(part)) < 200
        assert said in part._repr_html_()
        Balanced(part._repr_html_())
    assert isinstance(Forest.from_json(forest.to_json())._repr_html_(), str)


def test_a_ledger_shows_what_is_left_and_its_entries(fitted):
    _, ledger = fitted
    assert "table" in repr(ledger)
    html = ledger._repr_html_()
    for said in ("budget: epsilon 4", "left: epsilon 2", "fit ForestClassifier", "charge"):
        assert said in html
    Balanced(html)


def test_what_is_read_off_the_records_says_that_saving_it_publishes_it():
    domain = Domain([Numeric("size", 0, 1)], Categorical("good", ("yes", "no")))
    report = check(small_table(), domain)
    assert "200" not in repr(report)
    for shown in (report._repr_html_(), str(report)):
        assert "Saved output is a publication" in shown
        assert "clamped" in shown
    Balanced(report._repr_html_())


def test_names_are_escaped_wherever_they_are_shown():
    table = small_table().rename(columns={"color": HOSTILE, "good": "<b>"})
    hostile = Domain(
        [Categorical(HOSTILE, ("red", "green", "blue", HOSTILE))],
        Categorical("<b>", ("yes", "no", "<i>")),
        records=200,
    )
    model = ForestClassifier(hostile, epsilon=50, rules_share=0.2).fit(
        table[[HOSTILE]], table["<b>"]
    )
    forest = model.forest_
    for part in (model, forest, forest.guarantee, forest.rules(), forest.effects(), hostile):
        assert {"script", "b>", "i"}.isdisjoint(Balanced(part._repr_html_()).seen)


# -- progress ------------------------------------------------------------------------------------


def test_progress_is_told_to_a_function_and_in_a_log(capsys):
    table, heard = small_table(), []
    ForestClassifier(small_domain(), epsilon=1).fit(table, progress=heard.append)
    assert heard
    capsys.readouterr()
    model = ForestClassifier(small_domain(), epsilon=1).fit(table, progress=True)
    assert re.search(r"^training, pass 1: \S", capsys.readouterr().err, re.MULTILINE)
    assert "_progress" not in vars(model)
    ForestClassifier(small_domain(), epsilon=1).fit(table)
    assert capsys.readouterr().err == ""


def test_progress_in_a_notebook_is_one_line_that_changes(monkeypatch, capsys):
    """With what IPython offers, as far as it is used; the gallery runs in a kernel."""
    shown = []

    class Line:
        def update(self, data, raw):
            shown.append(data["text/plain"])

    module = types.ModuleType("IPython")
    module.get_ipython = lambda: types.SimpleNamespace(kernel=object())
    module.display = types.ModuleType("IPython.display")
    module.display.display = lambda data, raw, display_id: Line()
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", module.display)
    ForestClassifier(small_domain(), epsilon=1).fit(small_table(), progress=True)
    assert shown[0].startswith("training, pass 1: ")
    assert capsys.readouterr() == ("", "")
