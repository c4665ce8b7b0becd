"""Sources: weights and limits inside the mechanism, and journals that are of another job."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import DiscreteLaplace, PrivateChoice, SignChoice
from frith.privacy.shares import LaplaceShare
from frith.privacy.sources import (
    BulkSource,
    ExactSource,
    JournaledSource,
    OpenDPSource,
    _add_saturated,
    _weighed,
)

ONE = PrivateChoice(Fraction(1), 1)
NOISE = DiscreteLaplace(Fraction(1), 1)
SIGNS = SignChoice(Fraction(1), 1)
ZEROS = np.zeros((2, 3), dtype=np.int64)
PARTS = LabelingChoice(Fraction(1), 1, (1, 2))
COUNTS = np.zeros((3, 2), dtype=np.int64)


def test_weights_are_added_as_unbounded_integers():
    """At a scale of 2^50 a logarithm of 500 is more than 2^58, on sums near the end of 64 bits."""
    choice = PrivateChoice(Fraction(1, 2**50), 1)
    assert choice.scale == 2.0**50
    weighed = choice.weighed([2**62, -(2**62), 7], [500.0, -500.0, 0.25])
    assert weighed == [2**61 + 500 * 2**50, -(2**61) - 500 * 2**50, 7 + 2**48]
    assert max(map(abs, weighed)) < 2**62


def test_scores_past_the_limit_are_chosen_from_and_never_raise():
    scores = [10**30, 10**30 - 1, -(10**30)]
    for source in (OpenDPSource(), BulkSource()):
        assert source.choose(scores, [0.0] * 3, ONE) in (0, 1)
    assert ExactSource().choose(scores, [0.0] * 3, ONE) == 0


near_ends = st.sampled_from([2**61 - 1, 2**61, 2**61 + 1, 2**63 - 1, 2**63, 10**30])
candidates = st.tuples(
    st.integers(-50, 50) | near_ends | near_ends.map(lambda s: -s),
    st.floats(-700, 700) | st.sampled_from([0.5, 1.5, -2.5, 0.0, -0.0]),
)


@given(
    st.lists(candidates, min_size=1, max_size=5),
    st.sampled_from([Fraction(1), Fraction(1, 3), Fraction(7), Fraction(1, 2**50)]),
)
def test_weighing_in_64_bits_gives_the_same_integers(candidates, amount):
    scores, weights = (list(part) for part in zip(*candidates, strict=True))
    choice = PrivateChoice(amount, 1)
    exact = choice.weighed(scores, weights)
    assert _weighed(scores, weights, choice, choice.scale).tolist() == exact


def test_weights_past_64_bits_are_never_wrapped():
    """A weight that leaves 64 bits raises, as it did; just below, it is added as an integer."""
    choice = PrivateChoice(Fraction(1, 2**50), 1)
    assert _weighed([0, 0], [2.0**11, 2.0**11 + 1], choice, choice.scale).tolist() == [
        2**61,
        2**61 + 2**50,
    ]
    with pytest.raises(OverflowError):
        _weighed([2**61], [2.0**13], choice, choice.scale)
    for weight in (np.nan, np.inf):
        with pytest.raises((OverflowError, ValueError)):
            _weighed([0], [weight], choice, choice.scale)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_a_limit_moves_no_score_away_from_another(unit):
    """Cut off at the limit, neighbors' scores differ by no more than they did."""
    limit = PrivateChoice.LIMIT
    choice = PrivateChoice(Fraction(1, 3), 5, unit)
    for base in (-limit - 3, -limit, -3, 0, limit - 2, limit, limit + 9):
        before = choice.weighed([base, base + 4], [0.0, 0.0])
        after = choice.weighed([base + 5, base + 4], [0.0, 0.0])
        change = [a - b for a, b in zip(after, before, strict=True)]
        assert 0 <= min(change) <= max(change) <= 5


def test_a_split_far_behind_keeps_a_weight_that_fits_64_bits():
    """Records times epsilon beyond 2^32: the best split wins, and nothing overflows."""
    choice = SignChoice(Fraction(10**6), 2**14)
    differences = np.array([[2**50, 0], [0, 0], [2**50 - 2**14, 2**14]])
    weights = choice.fixed_weights(differences, np.zeros(3))
    assert min(weights) == -SignChoice.LIMIT
    assert max(map(abs, weights)) <= SignChoice.LIMIT
    place, signs = OpenDPSource().choose_signs(differences, np.zeros(3), choice)
    assert place in (0, 2)
    assert signs[0] == 1


