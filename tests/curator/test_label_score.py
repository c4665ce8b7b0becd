"""Scores of a label: what one histogram says, with intervals that hold, and nothing else."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score

from frith import Budget, Categorical, Domain, Guarantee, Numeric, Ordered, open_table
from frith.audit.replay import arbitrary_releases, replay
from frith.curator import RECORDS_ARE_PUBLIC, Curator
from frith.curator.confusion import PUBLIC_FOREST
from frith.curator.group_rates import RATES, GroupCounts
from frith.curator.label_score import CLIP, METRICS, LabelScore
from frith.curator.scoring import ScoreRequest, even_edges, group_names, score_forest
from frith.errors import DomainError, FrithError
from frith.growing.random_trees import grow_random_trees
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from tests.statistics import FALSE_FAILURE
from tests.strategies import FULL, forest_over
from tests.tables import person_domain, small_domain, small_table

ALL = ScoreRequest()


def forest_of(domain, vote="counts", seed=0):
    trees = grow_random_trees(domain, 3, 2, np.random.default_rng(seed))
    return forest_over(domain, trees, vote, seed)


def score_of(counts, variance=0.0, edges=(0.5,), **more):
    return LabelScore("yes", np.array(edges), np.array(counts), variance, CLAIM, **more)


CLAIM = Guarantee(Fraction(1))


def scored(request=ALL, budget=None, table=None, domain=None):
    domain = domain or small_domain()
    curator = Curator(
        open_table(small_table() if table is None else table, domain), budget or Budget.of(1)
    )
    return score_forest(curator, forest_of(domain), request), curator


# -- without noise -----------------------------------------------------------------------------


def test_without_noise_the_intervals_hold_what_scikit_learn_computes():
    table, domain = small_table(), small_domain()
    forest = forest_of(domain)
    chances = forest.predict_proba(table[list(domain.names)])[:, 1]
    truth = (table["good"] == "yes").to_numpy()
    score, _ = scored(budget=Budget.of("inf"))
    clipped = np.clip(chances, CLIP, 1 - CLIP)
    expected = {
        "accuracy": np.mean((chances > 0.5) == truth),
        "auc": roc_auc_score(truth, chances),
        "log_loss": log_loss(truth, clipped),
        "brier": brier_score_loss(truth, chances),
    }
    for name, value in expected.items():
        found = getattr(score, name)
        assert found.low - 1e-9 <= value <= found.high + 1e-9, name
    assert score.brier.value == pytest.approx(expected["brier"], abs=0.03)
    assert score.accuracy.low == pytest.approx(score.accuracy.high)
    assert score.auc.high - score.auc.low < 0.3  # many records share a probability
    assert not score.guarantee.holds


def test_rates_by_hand():
    found = GroupCounts("a", ("x",), np.array([[[50, 10], [30, 40]]]), 0.0).rates()[0]
    values = {name: found[name].value for name in RATES}
    assert values == pytest.approx(
        {
            "share": 50 / 130, "predicted": 70 / 130, "recall": 40 / 50, "false_alarms": 30 / 80,
            "precision": 40 / 70, "accuracy": 90 / 130,
        }
    )  # fmt: skip
    assert found["records"] == 130


def test_ties_in_a_bin_are_what_the_interval_of_the_auc_is_about():
    apart = score_of([[30, 0], [0, 20]])
    assert (apart.auc.low, apart.auc.value, apart.auc.high) == pytest.approx((1, 1, 1))
    tied = score_of([[30, 20], [0, 0]])
    assert (tied.auc.low, tied.auc.value, tied.auc.high) == pytest.approx((0, 0.5, 1))


def test_a_probability_of_one_half_predicts_the_first_label():
    """As a forest does, whose first label wins a tie."""
    domain = small_domain()
    forest = forest_of(domain)
    even = replace(forest, values=np.ones_like(forest.values))
    curator = Curator(open_table(small_table(), domain), Budget.of("inf"))
    score = score_forest(curator, even, ALL)
    table = small_table()
    right = even.predict(table[list(domain.names)]) == table["good"]
    assert score.accuracy.value == pytest.approx(right.mean())


# -- intervals ---------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2])
@pytest.mark.parametrize("size", [60, 1_000])
def test_intervals_hold_as_often_as_they_say(size, epsilon):
    """Against exact values of made-up scores. 95% is stated; a correct build is over the margin."""
    rng, runs = np.random.default_rng(3), 4_000 if FULL else 400
    chances = rng.beta(1, 3, size)
    truth = rng.random(size) < chances
    edges = even_edges(8)
    counts = np.zeros((8, 2), dtype=int)
    np.add.at(counts, (np.searchsorted(edges, chances), truth.astype(int)), 1)
    exact = {
        "auc": roc_auc_score(truth, chances),
        "log_loss": log_loss(truth, np.clip(chances, CLIP, 1 - CLIP)),
        "brier": brier_score_loss(truth, chances),
        "accuracy": np.mean((chances > 0.5) == truth),
    }
    q = math.exp(-epsilon)
    held = dict.fromkeys((*exact, "calibration"), 0)
    for _ in range(runs):
        noise = rng.geometric(1 - q, counts.shape) - rng.geometric(1 - q, counts.shape)
        score = score_of(counts + noise, 2 * q / (1 - q) ** 2, edges)
        for name, value in exact.items():
            found = getattr(score, name)
            held[name] += found.low - 1e-12 <= value <= found.high + 1e-12
        shares = [with_ / max(1, without + with_) for without, with_ in counts]
        held["calibration"] += all(
            p.share.low - 1e-12 <= s <= p.share.high + 1e-12
            for p, s, n in zip(score.calibration, shares, counts.sum(axis=1), strict=True)
            if n
        )
    margin = math.sqrt(math.log(5 / FALSE_FAILURE) / (2 * runs))
    assert min(held.values()) / runs >= 0.95 - margin
    assert FULL is False or min(held.values()) / runs >= 0.94


def test_an_interval_with_half_the_noise_would_fail():
    rng, runs, failed = np.random.default_rng(0), 400, 0
    counts = np.array([[300, 40], [60, 200]])
    q = math.exp(-0.1)
    for _ in range(runs):
        noise = rng.geometric(1 - q, counts.shape) - rng.geometric(1 - q, counts.shape)
        found = score_of(counts + noise, 2 * q / (1 - q) ** 2 / 16).accuracy
        failed += not found.low <= 500 / 600 <= found.high
    assert failed > 0.15 * runs


def test_nothing_is_claimed_of_noise():
    nothing = score_of(
        [[-3, 2], [1, -4]], 200.0, groups=(GroupCounts("a", ("x",), -np.ones((1, 2, 2)), 9.0),)
    )
    assert (nothing.auc.low, nothing.auc.high) == (0, 1)
    assert (nothing.accuracy.low, nothing.accuracy.high) == (0, 1)
    assert nothing.log_loss.high == pytest.approx(-math.log(CLIP))
    assert all((row["recall"].low, row["recall"].high) == (0, 1) for row in nothing.by("a"))
    assert "1.000" in str(nothing)


# -- what is asked -----------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_groups_have_equal_shares_of_the_budget(delta):
    score, curator = scored(ScoreRequest(by=("color", "size")), Budget.of(1, delta))
    asked = score.guarantee.asked
    assert [q.purpose for q in asked] == [
        "probabilities by label", "predictions by color", "predictions by size",
    ]  # fmt: skip
    assert {(q.share, q.sensitivity) for q in asked} == {(Fraction(1, 3), 1)}
    assert curator.remaining_share == 0
    kind = DiscreteGaussian if delta else DiscreteLaplace
    assert score.variance == kind(Fraction(1, 3) * curator.budget.total, 1).variance
    assert [g.counts.shape for g in score.groups] == [(3, 2, 2), (17, 2, 2)]
    with pytest.raises(ValueError, match="nothing is left"):
        score_forest(curator, forest_of(small_domain()), ALL)


def test_accuracy_alone_has_two_bins_and_less_noise():
    one, _ = scored(ScoreRequest(metrics="accuracy", bins=20))
    assert one.counts.shape == (2, 2)
    assert list(one.values) == ["accuracy"]


def test_bins_follow_from_declared_records_and_the_budget():
    few, many = (
        scored(budget=Budget.of(e), domain=small_domain(records=1_000))[0] for e in ("0.1", 10)
    )
    assert len(few.counts) < len(many.counts)
    assert RECORDS_ARE_PUBLIC in few.guarantee.assumptions
    undeclared, _ = scored()
    assert len(undeclared.counts) == 20
    assert RECORDS_ARE_PUBLIC not in undeclared.guarantee.assumptions


@pytest.mark.parametrize("bins", [2, 4, 6, 20, 128])
def test_edges_rise_and_hold_one_half(bins):
    edges = even_edges(bins)
    assert len(edges) == bins - 1
    assert np.all(np.diff(edges) > 0)
    assert edges[bins // 2 - 1] == 0.5


@pytest.mark.parametrize(
    ("request_", "words"),
    [
        (ScoreRequest(metrics="f1"), "metrics are among"),
        (ScoreRequest(metrics=()), "metrics are among"),
        (ScoreRequest(by="weight"), "no attribute"),
        (ScoreRequest(positive="maybe"), "no label"),
        (ScoreRequest(bins=3), "even number"),
        (ScoreRequest(bins=500), "even number"),
    ],
)
def test_what_cannot_be_scored_is_refused_before_anything_is_charged(request_, words):
    curator = Curator(open_table(small_table(), small_domain()), Budget.of(1))
    with pytest.raises(ValueError, match=words):
        score_forest(curator, forest_of(small_domain()), request_)
    assert curator.remaining_share == 1


def test_of_three_labels_one_is_named():
    domain = Domain(small_domain().attributes, Categorical("good", ("no", "yes", "perhaps")))
    with pytest.raises(ValueError, match="positive="):
        scored(domain=domain)
    score, _ = scored(ScoreRequest(positive="yes"), domain=domain)
    assert score.positive == "yes"
    with pytest.raises(DomainError, match="number"):
        ScoreRequest().read(replace(domain, label=Numeric("good", 0, 1)))


def test_a_forest_without_a_guarantee_is_told_of():
    forest = replace(forest_of(small_domain()), guarantee=Guarantee(math.inf))
    curator = Curator(open_table(small_table(), small_domain()), Budget.of(1))
    assert PUBLIC_FOREST in score_forest(curator, forest, ALL).guarantee.assumptions


def test_groups_are_named_by_values_and_by_quarters():
    domain = Domain(
        [
            Categorical("a", ("x", "y")),
            Numeric("b", 0, 100, missing=True),
            Ordered("c", ("low", "high"), missing=True),
            Numeric("d", 0, 8, cells=8),
        ],
        Categorical("good", ("no", "yes")),
    )
    assert group_names(domain, 0) == ("x", "y")
    assert group_names(domain, 1) == ("0 to 25", "25 to 50", "50 to 75", "75 to 100", "missing")
    assert group_names(domain, 2) == ("low", "high", "missing")
    assert group_names(domain, 3)[0] == "0 to 1"


# -- neighbors ---------------------------------------------------------------------------------


class Scoring:
    """A learner, to the audit: what it makes of a curator is a score."""

    def __init__(self, forest):
        self.forest = forest

    def learn(self, curator):
        return score_forest(curator, self.forest, ScoreRequest(by=("color", "size")))


@settings(max_examples=20)
@given(st.integers(0, 59), st.integers(0, 999), st.sampled_from([0, 1e-6]), st.booleans())
def test_one_unit_costs_what_is_charged(row, seed, delta, persons):
    domain = person_domain(records=2) if persons else small_domain()
    table = small_table(60, seed=seed, people=12)
    without = table[table["who"] != table["who"][row]] if persons else table.drop(index=row)
    pair = (open_table(t, domain) for t in (table, without))
    result = replay(
        Scoring(forest_of(domain, seed=seed)), *pair, Budget.of("0.3", delta),
        arbitrary_releases(seed),
    )  # fmt: skip
    assert result.holds
    if not persons:
        assert result.loss > Fraction(999, 1000) * result.budget


# -- files and words ---------------------------------------------------------------------------


def test_a_score_is_the_same_after_json():
    score, _ = scored(ScoreRequest(by="color"), Budget.of("1/3", 1e-7))
    again = LabelScore.from_json(json.loads(json.dumps(score.to_json())))
    assert again == score
    assert str(again) == str(score)
    assert again.values == score.values
    assert again != replace(score, variance=score.variance + 1)
    assert again != "a score"
    assert tuple(score.values) == METRICS
    with pytest.raises(ValueError, match="asked for: color"):
        score.by("size")


@pytest.mark.parametrize(
    "change",
    [
        {"format": "frith-score/1"},
        {"positive": ["yes"]},
        {"edges": [0.2]},
        {"edges": [0.5, 0.2]},
        {"edges": [0.5, float("nan")]},
        {"edges": [[0.5]]},
        {"edges": []},
        {"counts": [[1, 2]]},
        {"counts": [[1, 2], [3, 4.5]]},
        {"variance": -1},
        {"metrics": ["f1"]},
        {"groups": [{}]},
        {"groups": [{"attribute": "a", "groups": ["x"], "counts": [[1, 2]], "variance": 1}]},
        {"guarantee": {}},
    ],
)
def test_what_is_no_score_is_refused(change):
    with pytest.raises(FrithError):
        LabelScore.from_json(score_of([[1, 2], [3, 4]]).to_json() | change)


def test_a_score_is_told_in_words():
    groups = (GroupCounts("a", ("x", "y"), np.full((2, 2, 2), 100), 2.0),)
    text = str(score_of([[300, 40], [60, 200]], 2.0, metrics=("accuracy", "auc"), groups=groups))
    assert text.splitlines()[0] == "accuracy 0.833 [0.825 to 0.841]"
    assert text.splitlines()[2].split()[:3] == ["a", "records", "share"]
    assert text.endswith("neighbors: one record added or removed")
