"""A partition and a label for each of its parts, chosen together: its law by enumeration."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.errors import OutsideWindow
from frith.privacy.labeling import LabelingChoice
from frith.privacy.sources import BulkSource, ExactSource, OpenDPSource
from tests.statistics import fits_law
from tests.strategies import examples

PARTS = (1, 2, 3)


def law(counts, log_weights, choice):
    """The probability of every (partition, labeling), from the weights of all of them."""
    weights = {
        (place, labels): log_weights[place]
        + sum(row[k] for row, k in zip(counts[choice.rows_of(place)], labels, strict=True))
        / choice.scale
        for place, parts in enumerate(choice.parts)
        for labels in itertools.product(range(counts.shape[1]), repeat=parts)
    }
    top = max(weights.values())
    total = sum(math.exp(w - top) for w in weights.values())
    return {key: math.exp(w - top) / total for key, w in weights.items()}


def drawn_law(counts, log_weights, choice):
    """The probabilities of what is drawn: the rounded weight of a partition, then its coins."""
    logs = np.array(choice.fixed_weights(counts, log_weights)) / choice.point
    logs = logs - logs.max() - math.log(np.exp(logs - logs.max()).sum())
    return {
        (place, labels): math.exp(
            logs[place]
            + sum(
                choice.log_weights_of_labels(row)[k]
                for row, k in zip(counts[choice.rows_of(place)], labels, strict=True)
            )
        )
        for place, labels in law(counts, log_weights, choice)
    }


@st.composite
def neighbors(draw):
    """Parts of one table under several partitions, and the same with up to `reach` records more."""
    n_labels, reach = draw(st.integers(1, 3)), draw(st.integers(1, 3))
    cells = st.lists(st.integers(0, 30), min_size=6 * n_labels, max_size=6 * n_labels)
    before = np.array(draw(cells)).reshape(6, n_labels)
    after = before.copy()
    for _ in range(reach):
        label = draw(st.integers(0, n_labels - 1))
        for start, parts in zip((0, 1, 3), PARTS, strict=True):
            after[start + draw(st.integers(0, parts - 1)), label] += 1
    return before, after, reach


@examples(100)
@given(
    neighbors(),
    st.sampled_from([Fraction(1, 10), Fraction(1), Fraction(4), Fraction(10**4)]),
    st.sampled_from(["epsilon", "rho"]),
)
def test_no_ratio_passes_what_was_paid(pair, amount, unit):
    """The law as it is drawn, rounding included."""
    before, after, reach = pair
    choice = LabelingChoice(amount, reach, PARTS, unit)
    choice.check(before.shape[1])
    weights = np.array([1.0, 0.0, -0.7])
    first, second = (drawn_law(c, weights, choice) for c in (before, after))
    most = float(amount) if unit == "epsilon" else math.sqrt(8 * float(amount))
    ratios = [math.log(first[k] / second[k]) for k in first if first[k] and second[k]]
    assert max(ratios) - min(ratios) <= most + 1e-9  # the range bounds the ratio, either way
    assert max(map(abs, ratios)) <= most + 1e-9


def test_the_ratio_nearly_reaches_epsilon():
    choice = LabelingChoice(Fraction(1), 1, (1, 1, 1))
    before = np.array([[20, 0], [0, 0], [0, 0]])
    after = before + np.array([[0, 0], [1, 0], [0, 0]])
    first, second = (law(c, np.zeros(3), choice) for c in (before, after))
    assert max(abs(math.log(first[k] / second[k])) for k in first) > 0.99


@pytest.mark.parametrize("amount", [Fraction(1, 10**4), Fraction(1, 3), Fraction(50)])
def test_a_partition_weighs_the_sum_over_its_labelings(amount):
    choice, weights = LabelingChoice(amount, 1, PARTS), np.array([1.0, 0.2, -0.5])
    counts = np.random.default_rng(0).integers(0, 40, (6, 3))
    one, other = law(counts, weights, choice), drawn_law(counts, weights, choice)
    for key, chance in one.items():
        assert abs(math.log(other[key] / chance)) <= 2 * float(choice.slack) if chance else True


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@pytest.mark.parametrize("amount", [Fraction(1, 10**5), Fraction(1, 7), 1, 10**3, 10**9])
def test_the_slack_is_covered_by_what_the_scale_is_wider(unit, amount):
    choice = LabelingChoice(Fraction(amount), 1, PARTS, unit)
    choice.check(3)
    spread = 1 / Fraction(choice.scale) + 4 * choice.slack
    assert (spread if unit == "epsilon" else spread**2 / 8) <= amount
    assert choice.scale >= 1 / 8
    assert choice.scale == 1 / 8 or amount < 10**3


@pytest.mark.parametrize("reach", [1, 3])
@pytest.mark.parametrize("denominator", [3, 7, 11, 49, 1001])
def test_the_scale_is_the_least_float_that_is_a_thousandth_wider(reach, denominator):
    amount, wider = Fraction(1, denominator), Fraction(1001, 1000)
    pure = Fraction(LabelingChoice(amount, reach, PARTS).scale)
    root = Fraction(LabelingChoice(amount, reach, PARTS, "rho").scale)
    for found, bound in (
        (pure, reach / amount * wider),
        (root**2, Fraction(reach) ** 2 / (8 * amount) * wider**2),
    ):
        assert bound <= found < bound * (1 + Fraction(1, 2**50))


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
def test_too_little_is_refused(unit):
    """From where a thousandth of the range no longer covers logarithms that are off by 2^-31."""
    least = Fraction(1001, 1000) * 1001 * 8 / 2**32
    least = least if unit == "epsilon" else least**2 / 8
    LabelingChoice(least * (1 + Fraction(1, 10**9)), 1, PARTS, unit).check(2)
    with pytest.raises(OutsideWindow, match="too little"):
        LabelingChoice(least * (1 - Fraction(1, 10**9)), 1, PARTS, unit).check(2)


def test_more_parts_or_labels_than_the_proof_counts_with_are_refused():
    LabelingChoice(Fraction(1), 1, (1, 64)).check(1024)
    for parts, labels in (((1, 65), 2), ((1, 2), 1025)):
        with pytest.raises(OutsideWindow, match="at most 64 parts"):
            LabelingChoice(Fraction(1), 1, parts).check(labels)


@pytest.mark.parametrize("unit", ["epsilon", "rho"])
@pytest.mark.parametrize("source", [OpenDPSource(), BulkSource()], ids=["opendp", "ours"])
def test_samples_follow_the_law(source, unit):
    choice = LabelingChoice(Fraction(1), 1, (1, 2), unit)
    counts, weights = np.array([[3, 1, 0], [2, 0, 0], [1, 1, 3]]), np.array([0.3, 0.0])
    expected = law(counts, weights, choice)
    number = {key: i for i, key in enumerate(expected)}
    logs = np.log([*expected.values()])
    drawn = [source.choose_labels(counts, weights, choice) for _ in range(4_000)]
    places = np.array([number[p, tuple(labels.tolist())] for p, labels in drawn])
    assert fits_law(
        places,
        lambda v: np.where((v >= 0) & (v < len(logs)), logs[np.clip(v, 0, len(logs) - 1)], -np.inf),
    )


def test_without_noise_the_most_records_get_their_label():
    counts = np.array([[3, 4], [3, 0], [0, 4], [1, 1], [1, 1], [1, 2]])
    place, labels = ExactSource().choose_labels(
        counts, np.zeros(3), LabelingChoice(Fraction(1), 1, PARTS)
    )
    assert (place, labels.tolist()) == (1, [0, 1])


@pytest.mark.parametrize("amount", [Fraction(1, 2**18), Fraction(1, 100), Fraction(10**9)])
def test_weights_of_any_table_fit_64_bits_and_are_as_exact_as_those_of_small_ones(amount):
    choice = LabelingChoice(amount, 1, PARTS)
    large = 2**48 - 1
    counts = np.array(
        [[large, 0], [large, 0], [0, 0], [0, large // 3], [large // 3, 7], [large // 3, large // 3]]
    )
    weights = choice.fixed_weights(counts, np.zeros(3))
    assert max(map(abs, weights)) < 2**62
    tops = [large, large, 3 * (large // 3)]
    for weight, top, parts in zip(weights, tops, PARTS, strict=True):
        off = Fraction(weight, choice.point) - Fraction(top - large) / Fraction(choice.scale)
        assert -choice.slack <= off <= parts * Fraction(math.log(2)) + choice.slack
    for source in (OpenDPSource(), BulkSource()):
        place, labels = source.choose_labels(counts, np.zeros(3), choice)
        assert len(labels) == PARTS[place]
    far = choice.fixed_weights(np.array([[large, 0], *[[0, 0]] * 5]), np.zeros(3))
    assert min(far) >= -(2**61)
    assert max(far) < 2**43
    logs = choice.log_weights_of_labels(np.array([large, 0]))
    assert logs[0] == pytest.approx(0, abs=1e-9)
    assert logs[1] == pytest.approx(-large / choice.scale)
