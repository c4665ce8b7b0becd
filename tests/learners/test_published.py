"""The papers' own forms: they warn, carry no guarantee, and are what the papers say."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from frith import (
    Budget,
    C45Classifier,
    Forest,
    GiniForestClassifier,
    RandomDecisionForestClassifier,
    SignalForestClassifier,
    open_table,
)
from frith.audit.replay import FrozenSource, arbitrary_releases
from frith.learners.published.curator import PublishedCurator
from tests.tables import small_domain, small_table

LEARNERS = [
    RandomDecisionForestClassifier,
    SignalForestClassifier,
    GiniForestClassifier,
    C45Classifier,
]


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_published_form_warns_and_carries_no_guarantee(learner, tmp_path):
    table = small_table()
    with pytest.warns(UserWarning, match="does not keep its claim"):
        model = learner(small_domain(), epsilon=1, as_published=True).fit(table)
    assert not model.forest_.guarantee.holds
    assert "as published" in str(model.forest_.guarantee)
    model.forest_.save(tmp_path / "forest.json")
    assert not Forest.load(tmp_path / "forest.json").guarantee.holds


@pytest.mark.parametrize("learner", LEARNERS)
def test_a_ledger_sells_no_published_form(learner, tmp_path):
    """It has no finite price, however small its epsilon is."""
    ledger = tmp_path / "ledger.db"
    model = learner(small_domain(), epsilon=1, as_published=True, ledger=ledger)
    with pytest.raises(ValueError, match="no price"):
        model.fit(small_table())
    with pytest.raises(ValueError, match="no delta"):
        learner(small_domain(), epsilon=1, delta=1e-6, as_published=True).fit(small_table())
    assert not ledger.exists()


def curator(table, epsilon=1):
    source = FrozenSource(arbitrary_releases(0))
    return PublishedCurator(open_table(table, small_domain()), Budget.of(epsilon), source=source)


def exchanges(learner, table):
    used = curator(table)
    learner.learn(used)
    return used._source.exchanges


def test_dpdf_asks_two_levels_more_than_it_pays_for():
    """2 levels of nodes pay for 2 x 2 - 1 questions and ask 2 x 2 + 1."""
    learner = GiniForestClassifier(max_depth=1, min_support=0, as_published=True)
    asked = exchanges(learner, small_table())
    counted = [e for e in asked if hasattr(e.mechanism, "sensitivity")]
    assert len(counted) == 3
    assert {e.mechanism.scale for e in counted} == {3.0}


def test_dpdf_divides_by_a_sensitivity_at_the_noisy_size():
    """A true node of 1 record and a noisy size of 100: the choice leaks 12.7 times its epsilon."""
    noisy = 100
    sensitivity = 1 - (noisy / (noisy + 1)) ** 2 - (1 / (noisy + 1)) ** 2
    # one record of label 0; a second of label 1 in its cell under candidate a, alone under b
    before, after = {"a": 0.0, "b": 0.0}, {"a": -0.5, "b": 0.0}

    def chance(utility):
        weights = {k: np.exp(u / (2 * sensitivity)) for k, u in utility.items()}
        return weights["a"] / sum(weights.values())

    loss = np.log(chance(before) / chance(after))
    assert loss == pytest.approx(12.06, abs=0.1)


def test_c45_counts_a_record_once_for_every_attribute_and_pays_for_one():
    table = small_table()
    learner = C45Classifier(max_depth=1, as_published=True)
    full, less = (exchanges(learner, t)[0] for t in (table, table[1:]))
    moved = np.abs(full.exact - less.exact).sum()
    assert moved == 3
    assert moved / Fraction(full.mechanism.scale) == 3 * Fraction(
        1, 2
    )  # half of epsilon was claimed


def test_c45_labels_its_leaves_with_exact_counts():
    table = small_table()
    with pytest.warns(UserWarning, match="as published"):
        forest = C45Classifier(small_domain(), as_published=True, max_depth=1).fit(table).forest_
    assert forest.values[0].tolist() == [sum(table.good == "no"), sum(table.good == "yes")]


@pytest.mark.parametrize("learner", LEARNERS[:2])
def test_random_forests_use_the_exact_number_of_records_uncharged(learner):
    with pytest.warns(UserWarning, match="as published"):
        model = learner(small_domain(), epsilon=1, as_published=True).fit(small_table())
    assert [q.purpose for q in model.forest_.guarantee.asked] == ["labels in the leaves"]
    assert curator(small_table(123)).records(Fraction(1, 2)) == 123


def test_an_exact_guarantee_and_a_published_one_read_differently():
    table = small_table()
    exact = RandomDecisionForestClassifier(small_domain(), epsilon="inf").fit(table).forest_
    assert "exact counts" in str(exact.guarantee)
    assert "exact counts" not in str(replace(exact.guarantee, assumptions=("as published: x",)))
