"""Intervals of a regressor: what they cover, what they cost, and which records they are from."""

import pickle
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from frith import Categorical, Domain, ForestRegressor, Ledger, Numeric, Person, open_table
from frith.engines.part import Part
from frith.errors import BudgetExceeded, DataError
from frith.kernels import DistanceCounts, DistanceQuantile, RecordCount
from frith.learners.regressor import share

FIFTH = Fraction(1, 5)


def table_of(n, seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({"color": rng.choice(["red", "blue"], n), "size": rng.uniform(0, 10, n)})
    noise = rng.normal(size=n) * np.where(table["color"] == "red", 0.2, 0.6)
    price = 1 + 2 * (table["color"] == "red") + 0.4 * table["size"] + noise
    return table.assign(price=price.clip(0, 8))


def with_persons(table):
    return table.assign(who=np.arange(len(table)).astype(str))


def domain_of(n=None, person=None):
    attributes = [Categorical("color", ("red", "blue")), Numeric("size", 0, 10)]
    who = None if person is None else Person("who", person)
    return Domain(attributes, Numeric("price", 0, 8), records=n, person=who)


def fitted(table, domain, **kwargs):
    return ForestRegressor(domain, **kwargs).fit(table, notices=False)


def covered(model, table):
    low, high = model.predict_interval(table.drop(columns="price")).T
    return float(np.mean((table["price"] >= low) & (table["price"] <= high)))


# -- coverage --------------------------------------------------------------------------------------


@pytest.mark.parametrize("interval", [0.5, 0.9])
def test_new_targets_are_inside_as_often_as_was_asked(interval):
    """4,000 held-out records: a share's standard error is under 0.008, and the margin is 6 of them."""
    model = fitted(table_of(20_000), domain_of(20_000), epsilon=1, interval=interval)
    found = covered(model, table_of(20_000, seed=1))
    assert interval - 0.05 < found < interval + 0.09


@pytest.mark.parametrize("step", [1, 4])
def test_a_wide_distance_twice_as_far_weighs_half(step):
    """Beyond the largest distance all cells score nearly alike; there are too many to weigh the same."""
    forest = fitted(table_of(200), domain_of(200), epsilon=1).forest_
    choice = DistanceQuantile(DistanceCounts(forest), 900, step)
    weights, ends = np.exp(choice.weights), choice.kernel.ends[::step] / choice.kernel.ends[-1]
    assert len(weights) == len(choice)
    assert np.allclose(weights, np.minimum(1, 1 / 8 / ends))  # and no distance near 0 weighs most
    assert choice.range_ == 1_800  # public weights change no range


def test_intervals_are_around_predictions_and_within_the_bounds():
    table = table_of(5_000)
    model = fitted(table, domain_of(5_000), epsilon=2, interval="0.8")
    ends, middle = (
        model.predict_interval(table[["color", "size"]]),
        model.predict(table[["color", "size"]]),
    )
    assert ends.shape == (5_000, 2)
    assert np.all((ends[:, 0] <= middle) & (middle <= ends[:, 1]))
    assert ends.min() >= 0
    assert ends.max() <= 8
    inner = (ends[:, 0] > 0) & (ends[:, 1] < 8)
    assert np.allclose(np.diff(ends[inner]), 2 * model.interval_radius_)
    assert np.array_equal(model.predict_interval(table[["color", "size"]], 0.8), ends)


def test_without_noise_the_radius_is_the_quantile_of_held_out_distances():
    table, domain = table_of(3_000), domain_of(3_000)
    model = fitted(table, domain, epsilon="inf", interval=0.9)
    counts = Part(open_table(table, domain), FIFTH, rest=False).aggregate(
        DistanceCounts(model.forest_)
    )
    n = counts.sum()
    ends = DistanceCounts(model.forest_).ends
    cell = int(np.searchsorted(np.cumsum(counts), 0.9 * (n + 1)))
    assert abs(np.log2((model.interval_radius_ - 8 / 1_024 / 2) / ends[cell])) <= 1.5 / 16


@pytest.mark.parametrize("rows", [0, 1, 5])
def test_where_nothing_can_be_covered_the_interval_is_the_whole_range(rows):
    model = fitted(table_of(9).head(rows), domain_of(9), epsilon="0.1", interval=0.99)
    assert model.interval_radius_ == 8
    ends = model.predict_interval(table_of(9)[["color", "size"]])
    assert np.array_equal(ends, [[0, 8]] * 9)


# -- price -----------------------------------------------------------------------------------------


def test_both_parts_together_cost_the_budget_once(tmp_path):
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=3)
    model = fitted(
        table_of(2_000), domain_of(), epsilon=2, interval=0.9, ledger=tmp_path / "budget.db"
    )
    claim = model.forest_.guarantee
    assert (ledger.spent, claim.epsilon) == (2, 2)
    held = [q for q in claim.asked if q.purpose.startswith("held out")]
    assert sum(q.share for q in held) == 1
    assert sum(q.share for q in claim.asked if q not in held) <= 1
    assert held[0].sensitivity == 1
    assert 2 * 903 < held[1].sensitivity < 2 * 910  # the level, raised by one in 400 and by noise


