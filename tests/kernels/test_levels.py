"""SplitCounts against a loop, its views, and its sensitivities against neighbors."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from frith.engines import MemoryEngine
from frith.growing.grower import Grower
from frith.kernels import NodeCounts, NodeSizes, SplitTables
from tests.tables import person_domain, small_domain, small_table


def grown(domain, seed, n_trees, splits, bins=4):
    """Trees grown by random splits, and their open leaves: some of them, in random order."""
    rng = np.random.default_rng(seed)
    grower = Grower(domain, n_trees, bins)
    leaves = list(grower.roots)
    for _ in range(splits):
        node = leaves[rng.integers(len(leaves))]
        options = np.flatnonzero(grower.allowed(node))
        if len(options):
            leaves.remove(node)
            leaves += grower.split(node, int(rng.choice(options)))
    rng.shuffle(leaves)
    return grower, leaves[: max(1, len(leaves) * 2 // 3)]


def naive(level, codes, labels):
    """Every record, every tree, every attribute asked: one count each."""
    out = np.zeros(level.shape, dtype=int)
    lookup, begins = level.layout.lookup
    place = {int(n): i for i, n in enumerate(level.open_nodes)}
    for record, label in zip(codes, labels, strict=True):
        for root in level.trees.roots:
            node = int(root)
            while (a := level.trees.attribute[node]) >= 0:
                cut = level.trees.cut[node]
                step = record[a] if cut < 0 else int(record[a] >= cut)
                node = int(level.trees.first_child[node] + step)
            if node in place:
                i = place[node]
                out[i, -1, label] += 1
                for a in np.flatnonzero(level.asks[i]):
                    out[i, lookup[begins[a] + record[a]], label] += 1
    return out


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 6))
def test_a_level_equals_a_naive_loop(seed, n_trees, splits):
    domain, table = small_domain(), small_table(80, seed=seed)
    grower, leaves = grown(domain, seed, n_trees, splits)
    level, allowed = grower.level(leaves)
    engine = MemoryEngine(table, domain, rows=17, threads=2)
    sums = engine.aggregate(level)
    batch = engine._encoded
    assert np.array_equal(sums, naive(level, batch.codes, batch.labels))
    assert np.array_equal(level.asks, np.array([grower.asks(row) for row in allowed]))
    # every attribute asked at a node counts each of its records once: sums of tables are sizes
    for i in range(len(leaves)):
        for a in np.flatnonzero(level.asks[i]):
            table_of_a = SplitTables(level).take(sums)[i, level.layout.bins(int(a))]
            assert np.array_equal(table_of_a.sum(axis=0), NodeCounts(level).take(sums)[i])
    assert np.array_equal(NodeSizes(level).take(sums), NodeCounts(level).take(sums).sum(axis=1))


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.integers(1, 3), st.integers(0, 6))
def test_no_neighbor_moves_a_view_past_its_sensitivity(seed, n_trees, splits):
    """One record, and one person of at most two records; the bound is reached by some record."""
    table = small_table(30, seed=seed, people=6)
    for domain, drop, most in (
        (small_domain(), [[i] for i in range(30)], 1),
        (person_domain(records=2), [table.index[table.who == w] for w in table.who.unique()], 2),
    ):
        grower, leaves = grown(domain, seed, n_trees, splits)
        level, _ = grower.level(leaves)
        full = MemoryEngine(table, domain).aggregate(level)
        less = [MemoryEngine(table.drop(rows), domain).aggregate(level) for rows in drop]
        for view in (SplitTables(level), NodeCounts(level), NodeSizes(level)):
            moved = [np.abs(view.take(full) - view.take(sums)) for sums in less]
            assert max(m.sum() for m in moved) <= most * view.l1
            assert max((m**2).sum() for m in moved) <= most**2 * view.l2_squared


def test_the_sensitivity_of_the_root_tables_is_attained():
    domain, table = small_domain(), small_table(30)
    level, _ = Grower(domain, 2, 4).level([0, 1])
    full, less = (MemoryEngine(t, domain).aggregate(level) for t in (table, table[1:]))
    assert np.abs(SplitTables(level).take(full - less)).sum() == SplitTables(level).l1 == 2 * 3
    assert np.abs(NodeCounts(level).take(full - less)).sum() == NodeCounts(level).l1 == 2


def test_a_path_forbids_values_asked_and_cuts_outside_what_is_left():
    grower = Grower(small_domain(), 1, 4)  # candidates: color, round, size at 4, 8, 12 and missing
    assert grower.layout.cut_of.tolist() == [-1, -1, 4, 8, 12, 16]
    red = grower.split(0, 0)[0]
    assert grower.allowed(red).tolist() == [False, True, True, True, True, True]
    small, large = grower.split(red, 3)
    assert grower.allowed(small).tolist() == [False, True, True, False, False, False]
    assert grower.allowed(large).tolist() == [False, True, False, False, True, True]


def test_an_empty_table_gives_zeros():
    level, _ = Grower(small_domain(), 1, 4).level([0])
    sums = MemoryEngine(pd.DataFrame(small_table(0)), small_domain()).aggregate(level)
    assert sums.shape == level.shape
    assert not sums.any()


@pytest.mark.parametrize("bins", [2, 3, 5, 16, 100])
def test_cuts_part_the_grid_evenly(bins):
    grower = Grower(small_domain(), 1, bins)
    cuts = grower.layout.cuts[2]
    assert (np.diff(cuts) > 0).all()
    assert cuts[-1] == 16  # the last one parts missing numbers from the others
    assert len(cuts) == min(bins, 16)
