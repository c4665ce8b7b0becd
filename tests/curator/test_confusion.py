"""The private score: the forest's own confusion matrix, within one budget, for one record's worth."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frith import Budget, Categorical, Domain, Guarantee, open_table
from frith.audit.replay import arbitrary_releases, replay
from frith.curator import Curator
from frith.curator.confusion import PUBLIC_FOREST, Score, score_confusion
from frith.errors import FormatError, FrithError, QuestionError, TooManyCells
from frith.forest import Forest
from frith.forest.voting import VOTES
from frith.growing.random_trees import grow_random_trees
from frith.kernels import ConfusionCounts, RecordCount
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace
from tests import twins
from tests.statistics import fits_law
from tests.strategies import forest_over
from tests.tables import person_domain, small_domain, small_table


def forest_of(domain, vote="counts", seed=0):
    trees = grow_random_trees(domain, 3, 2, np.random.default_rng(seed))
    return forest_over(domain, trees, vote, seed)


def exact_matrix(forest, table, domain):
    return open_table(table, domain).aggregate(ConfusionCounts(forest))


def score_of(counts, variance=0.0, labels=("no", "yes")):
    return Score(labels, np.array(counts), variance, Guarantee(Fraction(1)))


# -- the question ------------------------------------------------------------------------------


@pytest.mark.parametrize("vote", VOTES)
def test_without_noise_it_is_the_confusion_matrix_by_hand(vote):
    table, domain = small_table(), small_domain()
    forest = forest_of(domain, vote)
    score = score_confusion(Curator(open_table(table, domain), Budget.of("inf")), forest)
    records = twins.records_of(table.to_dict("list"), domain)
    expected = twins.confusion_counts(records, forest.trees, forest.values, vote)
    assert score.counts.tolist() == expected.tolist()
    right = forest.predict(table[list(domain.names)]) == table["good"]
    assert score.accuracy == pytest.approx(right.mean())
    assert score.accuracy_error == score.variance == 0
    assert not score.guarantee.holds


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_it_is_one_question_for_all_that_is_left(delta):
    curator = Curator(open_table(small_table(), small_domain()), Budget.of(1, delta))
    curator.noisy_counts(RecordCount(), Fraction(1, 4), "number of records")
    score = score_confusion(curator, forest_of(small_domain()))
    assert curator.remaining_share == 0
    last = score.guarantee.asked[-1]
    assert (last.purpose, last.share, last.cells) == ("confusion matrix", Fraction(3, 4), 4)
    assert (last.sensitivity, score.guarantee.epsilon) == (1, 1)
    kind = DiscreteGaussian if delta else DiscreteLaplace
    assert score.variance == kind(Fraction(3, 4) * curator.budget.total, 1).variance
    with pytest.raises(ValueError, match="nothing is left of the budget"):
        score_confusion(curator, forest_of(small_domain()))


def test_the_noise_is_that_of_one_record():
    """Of every cell, empty ones too; and the same test rejects a scale 20% off."""
    label = Categorical("good", tuple(f"label {i}" for i in range(100)))
    domain = Domain(small_domain().attributes, label)
    curator = Curator(open_table(small_table(50), domain), Budget.of("0.2"))
    noise = score_confusion(curator, forest_of(domain)).counts.ravel()

    def law(scale):
        return lambda k: np.log(np.tanh(0.5 / scale)) - np.abs(k) / scale

    assert fits_law(noise, law(5.0))
    assert not fits_law(noise, law(6.0))


def test_too_many_labels_are_refused_before_anything_is_charged():
    domain = Domain(small_domain().attributes, Categorical("good", tuple(range(5_000))))
    curator = Curator(open_table(small_table(), domain), Budget.of(1))
    with pytest.raises(TooManyCells):
        score_confusion(curator, forest_of(domain))
    assert curator.remaining_share == 1


def test_trees_that_lead_nowhere_are_refused_before_anything_is_charged():
    domain = small_domain()
    forest = forest_of(domain)
    bad = replace(forest.trees, first_child=forest.trees.first_child + 1_000)
    curator = Curator(open_table(small_table(), domain), Budget.of(1))
    with pytest.raises(FormatError):
        score_confusion(curator, replace(forest, trees=bad))
    assert curator.remaining_share == 1


def test_a_forest_of_another_domain_is_refused():
    domain = small_domain()
    curator = Curator(open_table(small_table(), domain), Budget.of(1))
    others = [
        domain.view(["color", "size"]),
        Domain(domain.attributes[::-1], domain.label),
        Domain(domain.attributes, Categorical("good", ("yes", "no"))),
        Domain(domain.attributes, Categorical("better", ("no", "yes"))),
    ]
    for other in others:
        with pytest.raises(ValueError, match="domain"):
            score_confusion(curator, forest_of(other))
    assert curator.remaining_share == 1
    score_confusion(curator, forest_of(small_domain(records=9)))  # how many there are is no matter


def test_labels_that_python_holds_for_equal_are_other_labels():
    ones, truths = (
        Domain(small_domain().attributes, Categorical("good", v)) for v in ((0, 1), (False, True))
    )
    curator = Curator(open_table(small_table(), ones), Budget.of(1))
    with pytest.raises(ValueError, match="domain"):
        score_confusion(curator, forest_of(truths))


def test_a_forest_without_a_guarantee_is_told_of():
    forest, domain = forest_of(small_domain()), small_domain()
    bare = replace(forest, guarantee=Guarantee(math.inf))
    for scored, told in ((forest, False), (bare, True)):
        curator = Curator(open_table(small_table(), domain), Budget.of(1))
        assert (PUBLIC_FOREST in score_confusion(curator, scored).guarantee.assumptions) == told


# -- neighbors ---------------------------------------------------------------------------------


class Scoring:
    """A learner, to the audit: what it makes of a curator is a score."""

    def __init__(self, forest: Forest):
        self.forest = forest

    def learn(self, curator):
        return score_confusion(curator, self.forest)


neighbors = st.tuples(
    st.integers(0, 59), st.integers(0, 999), st.sampled_from([0, 1e-6]), st.sampled_from(VOTES)
)


@settings(max_examples=40)
@given(neighbors)
def test_one_record_moves_one_cell_by_one(drawn):
    row, seed, delta, vote = drawn
    domain, table = small_domain(), small_table(60, seed=seed)
    forest, without = forest_of(domain, vote, seed), table.drop(index=row)
    change = exact_matrix(forest, table, domain) - exact_matrix(forest, without, domain)
    assert np.abs(change).sum() == 1
    pair = (open_table(t, domain) for t in (table, without))
    result = replay(Scoring(forest), *pair, Budget.of("0.3", delta), arbitrary_releases(seed))
    assert result.holds
    assert result.loss > Fraction(999, 1000) * result.budget


@settings(max_examples=40)
@given(neighbors)
def test_one_person_moves_cells_by_at_most_its_records(drawn):
    row, seed, delta, vote = drawn
    domain, table = person_domain(records=2), small_table(60, seed=seed, people=12)
    forest, without = forest_of(domain, vote, seed), table[table["who"] != table["who"][row]]
    change = exact_matrix(forest, table, domain) - exact_matrix(forest, without, domain)
    assert 1 <= np.abs(change).sum() <= 2
    pair = (open_table(t, domain) for t in (table, without))
    result = replay(Scoring(forest), *pair, Budget.of("0.3", delta), arbitrary_releases(seed))
    assert result.holds


class CountsTwice(ConfusionCounts):
    """A kernel that is wrong about itself."""

    def add(self, batch, out):
        super().add(batch, out)
        super().add(batch, out)


def test_a_matrix_that_counts_twice_is_refused_and_would_be_caught(monkeypatch):
    monkeypatch.setattr("frith.curator.confusion.ConfusionCounts", CountsTwice)
    domain, table = small_domain(), small_table(60)
    forest = forest_of(domain)
    with pytest.raises(QuestionError, match="none of frith's questions"):
        score_confusion(Curator(open_table(table, domain), Budget.of(1)), forest)
    monkeypatch.setattr("frith.curator.curator.check_question", lambda *args: None)
    pair = (open_table(t, domain) for t in (table, table.drop(index=7)))
    assert not replay(Scoring(forest), *pair, Budget.of(1), arbitrary_releases(0)).holds


# -- what is made of it ------------------------------------------------------------------------


def test_shares_are_those_of_the_matrix():
    score = score_of([[30, 10], [20, 40]])
    assert score.accuracy == 0.7
    assert score.recall == {"no": 30 / 40, "yes": 40 / 60}
    assert score.precision == {"no": 30 / 50, "yes": 40 / 50}


def test_shares_of_noise_are_cut_off_and_shares_of_nothing_are_none():
    score = score_of([[12, -20], [-3, 5]])
    assert score.accuracy == 1  # 17 of a total of -6, which counts as 1
    assert score.recall == {"no": None, "yes": 1}
    assert score.precision == {"no": 1, "yes": None}
    assert score_of([[-5, 3], [2, -1]]).accuracy == 0
    nothing = score_of([[0, 0], [0, 0]], variance=2.0)
    assert nothing.accuracy == 0
    assert nothing.recall == nothing.precision == {"no": None, "yes": None}
    assert "-" in str(nothing)


@pytest.mark.parametrize("counts", [[[300, 100], [50, 550]], [[2, 900], [700, 40]]])
def test_the_error_of_the_accuracy_is_the_spread_of_noisy_accuracies(counts):
    """Of 200,000 draws, whose own error is 0.16%: 2% is more than 12 of them."""
    v, rng = 8.0, np.random.default_rng(0)
    noisy = np.array(counts).ravel() + rng.normal(0, math.sqrt(v), (200_000, 4))
    accuracy = noisy[:, [0, 3]].sum(axis=1) / noisy.sum(axis=1)
    assert score_of(counts, v).accuracy_error == pytest.approx(accuracy.std(), rel=0.02)


@pytest.mark.parametrize("labels", [("no", "yes"), (0, 1.5), (False, True), (2**70, -1)])
def test_a_score_is_the_same_after_json(labels):
    domain = Domain(small_domain().attributes, Categorical("good", labels))
    curator = Curator(open_table(small_table(), domain), Budget.of("1/3", 1e-7))
    score = score_confusion(curator, forest_of(domain))
    again = Score.from_json(json.loads(json.dumps(score.to_json())))
    assert again == score
    assert again.guarantee == score.guarantee
    assert [type(v) for v in again.labels] == [type(v) for v in labels]
    assert (again.accuracy, again.recall, str(again)) == (score.accuracy, score.recall, str(score))
    assert score != replace(score, variance=score.variance + 1)
    assert score != "a score"


@pytest.mark.parametrize(
    "change",
    [
        {"format": "frith-forest/1"},
        {"labels": ["no"]},
        {"labels": "no"},
        {"labels": ["no", "no"]},
        {"counts": [[1, 2], [3]]},
        {"counts": [[1, 2], [3, 4.5]]},
        {"counts": [[1, 2], [3, 2**64]]},
        {"counts": None},
        {"variance": -1},
        {"variance": "nan"},
        {"variance": None},
        {"guarantee": {}},
    ],
)
def test_what_is_no_score_is_refused(change):
    with pytest.raises(FrithError):
        Score.from_json(score_of([[1, 2], [3, 4]]).to_json() | change)
    with pytest.raises(FormatError):
        Score.from_json([])


def test_a_score_is_told_in_words():
    score = score_of([[3000, 100], [200, 400]], variance=8.0)
    assert str(score) == (
        "accuracy 0.9189, between 0.9164 and 0.9215 in 95 of 100 such scores\n"
        "true \\ predicted     no    yes  recall\n"
        "no                3,000    100   96.8%\n"
        "yes                 200    400   66.7%\n"
        "precision         93.8%  80.0%\n"
        "epsilon=1.0 differential privacy; neighbors: one record added or removed"
    )
