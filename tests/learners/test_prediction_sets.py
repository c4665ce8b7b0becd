"""Prediction sets of a classifier: what they cover, what they cost, and which records they are from."""

import pickle
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Budget, Categorical, Domain, ForestClassifier, Ledger, Numeric, open_table
from frith.audit.replay import arbitrary_releases, replay
from frith.engines.part import Part
from frith.errors import DataError
from frith.kernels import StrangeCounts
from frith.kernels.conformity import CELLS, cell_of, strangeness
from frith.learners import sets
from frith.learners.sets import set_cell
from tests.tables import person_domain, small_table

HELD_OUT = Fraction(3, 10)
LABELS = ("a", "b", "c")


def domain_of(n=None):
    return Domain([Numeric("x", 0, 1), Numeric("z", 0, 1)], Categorical("y", LABELS), records=n)


def table_of(n, seed=0):
    """Three labels that x tells apart, but for one record in five."""
    rng = np.random.default_rng(seed)
    x, z = rng.random((2, n))
    label = np.where(rng.random(n) < 0.8, (3 * x).astype(int), rng.integers(0, 3, n))
    return pd.DataFrame({"x": x, "z": z, "y": np.array(LABELS)[label]})


def fitted(table, domain, **kwargs):
    return ForestClassifier(domain, **kwargs).fit(table, notices=False)


def covered(model, table):
    sets = model.predict_set(table[["x", "z"]])
    truth = np.searchsorted(model.classes_, table["y"])
    return float(sets[np.arange(len(table)), truth].mean()), float(sets.sum(axis=1).mean())


@pytest.mark.parametrize("coverage", [0.6, 0.9])
def test_new_labels_are_inside_as_often_as_was_asked(coverage):
    """3,000 held-out records: a share's standard error is at most 0.009, and the margin is 6 of them."""
    model = fitted(table_of(10_000), domain_of(10_000), epsilon=1, coverage=coverage)
    found, size = covered(model, table_of(10_000, seed=1))
    assert coverage - 0.055 < found < coverage + 0.065
    assert 0.5 < size < 2.9


def test_a_forest_that_knows_nothing_covers_as_often_too():
    """Its probabilities are the same for all records: a hash says which of them get which labels."""
    table = table_of(20_000).assign(x=0.5)
    model = fitted(table, domain_of(20_000), epsilon=1, coverage=0.5)
    found, _ = covered(model, table_of(20_000, seed=1).assign(x=0.5))
    assert 0.42 < found < 0.6


def test_sets_are_a_function_of_the_record():
    table = table_of(2_000)
    model = fitted(table, domain_of(2_000), epsilon=1, coverage="0.8")
    sets = model.predict_set(table[["x", "z"]])
    assert sets.shape == (2_000, 3)
    assert sets.dtype == bool
    assert np.array_equal(sets[:7], model.predict_set(table[["x", "z"]].head(7)))
    assert np.array_equal(sets, model.predict_set(table[["x", "z"]], 0.8))
    again = pickle.loads(pickle.dumps(model))  # as joblib does
    assert np.array_equal(sets, again.predict_set(table[["x", "z"]]))


def test_without_noise_it_is_the_quantile_of_the_held_out_records():
    table, domain = table_of(3_000), domain_of(3_000)
    model = fitted(table, domain, epsilon="inf", coverage=0.9)
    part = Part(open_table(table, domain), HELD_OUT, rest=False)
    counts = part.aggregate(StrangeCounts(model.forest_))
    cell = int(np.searchsorted(np.cumsum(counts), 0.9 * (counts.sum() + 1)))
    assert abs(model.set_cell_ - cell) <= 0.01 * CELLS
    codes = model.forest_.encode(table[["x", "z"]])
    truth = np.searchsorted(LABELS, table["y"])
    by_hand = np.zeros(CELLS, dtype=int)
    for numbers, label in zip(strangeness(model.forest_, codes), truth, strict=True):
        by_hand[min(CELLS - 1, int(CELLS * numbers[label]))] += 1
    whole = open_table(table, domain).aggregate(StrangeCounts(model.forest_))
    assert np.array_equal(whole, by_hand)


