"""Report, certificate and model card say where a forest comes from, what it cost, and what to rely on."""

import json
import re
from dataclasses import replace

import pytest

from frith import Categorical, Domain, Forest, ForestClassifier, Ledger
from frith._version import __version__
from frith.errors import FormatError
from frith.forest.origin import Origin
from frith.forest.report import make_card, make_certificate, make_report
from frith.forest.report.facts import fingerprint, recipe
from frith.learners import BY_NAME
from frith.parties import join
from tests.tables import person_domain, small_domain, small_table

PAPERS = {"report": make_report, "certificate": make_certificate, "card": make_card}
every_paper = pytest.mark.parametrize("make", PAPERS.values(), ids=PAPERS)


def words(text):
    """A page or a card as it is read."""
    return " ".join(re.sub(r"<style>.*?</style>|<[^>]+>|\\", " ", text, flags=re.DOTALL).split())


def fitted(learner="forest", **kwargs):
    return BY_NAME[learner](small_domain(records=300), **kwargs).fit(small_table(300))


# -- origin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("learner", list(BY_NAME))
def test_a_saved_forest_says_where_it_comes_from(learner, tmp_path):
    model = fitted(learner, epsilon=1, n_jobs=1)
    model.forest_.save(tmp_path / "forest.json")
    origin = Forest.load(tmp_path / "forest.json").origin
    assert origin == model.forest_.origin
    assert (origin.learner, origin.version) == (type(model).__name__, __version__)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", origin.date)
    assert not {"domain", "epsilon", "delta", "ledger", "n_jobs"} & origin.parameters.keys()
    assert {*origin.parameters} < {*model.get_params()}


def test_forests_are_equal_wherever_they_come_from():
    forest = fitted(epsilon=1).forest_
    other = replace(forest, origin=Origin("Nobody"))
    assert forest == other
    assert fingerprint(forest) == fingerprint(other)
    assert fingerprint(forest) != fingerprint(replace(forest, values=forest.values + 1))
    assert Forest.from_json(replace(forest, origin=None).to_json()).origin is None


@pytest.mark.parametrize(
    "change",
    [
        {"learner": 1}, {"date": None}, {"parameters": []}, {"parameters": {"a": []}}, {"more": 1},
        {"receipts": [{"id": 1}]}, {"receipts": "none"}, {"receipts": None},
    ],
    ids=str,
)  # fmt: skip
def test_an_origin_from_outside_is_read_strictly(change):
    document = json.loads(json.dumps(fitted(epsilon=1).forest_.to_json()))
    document["origin"] |= change
    with pytest.raises(FormatError, match="origin|receipt"):
        Forest.from_json(document)


def test_numbers_that_no_forest_has_are_refused():
    document = json.loads(json.dumps(fitted(epsilon=1).forest_.to_json()))
    wide = {"values": 1e150, "variance": 1e300}
    for name, number in wide.items():
        for odd in (number, float("inf"), float("nan")):
            changed = json.loads(json.dumps(document))
            nodes = changed[name]
            nodes[0] = [odd] * len(nodes[0]) if name == "values" else odd
            with pytest.raises(FormatError, match="values|variances"):
                Forest.from_json(changed)
            nodes[0] = [number / 10] * len(nodes[0]) if name == "values" else number / 10
            assert Forest.from_json(changed).export_text()
    with pytest.raises(FormatError, match="candidates"):
        Forest.from_json(document | {"candidates": 10**400})


# -- what papers say -------------------------------------------------------------------------------


@every_paper
@pytest.mark.parametrize("learner", list(BY_NAME))
def test_every_paper_of_every_learner_says_how_it_was_made(make, learner):
    forest = fitted(learner, epsilon="1/3").forest_
    said = words(make(forest))
    for fact in (forest.origin.learner, forest.origin.date, __version__, fingerprint(forest),
                 "epsilon 1/3", *map(words, forest.guarantee.assumptions)):  # fmt: skip
        assert fact in said
    assert forest.domain.fingerprint in said
    for name, value in forest.origin.parameters.items():
        assert name in said, (name, value)


@every_paper
def test_a_paper_reads_releases_only(make):
    forest = fitted(epsilon=3).forest_
    assert make(forest) == make(Forest.from_json(forest.to_json()))


