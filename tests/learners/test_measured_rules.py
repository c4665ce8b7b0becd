"""Rules that were bought are facts: disjoint, counted, charged, and right as often as they say."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Categorical, Domain, Forest, ForestClassifier, Ledger
from frith.datasets import load
from frith.errors import BudgetExceeded, FormatError
from frith.forest.nodes import Nodes
from frith.growing.additive import bin_tree
from frith.growing.rule_tree import MAX_CONDITIONS, MAX_RULES, rule_tree
from frith.kernels.layout import Layout, mixed_cuts
from frith.privacy.guarantee import Guarantee
from tests.learners.conformance import LEARNERS
from tests.tables import small_domain, small_table

COLUMNS = ["color", "round", "size"]


def truth_of(rule, X, y):
    """The records of a rule and the share of its label, by pandas from what its JSON says."""
    inside = pd.Series(True, index=X.index)
    for condition in rule.to_json()["conditions"]:
        cells = X[condition["attribute"]]
        if "values" in condition:
            inside &= cells.isin(condition["values"])
        else:
            low = -np.inf if condition["at_least"] is None else condition["at_least"]
            high = np.inf if condition["below"] is None else condition["below"]
            number = condition["numbers"] & (cells >= low) & ((cells < high) | (high == np.inf))
            inside &= number | (cells.isna() & condition["missing"])
    labels = y[inside]
    return len(labels), float((labels == rule.label).mean()) if len(labels) else None


def test_they_cost_their_share_and_count_every_record_once():
    X, y, domain = load("tic_tac_toe")
    forest = ForestClassifier(domain, epsilon=1, rules_share="1/5").fit(X, y).forest_
    assert forest.guarantee.epsilon == 1
    last = forest.guarantee.asked[-1]
    assert (last.purpose, last.share, last.sensitivity) == ("labels of rules", Fraction(1, 5), 1)
    assert sum(q.share for q in forest.guarantee.asked) <= 1
    assert forest.measured.guarantee == forest.guarantee
    leaves = forest.measured.rules(leaves_only=True)
    covered = sum(Nodes(forest.measured).rule(n).covers(X) for n in forest.measured.trees.leaves)
    assert (covered == 1).all()
    assert 2 <= len(leaves) <= MAX_RULES
    assert max(len(rule.conditions) for rule in leaves) <= MAX_CONDITIONS


@pytest.mark.parametrize("name", ["tic_tac_toe", "car"])
def test_without_noise_they_are_the_truth(name):
    X, y, domain = load(name)
    forest = ForestClassifier(domain, epsilon="inf", rules_share=0.2).fit(X, y).forest_
    for rule in forest.measured.rules():
        records, share = truth_of(rule, X, y)
        assert rule.support == records
        assert share is None or rule.confidence == pytest.approx(share)


def test_by_default_none_is_asked_for():
    table = small_table(400)
    forest = ForestClassifier(small_domain(records=400)).fit(table[COLUMNS], table["good"]).forest_
    assert forest.measured is None
    assert "labels of rules" not in {q.purpose for q in forest.guarantee.asked}


@pytest.mark.parametrize("wrong", [1, -0.1, "0.99"])
def test_a_share_that_leaves_nothing_is_refused(wrong):
    table = small_table(400)
    learner = ForestClassifier(small_domain(records=400), rules_share=wrong)
    with pytest.raises(ValueError, match="rules_share"):
        learner.fit(table[COLUMNS], table["good"])


def test_later_they_add_their_epsilon(tmp_path):
    table, place = small_table(400), tmp_path / "ledger.db"
    Ledger.create(place, epsilon="3/2")
    model = ForestClassifier(small_domain(records=400), ledger=place)
    model.fit(table[COLUMNS], table["good"])
    before = model.predict_proba(table[COLUMNS])
    counted = model.measure_rules(table[COLUMNS], table["good"], epsilon="1/4")
    assert counted is model.forest_.measured
    assert model.forest_.guarantee.epsilon == Fraction(5, 4)
    assert Ledger(place).spent == Fraction(5, 4)
    assert np.array_equal(model.predict_proba(table[COLUMNS]), before)
    with pytest.raises(BudgetExceeded):
        model.measure_rules(table[COLUMNS], table["good"], epsilon=1)


def test_they_are_saved_with_the_forest(tmp_path):
    X, y, domain = load("tic_tac_toe")
    forest = ForestClassifier(domain, epsilon=1, rules_share=0.2).fit(X, y).forest_
    forest.save(tmp_path / "forest.json")
    again = Forest.load(tmp_path / "forest.json")
    assert again == forest
    assert str(again.measured.rules()) == str(forest.measured.rules())
    assert "rules counted beside it" in again.describe()


@pytest.mark.parametrize("name", ["tic_tac_toe", "nursery"])
def test_the_tree_of_rules_is_read_off_the_forest(name):
    """The same forest gives the same tree: no record is looked at."""
    X, y, domain = load(name)
    forest = ForestClassifier(domain, epsilon=1).fit(X, y).forest_
    assert rule_tree(forest) == rule_tree(Forest.from_json(forest.to_json()))


def test_a_split_into_more_values_than_rules_takes_no_memory():
    domain = Domain([Categorical("x", tuple(range(3_000)))], Categorical("y", ("a", "b")))
    trees, _ = bin_tree(Layout(domain, mixed_cuts(domain)), 0)
    values = np.arange(2.0 * trees.n_nodes).reshape(-1, 2)
    forest = Forest(
        domain, trees, values, Guarantee(Fraction(1)), np.zeros(trees.n_nodes), "product"
    )
    tracemalloc.start()
    assert rule_tree(forest).n_nodes == 1
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22


@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS.keys())
def test_intervals_hold_the_table_s_own_values(make):
    """All at once in 95 of 100 forests: that fewer than 2 of 8 hold has a chance under 1e-8.

    No more are fitted once 2 have held.
    """
    X, y, domain = load("tic_tac_toe")
    held = 0
    for _ in range(8):
        learner = make(domain, epsilon=2, random_state=None)
        if isinstance(learner, ForestClassifier):
            learner.set_params(rules_share=0.3)
        forest = learner.fit(X, y).forest_
        rules = (forest.measured or forest).rules()
        held += all(holds(rule, X, y) for rule in [*rules[:10], *rules[10::40]])
        if held == 2:
            break
    assert held == 2


def holds(rule, X, y):
    records, share = truth_of(rule, X, y)
    within = share is None or rule.confidence_low <= share <= rule.confidence_high
    return within and abs(rule.support - records) <= rule.support_margin


def test_a_file_with_rules_of_rules_without_end_is_refused():
    X, y, domain = load("tic_tac_toe")
    document = ForestClassifier(domain, epsilon=1, rules_share="1/5").fit(X, y).forest_.to_json()
    nested = document["measured"]
    for _ in range(3_000):
        nested = document["measured"] | {"measured": nested}
    with pytest.raises(FormatError, match="no rules measured beside them"):
        Forest.from_json(document | {"measured": nested})
