"""Private scores of a forest that predicts a number: right sums, right measures, stated errors."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pytest
from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

from frith import (
    Budget,
    Categorical,
    ForestClassifier,
    ForestRegressor,
    open_table,
    private_score,
)
from frith.audit.replay import arbitrary_releases, compare, observe
from frith.audit.subjects import Subject
from frith.curator import Curator
from frith.curator.number_score import NumberScore, score_numbers
from frith.domain.encoding import Batch
from frith.errors import DomainError, FormatError
from frith.kernels import ErrorSums, add_batch
from frith.kernels.gradients import UNIT
from tests.learners.test_regressor import NAMES, domain_of, table_of

DOMAIN = domain_of()


@pytest.fixture(scope="module")
def forest():
    return ForestRegressor(DOMAIN, epsilon="inf").fit(table_of(500)).forest_


def scored(forest, table, epsilon, radius=None, **kwargs):
    curator = Curator(open_table(table, forest.domain, threads=1), Budget.of(epsilon, **kwargs))
    return score_numbers(curator, forest, radius)


def test_without_noise_measures_are_scikit_learns(forest):
    """Up to half a cell of the target's grid, which has 1,024 of them."""
    table = table_of(800, seed=1)
    truth, said = table["price"], forest.predict(table[NAMES])
    score = scored(forest, table, "inf", radius=0.5)
    assert score.r2 == pytest.approx(r2_score(truth, said), abs=0.005)
    assert score.rmse == pytest.approx(root_mean_squared_error(truth, said), abs=0.01)
    assert score.mae == pytest.approx(mean_absolute_error(truth, said), abs=0.01)
    assert score.coverage == pytest.approx(np.mean(np.abs(truth - said) <= 0.5), abs=0.02)
    assert score.error("r2") == 0


def test_every_record_moves_sums_by_no_more_than_is_stated_and_one_moves_as_much(forest):
    target, largest = DOMAIN.target, {}
    for value in (-100.0, 0.0, 4.0, 8.0, 1e300):
        leaf = (
            ForestRegressor(DOMAIN, epsilon="inf")
            .fit(table_of(3).assign(price=value), notices=False)
            .forest_
        )
        for radius, width in itertools.product((None, 9.0), (0.01, 3.0, 8.0)):
            kernel = ErrorSums(leaf, width, radius)
            for code in range(0, target.cells, 31):
                batch = Batch(
                    np.zeros((1, 2), dtype=DOMAIN.code_type), np.array([code], DOMAIN.label_type)
                )
                out = np.zeros(kernel.shape, dtype=np.int64)
                add_batch(kernel, batch, out)
                assert np.abs(out).sum() <= kernel.l1 == (4 + (radius is not None)) * UNIT
                assert (out**2).sum() <= kernel.l2_squared
                assert out[0] + out[1] == UNIT
                largest[radius] = max(largest.get(radius, 0), np.abs(out).sum() / kernel.l1)
    assert min(largest.values()) > 0.95


def test_a_forest_that_predicts_no_number_moves_sums_by_no_more(forest):
    """A comparison with NaN is false either way, and its cast is the smallest whole number there is."""
    nothing = replace(forest, values=np.full_like(forest.values, np.nan))
    kernel = ErrorSums(nothing, 3.0, 1.0)
    batch = Batch(np.zeros((1, 2), dtype=DOMAIN.code_type), np.zeros(1, DOMAIN.label_type))
    out = np.zeros(kernel.shape, dtype=np.int64)
    add_batch(kernel, batch, out)
    assert sum(map(abs, out.tolist())) <= kernel.l1  # in numbers that cannot wrap around
    assert out[0] + out[1] == UNIT


def test_stated_errors_are_those_of_the_noise(forest):
    """Of 300 scores of 3,000 records at epsilon 1, the spread beside what each one states.

    Their ratio is 0.99 to 1.14 and, as the measures have a kurtosis of up to 9, off by 0.09 by chance.
    """
    table = table_of(3_000, seed=2)
    engine = open_table(table, DOMAIN, threads=1)
    scores = [score_numbers(Curator(engine, Budget.of(1)), forest, 0.5) for _ in range(300)]
    for measure in ("r2", "rmse", "mae", "coverage"):
        seen = np.std([getattr(s, measure) for s in scores])
        stated = np.median([s.error(measure) for s in scores])
        assert 0.5 < seen / stated < 2, measure