@every_paper
def test_a_forest_of_unknown_origin_has_its_papers(make):
    said = words(make(replace(fitted(epsilon=1).forest_, origin=None)))
    assert "not recorded" in said
    assert "Make another" not in said


@every_paper
def test_papers_name_the_account_that_paid_and_its_receipt(make, tmp_path):
    path = tmp_path / "ledger.db"
    Ledger.create(path, epsilon=5)
    model = ForestClassifier(small_domain(records=300), epsilon=1, ledger=path)
    model.fit(small_table(300))
    said = words(make(model.forest_))
    assert model.receipt_.hash in said
    assert model.receipt_.account in said
    assert f"entry {model.receipt_.id}" in said
    assert str(tmp_path) not in said


def test_rules_that_are_counted_later_add_a_receipt(tmp_path):
    path, table = tmp_path / "ledger.db", small_table(300)
    Ledger.create(path, epsilon=5)
    model = ForestClassifier(small_domain(records=300), epsilon=1, ledger=path).fit(table)
    model.measure_rules(table, epsilon="1/2")
    hashes = [entry.hash for entry in Ledger(path).entries()]
    assert [r["hash"] for r in model.forest_.origin.receipts] == hashes
    assert len(hashes) == 2
    said = words(make_certificate(model.forest_))
    assert all(h in said for h in hashes)
    assert "epsilon 1.5" in said


@every_paper
def test_papers_of_several_parties_say_who_spent_what(make):
    table, domain = small_table(300), small_domain(records=300)
    parts = {"north": ["color"], "south": ["size"]}
    forest = join({
        party: ForestClassifier(domain.view(names), epsilon=2).fit(table[[*names, "good"]]).forest_
        for party, names in parts.items()
    })  # fmt: skip
    said = words(make(forest))
    for party in parts:
        assert re.search(rf"{party}\W+epsilon 2\b|{party}: epsilon=2", said)
    assert "epsilon 4" in said


def test_a_certificate_bounds_what_anybody_can_learn():
    assert "at most 73.2% sure" in words(make_certificate(fitted(epsilon=1).forest_))
    approximate = fitted(epsilon=1, delta="1e-6").forest_
    if approximate.guarantee.delta:
        assert "% sure" not in words(make_certificate(approximate))
    person = ForestClassifier(person_domain(records=300), epsilon=1).fit(small_table(300))
    assert "all records of one person" in words(make_certificate(person.forest_))


def test_without_a_guarantee_there_is_no_certificate():
    said = words(make_certificate(fitted(epsilon="inf").forest_))
    assert "No certificate" in said
    assert "Certificate of a private release" not in said


def test_a_recipe_runs_as_it_stands(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    model = fitted("random-decision", epsilon="1/2", n_trees=3, random_state=0)
    small_domain(records=300).save(tmp_path / "domain.toml")
    small_table(300).to_parquet(tmp_path / "table.parquet")
    names = {}
    exec(recipe(model.forest_), names)
    again = names["model"]
    assert again.forest_.trees == model.forest_.trees
    assert again.get_params()["n_trees"] == 3


@pytest.mark.parametrize("make", [make_report, make_card])
def test_accuracy_says_on_which_records(make):
    table = small_table(120, seed=1)
    assert "On 120 records that were given for this test" in words(
        make(fitted(epsilon=1).forest_, table)
    )
    assert "accurate" not in make(fitted(epsilon=1).forest_)


def test_names_in_a_card_are_no_markup():
    nasty = "a|b <script> `x` [y](z) *"
    domain = Domain([Categorical(nasty, ("p\n# q", "|"))], Categorical("l", (0, 1)), records=9)
    card = make_card(ForestClassifier(domain, epsilon=1).fit([["|"]] * 9, [1] * 9).forest_)
    assert "\\<script\\>" in card
    assert not re.search(r"(?<!\\)<script", card)
    assert all(
        line.startswith(("#", "|", "-", "*", "`")) or "|" not in line for line in card.splitlines()
    )
    assert "\n# q" not in card


def test_every_paper_has_effects_of_scores_and_of_nothing_else():
    scores, counts = (fitted(name, epsilon=1).forest_ for name in ("forest", "gini"))
    assert "Effects" in words(make_report(scores))
    assert "Effects" in make_card(scores)
    assert "Effects" not in words(make_report(counts))
    assert "Effects" not in make_card(counts)
