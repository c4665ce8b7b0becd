"""Forests of quantiles: what share is below them, what a record can move, and a public center."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Budget, Domain, ForestRegressor, Numeric, open_table
from frith.curator import Curator
from frith.growing.ramps import level_for, near_quantile
from frith.privacy.sources import ExactSource
from tests.learners.test_regressor import NAMES, domain_of, fitted, replayed, table_of
from tests.strategies import examples


def quantile_forest(q):
    return lambda domain=None, **kwargs: ForestRegressor(
        domain, loss="quantile", quantile=q, **kwargs
    )


@pytest.fixture(autouse=True)
def enough_steps(monkeypatch):
    """More than other tests take without noise: quantiles get there by narrower clips, block by block."""
    monkeypatch.setattr("frith.growing.residual_boosting.LIMIT_STEPS", 40)


def spread_of(n, seed=0):
    """A target whose spread, and so whose quantiles' distance, grows with an attribute."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(0, 10, n)
    return pd.DataFrame({"x": x, "y": 40 + rng.normal(size=n) * (1 + x)})


SPREAD = Domain([Numeric("x", 0, 10)], Numeric("y", 0, 80))


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_without_noise_the_share_below_is_the_quantile(q):
    table, fresh = spread_of(6_000), spread_of(6_000, seed=1)
    model = quantile_forest(q)(SPREAD, epsilon="inf").fit(table[["x"]], table["y"], notices=False)
    below = fresh["y"] < model.predict(fresh[["x"]])
    assert below.mean() == pytest.approx(q, abs=0.03)
    for half in (fresh["x"] < 5, fresh["x"] >= 5):  # in both, though their spreads differ
        assert below[half].mean() == pytest.approx(q, abs=0.05)


def test_a_budget_moves_quantiles_apart():
    """At a signal of 4,000 the forest for a tenth is under that for nine tenths, nearly everywhere."""
    table = spread_of(4_000)
    low, high = (
        quantile_forest(q)(SPREAD, epsilon=1).fit(table[["x"]], table["y"], notices=False)
        for q in (0.1, 0.9)
    )
    apart = high.predict(table[["x"]]) - low.predict(table[["x"]])
    assert np.mean(apart > 0) > 0.9


def test_a_median_is_not_drawn_by_a_tail():
    """Of an exponential law, whose mean is 10 and whose median is 6.93."""
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.uniform(0, 10, 6_000), "y": rng.exponential(10, 6_000)})
    mean, median = (
        make(SPREAD, epsilon="inf").fit(table[["x"]], table["y"], notices=False)
        for make in (ForestRegressor, quantile_forest(0.5))
    )
    assert mean.predict(table[["x"]]).mean() > 8.5
    assert median.predict(table[["x"]]).mean() == pytest.approx(6.93, abs=0.4)


@examples(8)
@given(
    st.integers(0, 59),
    st.integers(0, 10**6),
    st.sampled_from([0, 1e-6]),
    st.sampled_from([0.05, 0.5, 0.999]),
    st.sampled_from([None, 2]),
)
def test_replay_holds(row, seed, delta, q, person):
    table = table_of(60, seed, people=12)
    gone = table["who"] == table["who"][row] if person else table.index == row
    budget, domain = Budget.of("0.5", delta), domain_of(9_000, person=person)
    result = replayed((table, table[~gone]), domain, budget, seed, quantile_forest(q))
    assert result.holds, result
    assert result.questions > 3


def test_a_tiny_budget_moves_a_mean_to_the_quantile():
    """Of sums without noise, for a signal of 30: constants, further up for higher quantiles."""
    engine = open_table(spread_of(300), Domain(SPREAD.attributes, SPREAD.label, records=300))
    said = []
    for q in (0.1, 0.5, 0.9):
        curator = Curator(engine, Budget.of("0.2"), source=ExactSource())
        said.append(float(quantile_forest(q)().learn(curator).values[0, 0]))
    assert said[0] < 38 < said[1] < 42 < said[2]


@pytest.mark.parametrize("q", [0, 1, 1.5, "0.0001", -0.1])
def test_a_quantile_is_a_share_in_thousandths(q):
    with pytest.raises(ValueError, match="quantile must be between"):
        fitted(table_of(20), domain_of(20), quantile_forest(q), epsilon=1)


def test_another_loss_is_refused():
    with pytest.raises(ValueError, match="loss must be one of 'squared', 'quantile'"):
        fitted(table_of(20), domain_of(20), epsilon=1, loss="poisson")


def test_ramps_ask_for_the_level_that_they_blur_to_the_wanted_one():
    """By drawing: targets of a normal law, each moved evenly by up to a width."""
    rng = np.random.default_rng(0)
    for level, r in ((900, 1.5), (50, 0.5), (500, 1.0)):
        wanted = np.quantile(rng.normal(size=400_000), level / 1_000)
        moved = rng.normal(size=400_000) + r * rng.uniform(-1, 1, 400_000)
        assert np.mean(moved < wanted) == pytest.approx(level_for(level, r) / 1_000, abs=0.005)
        near = 2 * np.maximum(0, 1 - np.abs(rng.normal(size=400_000) - wanted) / r).mean()
        assert near == pytest.approx(float(near_quantile(level / 1_000, r)), abs=0.01)


# -- a public center -------------------------------------------------------------------------------


def test_noise_pulls_a_mean_to_the_public_center():
    """At a signal of 1/100 nothing is known but the guess."""
    forest = fitted(table_of(10), domain_of(10), epsilon="0.001", center=1.5).forest_
    assert forest.values[0, 0] == pytest.approx(1.5, abs=0.02)


@pytest.mark.parametrize("center", [-1, 8.5, float("nan")])
def test_a_center_is_within_the_bounds(center):
    with pytest.raises(ValueError, match="center must be within the declared bounds"):
        fitted(table_of(20), domain_of(20), epsilon=1, center=center)


def test_a_center_at_a_bound_clips_no_target():
    """Means without noise are the targets' own, wherever the guess was."""
    engine = open_table(table_of(400).assign(price=7.5), domain_of(400))
    for center in (0, 8):
        curator = Curator(engine, Budget.of("0.1"), source=ExactSource())
        forest = ForestRegressor(engine.domain, center=center).learn(curator)
        assert forest.values[0, 0] == pytest.approx(7.5, abs=0.15)
        assert forest.predict(table_of(3)[NAMES])[0] == pytest.approx(7.5, abs=0.15)