def test_hashes_are_even_and_differ_between_labels():
    model = fitted(table_of(2_000), domain_of(2_000), epsilon="0.01")
    codes = model.forest_.encode(table_of(20_000)[["x", "z"]])
    chances = model.forest_.proba_of_codes(codes)
    blur = 1.05 * strangeness(model.forest_, codes) - (1 - chances)
    assert blur.min() >= -1e-12
    assert blur.max() <= 0.05
    assert np.allclose(blur.mean(axis=0), 0.025, atol=0.001)
    assert np.abs(np.corrcoef(blur.T) - np.eye(3)).max() < 0.05
    assert cell_of(np.array([np.nan, np.inf, -1.0, 0.0, 1.0])).tolist() == [
        CELLS - 1, CELLS - 1, 0, 0, CELLS - 1,
    ]  # fmt: skip


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_where_nothing_can_be_covered_sets_hold_all_labels(rows):
    model = fitted(table_of(9).head(rows), domain_of(9), epsilon="0.1", coverage=0.99)
    assert model.predict_set(table_of(9)[["x", "z"]]).all()


@pytest.mark.parametrize(("epsilon", "level"), [("0.01", 951), ("1", 901), ("inf", 901)])
def test_the_level_is_raised_for_one_more_record_and_for_the_noise(epsilon, level, monkeypatch):
    """Of 4,000 records: 0.9 + 0.9 / 4,000, and a scale of 1.802 / (0.9 epsilon) records, upwards."""
    asked = []

    class Watching(sets.Curator):
        def noisy_counts(self, *question):
            return replace(super().noisy_counts(*question), values=np.array([4_000]))

        def choose(self, question, *rest):
            asked.append(question.level)
            return super().choose(question, *rest)

    monkeypatch.setattr(sets, "Curator", Watching)
    fitted(table_of(2_000), domain_of(2_000), epsilon=epsilon, coverage=0.9)
    assert asked == [level]


# -- price -----------------------------------------------------------------------------------------


def test_both_parts_together_cost_the_budget_once(tmp_path):
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=3)
    model = fitted(
        table_of(2_000), domain_of(), epsilon=2, coverage=0.9, ledger=tmp_path / "budget.db"
    )
    claim = model.forest_.guarantee
    assert (ledger.spent, claim.epsilon) == (2, 2)
    held = [q for q in claim.asked if q.purpose.startswith("held out")]
    assert sum(q.share for q in held) == 1
    assert sum(q.share for q in claim.asked if q not in held) <= 1
    assert model.forest_.domain == domain_of()


def test_rules_of_a_forest_with_sets_have_its_domain():
    domain = domain_of(2_000)
    model = fitted(table_of(2_000), domain, epsilon=2, coverage=0.9, rules_share=0.2)
    assert model.forest_.measured.domain == model.forest_.domain == domain


class Calibrating:
    """A learner, to the audit: what it makes of the held-out part."""

    def __init__(self, forest):
        self.forest = forest

    def learn(self, curator):
        return set_cell_of(curator, self.forest)


def set_cell_of(curator, forest):
    """As `set_cell` does, with the audit's curator."""
    original, sets.Curator = sets.Curator, lambda engine, budget: curator
    try:
        return set_cell(None, curator.budget, forest, Fraction(9, 10))
    finally:
        sets.Curator = original


@pytest.mark.parametrize("row", [0, 5, 17])
def test_one_held_out_record_costs_what_is_charged(row):
    table, domain = table_of(200), domain_of(200)
    forest = fitted(table, domain, epsilon=5).forest_
    pair = (open_table(t, domain) for t in (table, table.drop(index=row)))
    result = replay(Calibrating(forest), *pair, Budget.of("0.5"), arbitrary_releases(row))
    assert result.holds
    assert result.loss > 0


# -- what is refused -------------------------------------------------------------------------------


def test_other_coverages_and_forests_without_sets_are_refused():
    table = table_of(500)
    model = fitted(table, domain_of(500), epsilon=1, coverage=0.9)
    with pytest.raises(ValueError, match=r"cover 0.9, not 0.8"):
        model.predict_set(table[["x", "z"]], 0.8)
    model.set_params(coverage=None).fit(table, notices=False)
    with pytest.raises(ValueError, match="no prediction sets"):
        model.predict_set(table[["x", "z"]])
    with pytest.raises(ValueError, match="coverage must be between"):
        fitted(table, domain_of(500), coverage=1)


def test_persons_with_several_records_are_refused():
    with pytest.raises(DataError, match="both parts"):
        ForestClassifier(person_domain(records=2), coverage=0.9).fit(small_table())
