"""Splits in two, against a loop that lists them; and what they take of a large attribute."""

import math
import tracemalloc

import numpy as np
import pytest

from frith import Categorical, Domain, Numeric
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplits


def any_layout(seed):
    """One to four attributes: numbers, and categories of one value to more than may be grouped."""
    rng = np.random.default_rng(seed)
    attributes = [
        Numeric(f"n{i}", 0, 9, cells=9, missing=bool(rng.integers(2)))
        if rng.random() < 0.3
        else Categorical(f"c{i}", tuple(range(rng.integers(1, 15))))
        for i in range(rng.integers(1, 5))
    ]
    domain = Domain(attributes, Categorical("y", tuple("ab")))
    weights = tuple(rng.uniform(-1, 1, len(attributes))) if rng.random() < 0.5 else ()
    return Layout(domain, mixed_cuts(domain, 4), weights)


def listed(layout):
    """For every split its attribute, which of its bins are on the left, and its logarithmic weight."""
    for a, attribute in enumerate(layout.domain.attributes):
        size, favor = int(np.diff(layout.starts)[a]), layout.advantages[a]
        is_number = isinstance(attribute, Numeric)
        if is_number or size > 3:
            yield from ((a, [b <= k for b in range(size)], favor) for k in range(size - 1))
        if is_number or size < 2:
            continue
        for k in range(1 if size == 2 else size):
            yield a, [b == k for b in range(size)], favor
        if 3 < size <= 12:
            count = 2 ** (size - 1) - 1
            for number in range(1, count + 1):
                left = [bool(number >> b & 1) for b in range(size)]
                yield a, left, favor - 0.7 * math.log(count)
    yield -1, [], 0.0


@pytest.mark.parametrize("seed", range(20))
def test_splits_are_those_of_a_loop_with_its_sums_and_weights(seed):
    layout = any_layout(seed)
    splits, expected = BinarySplits(layout), list(listed(layout))
    rng = np.random.default_rng(seed)
    shares = rng.integers(0, 2, (layout.n_bins, 3))
    sums = rng.integers(-(2**40), 2**40, (layout.n_bins, 3)) * shares
    total = sums[layout.bins(0)].sum(axis=0)
    differences = splits.differences(sums)
    assert (differences.dtype, differences.shape) == (np.int64, (len(splits), 3))
    assert np.array_equal(splits.differences(sums[:, 0]), differences[:, 0])
    assert len(splits) == len(splits.weights) == len(expected)
    for place, (a, left, weight) in enumerate(expected):
        assert splits.weights[place] == weight
        assert splits[place].attribute == a
        if a < 0:
            assert np.array_equal(differences[place], total)
            continue
        of_codes = splits[place].left(layout.domain.attributes[a].size)
        assert of_codes.dtype == np.bool_
        begin = layout.lookup[1][a]
        bins = layout.lookup[0][begin : begin + len(of_codes)] - layout.starts[a]
        assert np.array_equal(of_codes, np.array(left)[bins])
        rows = sums[layout.bins(a)]
        assert np.array_equal(differences[place], 2 * rows[np.array(left)].sum(axis=0) - total)
    with pytest.raises(IndexError):
        splits[len(splits)]


def test_many_values_take_memory_for_each_and_not_for_each_pair():
    domain = Domain([Categorical("x", tuple(range(3_000)))], Categorical("y", tuple("ab")))
    layout = Layout(domain, mixed_cuts(domain))
    sums = np.arange(3_000)
    tracemalloc.start()
    splits = BinarySplits(layout)
    assert splits.differences(sums)[-2] == 2 * 2_999 - sums.sum()
    assert splits[len(splits) - 2].left(3_000).nonzero()[0].tolist() == [2_999]
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**21