def test_a_journal_repeats_and_then_draws():
    drawn = JournaledSource(OpenDPSource())
    answers = [
        drawn.perturb(ZEROS, NOISE, 1).tolist(),
        drawn.choose([1, 2], [0.0, 0.0], ONE),
        [
            p if isinstance(p, int) else p.tolist()
            for p in drawn.choose_signs(ZEROS, np.zeros(2), SIGNS)
        ],
        [
            p if isinstance(p, int) else p.tolist()
            for p in drawn.choose_labels(COUNTS, np.zeros(2), PARTS)
        ],
    ]
    stored = drawn.take_fresh()
    assert stored == answers
    assert drawn.take_fresh() == []
    again = JournaledSource(None, stored)
    assert again.perturb(ZEROS, NOISE, 1).tolist() == answers[0]
    assert again.choose([1, 2], [0.0, 0.0], ONE) == answers[1]
    place, signs = again.choose_signs(ZEROS, np.zeros(2), SIGNS)
    assert [place, signs.tolist()] == answers[2]
    place, labels = again.choose_labels(COUNTS, np.zeros(2), PARTS)
    assert [place, labels.tolist()] == answers[3]
    assert again.take_fresh() == []


def test_a_journal_may_begin_with_the_first_of_everything():
    source = JournaledSource(None, [0, [0, [1, 0, -1]], [0, [1]]])
    assert source.choose([1, 2], [0.0, 0.0], ONE) == 0
    place, signs = source.choose_signs(ZEROS, np.zeros(2), SIGNS)
    assert (place, signs.tolist()) == (0, [1, 0, -1])
    place, labels = source.choose_labels(COUNTS, np.zeros(2), PARTS)
    assert (place, labels.tolist()) == (0, [1])


def test_without_noise_each_part_gets_its_own_most_frequent_label():
    counts = np.array([[0, 5], [9, 0], [8, 1]])
    place, labels = ExactSource().choose_labels(counts, np.zeros(2), PARTS)
    assert (place, labels.tolist()) == (1, [0, 0])


def test_a_share_of_two_is_half_of_the_noise_of_one():
    nothing = np.zeros(20_000, dtype=np.int64)
    whole, half = (LaplaceShare(Fraction(1, 10), 1, honest) for honest in (1, 2))
    spread = [np.mean(BulkSource().perturb(nothing, n, 1) ** 2.0) for n in (whole, half)]
    assert 1.6 < spread[0] / spread[1] < 2.5


def test_noise_that_would_run_over_stops_at_the_end_of_64_bits():
    low, high = np.iinfo(np.int64).min, np.iinfo(np.int64).max
    third = 0x5555555555555555  # the number whose double, run over, is its own complement
    sums, drawn = np.array([third, -1, low, high, 1, 0]), np.array([third, low, -1, 1, -2, low])
    assert _add_saturated(sums, drawn).tolist() == [high, low, low, high, -1, low]


def test_a_masked_answer_is_neither_stored_nor_repeated():
    source = JournaledSource(OpenDPSource(), [[[9] * 3] * 2])
    share = LaplaceShare(Fraction(10**6), 1, 1)
    assert source.perturb(ZEROS, share, 1).tolist() == ZEROS.tolist()
    assert source.take_fresh() == []
    assert source.perturb(ZEROS, NOISE, 1).tolist() == [[9] * 3] * 2


@pytest.mark.parametrize(
    ("stored", "ask"),
    [
        ([1, 2], lambda s: s.perturb(ZEROS, NOISE, 1)),
        ([[1, 2, 3]], lambda s: s.perturb(ZEROS, NOISE, 1)),
        (3, lambda s: s.choose([1, 2, 3], [0.0] * 3, ONE)),
        (-1, lambda s: s.choose([1, 2, 3], [0.0] * 3, ONE)),
        ([0], lambda s: s.choose([1, 2, 3], [0.0] * 3, ONE)),
        ([2, [0, 0, 0]], lambda s: s.choose_signs(ZEROS, np.zeros(2), SIGNS)),
        ([-1, [0, 0, 0]], lambda s: s.choose_signs(ZEROS, np.zeros(2), SIGNS)),
        ([0, [0, 0]], lambda s: s.choose_signs(ZEROS, np.zeros(2), SIGNS)),
        (0, lambda s: s.choose_signs(ZEROS, np.zeros(2), SIGNS)),
        ([0], lambda s: s.choose_signs(ZEROS, np.zeros(2), SIGNS)),
        ([2, [0]], lambda s: s.choose_labels(COUNTS, np.zeros(2), PARTS)),
        ([-1, [0, 0]], lambda s: s.choose_labels(COUNTS, np.zeros(2), PARTS)),
        (["0", [0]], lambda s: s.choose_labels(COUNTS, np.zeros(2), PARTS)),
        ([0, [0, 0]], lambda s: s.choose_labels(COUNTS, np.zeros(2), PARTS)),
        ([1, [0]], lambda s: s.choose_labels(COUNTS, np.zeros(2), PARTS)),
        ([1, [0, 2]], lambda s: s.choose_labels(COUNTS, np.zeros(2), PARTS)),
        ([1, [-1, 0]], lambda s: s.choose_labels(COUNTS, np.zeros(2), PARTS)),
        ([1], lambda s: s.choose_labels(COUNTS, np.zeros(2), PARTS)),
    ],
)
def test_a_journal_of_another_job_is_not_believed(stored, ask):
    with pytest.raises(RuntimeError, match="not of this job"):
        ask(JournaledSource(None, [stored]))