def test_a_delta_covers_both_parts():
    model = fitted(table_of(2_000), domain_of(), epsilon=2, delta=1e-6, interval=0.9)
    assert model.forest_.guarantee.delta == Fraction("1e-6")
    assert model.interval_radius_ > 0


# -- parts -----------------------------------------------------------------------------------------


def counted(table, rest, domain=None):
    part = Part(open_table(table, domain or domain_of()), FIFTH, rest=rest)
    return int(part.aggregate(RecordCount())[0])


def test_every_record_is_in_one_part_whatever_the_others_are():
    table = table_of(400)
    held, rest = counted(table, rest=False), counted(table, rest=True)
    assert held + rest == 400
    assert 40 < held < 120
    assert counted(table.sample(frac=1, random_state=0), rest=False) == held
    for row in range(0, 400, 7):
        less = table.drop(index=row)
        change = held - counted(less, rest=False), rest - counted(less, rest=True)
        assert sorted(change) == [0, 1]


def test_files_and_memory_hold_out_the_same_records(tmp_path):
    table = table_of(400)
    table.to_parquet(tmp_path / "table.parquet")
    assert counted(tmp_path / "table.parquet", rest=False) == counted(table, rest=False)


def test_a_record_that_is_held_out_does_not_change_the_forest():
    table, domain = table_of(300), domain_of(300)
    out = next(i for i in range(300) if counted(table.iloc[[i]], False, domain))
    whole, same = (
        fitted(rows, domain, epsilon="inf", interval=0.9) for rows in (table, table.drop(index=out))
    )
    assert np.array_equal(whole.forest_.values, same.forest_.values)


def test_persons_of_several_records_are_refused_before_anything_is_charged(tmp_path):
    ledger = Ledger.create(tmp_path / "budget.db", epsilon=3, records_per_person=2)
    with pytest.raises(DataError, match="'who' may have 2"):
        fitted(
            with_persons(table_of(50)),
            domain_of(50, 2),
            interval=0.9,
            ledger=tmp_path / "budget.db",
        )
    assert ledger.spent == 0
    people = with_persons(table_of(500))
    assert fitted(people, domain_of(500, 1), interval=0.9).interval_radius_ > 0


def test_a_fit_that_is_refused_leaves_nothing_of_its_table(tmp_path):
    table, domain = table_of(300), domain_of(300)
    Ledger.create(tmp_path / "budget.db", epsilon=1)
    model = fitted(table, domain, epsilon=1, interval=0.9, ledger=tmp_path / "budget.db")
    with pytest.raises(BudgetExceeded):
        model.fit(table, notices=False)
    assert model._part is None
    assert pickle.loads(pickle.dumps(model))._part is None
    model.set_params(interval=0.5)
    with pytest.raises(ValueError, match="covers 0.9, not 0.5"):
        model.predict_interval(table[["color", "size"]], coverage=0.5)


@pytest.mark.parametrize("options", [{"interval": 1}, {"interval": 0}, {"held_out": 1}])
def test_a_share_is_between_0_and_1(options):
    with pytest.raises(ValueError, match="between 0 and 1"):
        fitted(table_of(9), domain_of(9), **({"interval": 0.9} | options))


def test_a_forest_without_intervals_says_how_to_get_them():
    table = table_of(200)
    model = fitted(table, domain_of(200), interval=0.9)
    with pytest.raises(ValueError, match="covers 0.9, not 0.8"):
        model.predict_interval(table[["color", "size"]], coverage=0.8)
    model.set_params(interval=None).fit(table, notices=False)
    with pytest.raises(ValueError, match="interval=0.9"):
        model.predict_interval(table[["color", "size"]])
    assert share("held_out", 0.2) == FIFTH
