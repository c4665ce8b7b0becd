"""Tables of many values, shrunk: each value by itself, without a matrix of all pairs of values."""

import tracemalloc

import numpy as np

from frith.growing import additive
from frith.growing.additive import shrunk_effects


def shrunk(n_values, seed=0):
    """The effects of a table of values without an order, and of one whose bins have one."""
    rng = np.random.default_rng(seed)
    tables = [rng.integers(-5, 40, (size, 3)).astype(float) for size in (n_values, 7)]
    return shrunk_effects(tables, [False, True], np.array([0.5, 0.3, 0.2]), 8.0, 20 * n_values)


def test_a_value_stands_for_itself_as_under_the_identity(monkeypatch):
    fast = [shrunk(12, seed) for seed in range(5)]
    monkeypatch.setattr(additive, "_values", lambda size: (np.eye(size), np.full(size, 99)))
    for seed, found in enumerate(fast):
        for one, other in zip(found, shrunk(12, seed), strict=True):
            assert all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


def test_many_values_take_memory_for_each_and_not_for_each_pair():
    tracemalloc.start()
    shrunk(3_000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2**22