def test_the_guarantee_is_the_budgets_and_the_whole_of_it_is_spent(forest):
    score = scored(forest, table_of(50), "0.3")
    assert str(score.guarantee.epsilon) == "3/10"
    asked = [q.purpose for q in score.guarantee.asked]
    assert asked == ["distance of predictions", "errors of predictions"]
    assert sum(q.share for q in score.guarantee.asked) == 1
    assert any("scored forest has no guarantee" in a for a in score.guarantee.assumptions)


class Scoring:
    """A learner whose whole work is one score."""

    def __init__(self, forest):
        self.forest = forest

    def learn(self, curator):
        self.score_ = score_numbers(curator, self.forest, 0.5)
        return self.forest


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_replay_holds(forest, delta):
    table = table_of(40).assign(price=8.0)
    budget, subject = Budget.of("0.5", delta), Subject("a score", lambda: Scoring(forest))
    first, second = (
        observe(subject, open_table(t, DOMAIN, threads=1), budget, arbitrary_releases(3))
        for t in (table, table.drop(index=7))
    )
    assert first.exchanges
    assert compare(first, second, budget).holds


@pytest.mark.parametrize("rows", [0, 5])
def test_poor_tables_are_scored_like_any_other(forest, rows):
    table = table_of(5)[:rows].assign(price=np.nan)
    exact, noisy = scored(forest, table, "inf"), scored(forest, table, 1)
    assert math.isnan(exact.r2)
    assert math.isnan(exact.coverage)
    assert str(noisy).startswith("r2 ")


def test_a_saved_score_is_the_same_score(forest):
    score = scored(forest, table_of(50), 1, radius=1)
    data = json.loads(json.dumps(score.to_json()))
    assert NumberScore.from_json(data) == score
    assert "coverage" in str(score)
    for bad in ({"sums": [1, 2]}, {"variance": -1.0}, {"width": 0.0}, {"format": "x"}):
        with pytest.raises(FormatError):
            NumberScore.from_json(data | bad)


def test_what_cannot_be_scored_says_so(forest):
    other = Curator(open_table(table_of(5), domain_of(high=9.0)), Budget.of(1))
    with pytest.raises(ValueError, match="other attributes or another label"):
        score_numbers(other, forest)
    for radius in (-1.0, math.nan):
        with pytest.raises(FormatError, match="a radius is a number"):
            scored(forest, table_of(5), 1, radius=radius)
    with pytest.raises(ValueError, match="a measure is one of"):
        scored(forest, table_of(5), 1).error("auc")
    spent = Curator(open_table(table_of(5), DOMAIN), Budget.of(1))
    score_numbers(spent, forest)
    with pytest.raises(ValueError, match="nothing is left"):
        score_numbers(spent, forest)


def test_labels_have_no_errors_of_numbers(forest):
    classes = replace(DOMAIN, label=Categorical("price", ("low", "high")))
    labels = table_of(9).assign(price="low")
    said = ForestClassifier(classes, epsilon="inf").fit(labels[NAMES], labels["price"]).forest_
    with pytest.raises(DomainError):
        ErrorSums(said, 1.0)


@pytest.mark.parametrize("width", [0.0, -1.0, math.inf, math.nan, 1])
def test_a_width_that_is_none_is_refused(forest, width):
    with pytest.raises(FormatError, match="a width of errors"):
        ErrorSums(forest, width)


def test_a_regressor_is_scored_by_the_one_door():
    table = table_of(2_000)
    model = ForestRegressor(DOMAIN, epsilon="inf", interval=0.9).fit(table, notices=False)
    score = private_score(model, table_of(900, seed=3), epsilon=2)
    assert score.r2 > 0.5
    assert 0.75 < score.coverage < 1.05
    assert score.guarantee.epsilon == 2
    with pytest.raises(ValueError, match="are for labels with values"):
        private_score(model, table, epsilon=1, metrics="auc")


def test_a_radius_that_is_none_is_refused_before_anything_is_spent(forest):
    curator = Curator(open_table(table_of(20), DOMAIN, threads=1), Budget.of(1))
    with pytest.raises(FormatError, match="radius"):
        score_numbers(curator, forest, -1.0)
    assert curator.remaining_share == 1


@pytest.mark.filterwarnings("error")
def test_the_narrowest_width_warns_of_no_record(forest):
    kernel = ErrorSums(forest, 5e-324)
    codes = np.zeros((3, len(DOMAIN.attributes)), dtype=DOMAIN.code_type)
    out = np.zeros(kernel.shape, dtype=np.int64)
    add_batch(kernel, Batch(codes, np.array([0, 5, 900], dtype=DOMAIN.label_type)), out)
    assert out[1] == 3 * UNIT
