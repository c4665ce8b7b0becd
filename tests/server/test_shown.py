"""Nothing is shown of a boosted forest that was not measured: every page and every export of it."""

import json
import re

import pytest

from frith import Forest
from frith.forest.report import make_report
from tests.server.test_pages import analyst, job_of  # noqa: F401

# A share of records, or a number of them: "61% of", "61% ± 1", "61% [", "771 ± 182", "support 12".
CLAIMS = re.compile(
    r"\d+% (?:±|\[|of [\d-])|\d ± \d|\b(?:support|confidence)\b[^.<]{0,12}\d|\bsupport\b|\bconfidence\b"
)
# Importances; the price of rules; effects, which have a sign and are called an opinion.
ALLOWED = re.compile(r"\d+% ± \d+%|are known to about ± \d+|[+-]\d+\.\d\d ± \d+\.\d\d")


def claims(text):
    return CLAIMS.findall(ALLOWED.sub("", text))


def test_the_search_finds_what_it_should(house, analyst):  # noqa: F811
    counted = analyst.train(house)  # a random-decision forest
    page = analyst.get(f"/forests/{counted}").text
    assert len(claims(page)) > 5
    assert claims(analyst.get(f"/forests/{counted}/rules.csv").text)


@pytest.fixture
def boosted(house, analyst):  # noqa: F811
    return analyst.train(house, learner="forest", epsilon="2")


def test_no_page_or_export_of_a_boosted_forest_states_a_share_or_a_support(
    house,
    analyst,  # noqa: F811
    boosted,
    tmp_path,
):
    said = {}
    n_trees = Forest.from_json(analyst.get(f"/forests/{boosted}/forest.json").json()).trees.n_trees
    for path in ("", "?tree=0", "?label=1", "?rules=1000", "/rules.csv", "/picture.svg",
                 "/effects.svg", "/effects.csv", "/report.html", "/certificate.html", "/card.md",
                 *(f"/picture.svg?tree={t}" for t in range(n_trees))):  # fmt: skip
        said[path] = analyst.get(f"/forests/{boosted}{path}").text
    for part in ("rules?top=1000", "importances", "effects", "picture.svg"):
        said[part] = house.analyst.get(f"/v1/forests/{boosted}/{part}").text
    forest = Forest.from_json(analyst.get(f"/forests/{boosted}/forest.json").json())
    assert forest.kind == "scores"
    said |= {
        "report": make_report(forest),
        "describe": forest.describe(),
        "text": forest.export_text(),
        "rules": "\n".join(map(str, forest.rules())),
        "markdown": forest.rules().to_markdown(),
        "frame": forest.rules().to_frame().to_csv(),
        "onnx": str(forest.to_onnx().metadata_props) + forest.to_onnx().doc_string,
    }
    assert {where: claims(text) for where, text in said.items() if claims(text)} == {}
    assert all("odds" in said[where] for where in ("", "report", "text", "rules", "rules?top=1000"))


def test_its_file_holds_scores_and_no_number_of_records(analyst, boosted):  # noqa: F811
    data = analyst.get(f"/forests/{boosted}/forest.json").json()
    assert data["kind"] == "scores"
    assert all(abs(sum(row)) < 1e-9 for row in data["values"])
    assert not {"counts", "support", "confidence"} & set(re.findall(r'"(\w+)":', json.dumps(data)))


def test_bought_rules_are_shown_and_marked_as_counted(house, analyst):  # noqa: F811
    bought = analyst.train(house, learner="forest", epsilon="2", **{"forest-rules_share": "0.3"})
    page = analyst.get(f"/forests/{bought}").text
    assert "Rules that were counted" in page
    assert "Counted in the table." in page
    first = analyst.get(f"/forests/{bought}/rules.csv").text.splitlines()[0]
    assert "confidence_low" in first
    api = house.analyst.get(f"/v1/forests/{bought}/rules").json()
    assert api["kind"] == "counts"
    assert all(rule["confidence_low"] <= rule["confidence_high"] for rule in api["rules"])


def test_rules_are_bought_on_the_forests_page(house, analyst):  # noqa: F811
    forest = analyst.train(house, learner="forest", epsilon="2")
    assert "Count a few rules" in analyst.get(f"/forests/{forest}").text
    counted = job_of(analyst.post(f"/forests/{forest}/rules", epsilon="1"))
    house.work()
    page = analyst.get(f"/forests/{counted}").text
    assert "Counted in the table." in page
    assert "Count a few rules" not in page
    assert house.spent(house.own)[0] == 3
