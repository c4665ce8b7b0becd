"""Quantiles: the score in whole numbers, its range by brute force, and the cell that is chosen."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from frith import Budget, Categorical, Domain, Forest, Numeric, open_table
from frith.curator import Curator
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.growing.grower import Grower
from frith.kernels import CodeCounts, DistanceCounts, QuantileChoice, RecordCount
from frith.kernels.quantiles import quantile_scores, range_of
from frith.privacy.guarantee import Guarantee
from tests.tables import person_domain, small_domain, small_table

SIZE = 2  # the number of the small domain


def slow_scores(counts, level):
    """The definition, record by record: a place is before, between or after a cell's records.

    Between the records of a cell there are places with every number of them below.
    """
    scores = []
    for cell, own in enumerate(counts):
        below, above = sum(counts[:cell]), sum(counts[cell + 1 :])
        ends = [(1_000 - level) * (below + k) - level * (above + own - k) for k in (0, own)]
        scores.append(0 if ends[0] <= 0 <= ends[1] else -min(abs(v) for v in ends))
    return scores


def test_scores_are_the_definition_in_whole_numbers():
    rng = np.random.default_rng(0)
    for _ in range(200):
        counts, level = rng.integers(0, 9, rng.integers(1, 8)), int(rng.integers(1, 1_000))
        assert quantile_scores(counts, level).tolist() == slow_scores(counts.tolist(), level)


def test_the_score_of_an_empty_cell_is_the_textbook_one():
    counts, level = np.array([3, 0, 0, 5, 0]), 300
    scores = quantile_scores(counts, level).tolist()
    assert [scores[1], scores[2], scores[4]] == [-abs(700 * 3 - 300 * 5)] * 2 + [-700 * 8]


def test_the_range_is_met_by_neighbors_and_never_passed():
    """Every table of a few counts, and every record added to it."""
    for level in (1, 10, 300, 500, 900, 999):
        largest = 0
        for counts in itertools.product((0, 1, 5_000), repeat=4):
            before = quantile_scores(np.array(counts), level)
            for cell in range(4):
                more = np.array(counts)
                more[cell] += 1
                change = quantile_scores(more, level) - before
                largest = max(largest, int(change.max() - change.min()))
        assert largest == range_of(level) == 2 * max(level, 1_000 - level)


def test_random_neighbors_of_persons_stay_within_their_records_times_the_range():
    rng = np.random.default_rng(1)
    for _ in range(2_000):
        cells, m, level = (
            int(rng.integers(2, 30)),
            int(rng.integers(1, 5)),
            int(rng.integers(1, 1_000)),
        )
        counts = rng.integers(0, 2 ** int(rng.integers(1, 40)), cells)
        more = counts + np.bincount(rng.integers(0, cells, m), minlength=cells)
        change = quantile_scores(more, level) - quantile_scores(counts, level)
        assert change.max() - change.min() <= m * range_of(level)


def test_no_score_of_the_largest_table_leaves_64_bits():
    counts = np.array([2**48, 0, 2**48])
    for level in (1, 500, 999):
        assert quantile_scores(counts, level).tolist() == slow_scores(counts.tolist(), level)


def distances_from(prediction):
    domain = Domain(small_domain().attributes, Numeric("weight", 3, 11, cells=64))
    trees, values = Grower(domain, 1, 4).trees(), np.array([[prediction]])
    return DistanceCounts(Forest(domain, trees, values, Guarantee(Fraction(1)), np.zeros(1), "sum"))


@pytest.mark.parametrize("prediction", [3.0, 5.3, 11.0])
def test_a_target_is_as_far_as_the_middle_of_its_cell_from_the_prediction(prediction):
    counts = distances_from(prediction)
    for label in range(64):
        distance = abs(3 + (label + 0.5) / 8 - prediction)
        cell = next(i for i, end in enumerate(counts.ends) if distance <= end)
        out = np.zeros(counts.shape, dtype=np.int64)
        counts.add(Batch(np.zeros((1, 3), np.uint8), np.array([label], np.uint8)), out)
        assert out.tolist() == [int(i == cell) for i in range(len(out))]


def test_the_grid_of_distances_halves_the_declared_range_twelve_times_in_sixteen_steps_each():
    counts = distances_from(5.0)
    assert counts.shape == counts.ends.shape == (12 * 16 + 1,)
    assert counts.ends[::-16].tolist() == [8 / 2**i for i in range(13)]


@pytest.mark.parametrize("level", [0, 1_000, -1, 1.5, True, None, np.int64(5)])
def test_a_level_that_is_no_share_is_refused(level):
    with pytest.raises(FormatError, match="thousandths"):
        QuantileChoice(CodeCounts(small_domain(), SIZE), level)


@pytest.mark.parametrize("level", [1, 999])
def test_the_outermost_levels_are_allowed(level):
    assert QuantileChoice(CodeCounts(small_domain(), SIZE), level).range_ == 2 * 999


@pytest.mark.parametrize("attribute", [-1, 3, True, 1.0, None])
def test_codes_are_those_of_an_attribute(attribute):
    with pytest.raises(FormatError, match="attribute of the domain"):
        CodeCounts(small_domain(), attribute)


def test_values_without_an_order_have_no_quantile():
    with pytest.raises(FormatError, match="of a number"):
        QuantileChoice(CodeCounts(small_domain(), 0), 500)


@pytest.mark.parametrize("step", [0, 17, -1, 1.0, True])
def test_a_step_that_the_grid_does_not_have_is_refused(step):
    with pytest.raises(FormatError, match="in a row"):
        QuantileChoice(CodeCounts(small_domain(), SIZE), 500, step)


def test_cells_in_a_row_are_taken_as_one():
    choice = QuantileChoice(CodeCounts(small_domain(), SIZE), 250, 7)
    sums = np.arange(17)  # the last is the code of a missing number
    merged = [sum(range(7)), sum(range(7, 14)), 14 + 15]
    assert choice.scores(sums).tolist() == slow_scores(merged, 250)
    assert [choice.chosen(i) for i in range(len(choice))] == [range(7), range(7, 14), range(14, 16)]


@pytest.mark.parametrize("missing", [True, False])
def test_missing_numbers_have_a_code_and_no_say(missing):
    domain = Domain([Numeric("a", 0, 4, cells=4, missing=missing)], Categorical("b", ("x",)))
    counts = CodeCounts(domain, 0)
    choice = QuantileChoice(counts, 500)
    assert len(choice) == 4
    sums = np.array([1, 2, 3, 4, 1_000][: counts.shape[0]])
    assert choice.scores(sums).tolist() == slow_scores([1, 2, 3, 4], 500)


def test_without_noise_the_cell_is_the_quantile():
    table, domain = small_table(400), small_domain()
    curator = Curator(open_table(table, domain), Budget.of("inf"))
    for level in (10, 250, 500, 900):
        cell = curator.choose(QuantileChoice(CodeCounts(domain, SIZE), level), Fraction(1, 9), "q")
        low, high = np.append(0, domain.attributes[SIZE].edges)[cell], (cell + 1) * 10 / 16
        assert low <= np.quantile(table["size"], level / 1_000) <= high


def test_the_curator_prices_persons_by_their_records():
    domain = person_domain(3)
    curator = Curator(open_table(small_table(), domain), Budget.of(1))
    curator.choose(QuantileChoice(CodeCounts(domain, SIZE), 990), Fraction(1, 2), "a bound")
    (asked,) = curator.guarantee.asked
    assert (asked.sensitivity, asked.scale, asked.cells) == (3 * 1_980, 2 * 3 * 1_980.0, 16)


def test_counts_of_codes_are_a_histogram():
    table, domain = small_table(300), small_domain()
    curator = Curator(open_table(table, domain), Budget.of("inf"))
    counts = curator.noisy_counts(CodeCounts(domain, 0), Fraction(1, 2), "colors").values
    of_table = table["color"].value_counts()
    assert counts.tolist() == [of_table[color] for color in ("red", "green", "blue")]
    assert counts.sum() == curator.noisy_counts(RecordCount(), Fraction(1, 2), "n").values[0]
