"""Sums of gradients against a loop, in every engine, and their sensitivities against neighbors."""

from dataclasses import replace
from math import exp

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Numeric
from frith.domain.encoding import Batch
from frith.engines import FileEngine, MemoryEngine
from frith.errors import FrithError
from frith.growing.oblivious import ObliviousTree, ask_once
from frith.growing.random_trees import grow_random_trees
from frith.kernels import StepChoice, gradients
from frith.kernels.gradients import (
    POINT,
    SIGMOID,
    UNIT,
    CellSums,
    GradientSums,
    ScoreColumn,
    probability_of,
)
from frith.kernels.layout import Layout, equal_width_cuts, mixed_cuts
from frith.kernels.pairs import paired_bins
from frith.kernels.splits import BinarySplit, BinarySplits
from tests import twins
from tests.engines.tables import WITH_NAMES
from tests.engines.test_persons import people_tables
from tests.strategies import domains, examples, lone, tables, trees
from tests.tables import person_domain, small_domain, small_table

SPANS = [POINT // 8, 2 * POINT, 20 * POINT]  # within the table's steps, usual, and past its ends

# -- the twin --------------------------------------------------------------------------------------


def probability(score):
    """The logistic function at a score that is rounded to 1/256 and ends at 16 either way."""
    steps = (min(abs(score), 16 * POINT) + 128) // 256 * (1 if score >= 0 else -1)
    return round(UNIT / (1 + exp(-steps / 256)))


def leaf_number(codes, tree):
    return tree.leaves.tolist().index(twins.leaf_of(codes, tree.roots[0], tree))


def score_of(codes, column):
    score = 0
    while column is not None:
        score += int(column.values[leaf_number(codes, column.tree)])
        column = column.before
    return score


def naive_cells(records, kernel):
    out = np.zeros(kernel.shape, dtype=int)
    for codes, label in records:
        p, leaf = probability(score_of(codes, kernel.column)), leaf_number(codes, kernel.tree)
        out[leaf, 0] += label * UNIT - p
        out[leaf, 1] += p * (UNIT - p) // UNIT
    return out


def naive_bins(records, kernel):
    """A bin of a number is how many cuts are at most its code; of others, it is the code."""
    widest = max(UNIT - probability(-kernel.reach), probability(kernel.reach))
    most = max(1, min(kernel.clip, widest))
    sums = []
    for a, attribute in enumerate(kernel.layout.domain.attributes):
        cuts = kernel.layout.cuts[a].tolist()
        is_number = isinstance(attribute, Numeric)
        bins = [0] * (len(cuts) + 1 if is_number else attribute.size)
        for codes, label in records:
            g = label * UNIT - probability(score_of(codes, kernel.column))
            place = sum(cut <= codes[a] for cut in cuts) if is_number else codes[a]
            bins[place] += min(max(g, -most), most)
        sums += bins
    return np.array(sums)


# -- columns, questions and kernels ----------------------------------------------------------------


def chain_of(grown, rng, span):
    """A column of scores from all the trees, and how far it can reach."""
    column, reach = None, 0
    for tree in grown:
        values = rng.integers(-span, span + 1, len(tree.leaves)).astype(np.int32)
        column, reach = ScoreColumn(tree, values, column), reach + int(np.abs(values).max())
    return column, reach


def no_scores():
    return ScoreColumn(ask_once(small_domain(), BinarySplit()), np.zeros(1, dtype=np.int32))


def chain(column):
    """The columns that a column stands on, the oldest first."""
    return [] if column is None else [*chain(column.before), column]


def oblivious(domain, rng, questions):
    tree, candidates = ObliviousTree(domain), BinarySplits(Layout(domain, mixed_cuts(domain)))
    for _ in range(questions):
        tree.ask(candidates[int(rng.integers(len(candidates)))])
    return tree.trees()


@st.composite
def kernels(draw, domain):
    """Both kernels over one random column of scores."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))

    def one_tree():
        if draw(st.booleans()):
            return oblivious(domain, rng, draw(st.integers(0, 4)))
        several = draw(trees(domain))
        return lone(several, 0, domain)

    grown = [one_tree() for _ in range(draw(st.integers(1, 3)))]
    column, reach = chain_of(grown, rng, draw(st.sampled_from(SPANS)))
    cuts = draw(st.sampled_from([mixed_cuts(domain), equal_width_cuts(domain, 3)]))
    clip = draw(st.integers(1, UNIT))
    cells = CellSums(one_tree(), column, domain)
    return GradientSums(Layout(domain, cuts), column, reach, clip), cells


@st.composite
def two_labels(draw, person=False):
    domain = draw(domains(most=3, person=person))
    return replace(domain, label=Categorical(domain.label.name, draw(st.permutations("ab"))))


def small_kernels(domain, seed, span, clip=UNIT):
    rng = np.random.default_rng(seed)
    grown = [*grow_parts(domain, rng), oblivious(domain, rng, 3)]
    column, reach = chain_of(grown, rng, span)
    layout = Layout(domain, mixed_cuts(domain))
    cells = CellSums(oblivious(domain, rng, 3), column, domain)
    return GradientSums(layout, column, reach, clip), cells


def grow_parts(domain, rng):
    return [grow_random_trees(domain, 1, 2, rng) for _ in range(2)]


def batch_of(table, domain):
    return MemoryEngine(table, domain)._encoded


# -- right sums ------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", ["frame", "arrow", "parquet"])
@examples(30)
@given(st.data())
def test_sums_equal_the_twin_in_any_batches(source, data):
    """Whether the columns are computed with each batch, or kept: all of them, or some."""
    domain = data.draw(two_labels())
    both = data.draw(kernels(domain))
    table = data.draw(tables(domain))
    columns = chain(both[0].column)
    kept = data.draw(st.sampled_from([[], columns, columns[:1], columns[-1:]]))
    rows, threads = data.draw(st.integers(1, 9)), data.draw(st.integers(1, 2))
    records = twins.records_of(table, domain)
    with WITH_NAMES[source](table, domain, rows=rows, threads=threads) as engine:
        for column in kept:
            engine.derive(column)
        for kernel, naive in zip(both, (naive_bins, naive_cells), strict=True):
            sums = engine.aggregate(kernel)
            assert sums.shape == kernel.shape
            assert np.array_equal(sums, naive(records, kernel))


@pytest.mark.parametrize("source", ["frame", "parquet"])
@examples(20)
@given(st.data())
def test_sums_over_bounded_persons_equal_the_twin(source, data):
    domain = data.draw(two_labels(person=True))
    both = data.draw(kernels(domain))
    table = data.draw(people_tables(domain))
    records = list(twins.kept_records(table, domain).elements())
    with WITH_NAMES[source](table, domain, rows=4) as engine:
        for column in chain(both[0].column)[: data.draw(st.integers(0, 3))]:
            engine.derive(column)
        for kernel, naive in zip(both, (naive_bins, naive_cells), strict=True):
            assert np.array_equal(engine.aggregate(kernel), naive(records, kernel))


@pytest.mark.parametrize("domain", [small_domain(), person_domain()], ids=["records", "persons"])
def test_a_file_gives_the_sums_of_memory(domain, tmp_path):
    table = small_table(500, seed=3, people=120)
    table.to_parquet(tmp_path / "table.parquet", row_group_size=70)
    memory = MemoryEngine(table, domain, rows=64, threads=2)
    file = FileEngine(tmp_path / "table.parquet", domain, rows=90, threads=2)
    for seed in range(5):
        for kernel in small_kernels(domain, seed, 2 * POINT):
            for engine in (memory, file):
                engine.derive(kernel.column)
            sums = memory.aggregate(kernel)
            assert sums.any()
            assert np.array_equal(sums, file.aggregate(kernel))


def test_a_column_reads_what_its_trees_and_earlier_ones_ask():
    domain = small_domain()
    first = ScoreColumn(ask_once(domain, BinarySplit(2, cut=8)), np.zeros(2, dtype=np.int32))
    nobody = ScoreColumn(ask_once(domain, BinarySplit()), np.zeros(1, dtype=np.int32), first)
    members = np.array([True, False, True])
    last = ScoreColumn(
        ask_once(domain, BinarySplit(0, members=members)), np.zeros(2, dtype=np.int32), nobody
    )
    assert [c.attributes for c in (first, nobody, last)] == [(2,), (2,), (0, 2)]


def test_an_empty_table_gives_zeros():
    for kernel in small_kernels(small_domain(), 0, POINT):
        engine = MemoryEngine(pd.DataFrame(small_table(0)), small_domain())
        engine.derive(kernel.column)
        sums = engine.aggregate(kernel)
        assert sums.shape == kernel.shape
        assert not sums.any()


@pytest.mark.parametrize("place", [0, 1], ids=["bins", "cells"])
def test_sums_equal_the_twin_without_the_compiler(place, monkeypatch):
    for name, function in list(vars(gradients).items()):
        if hasattr(function, "py_func"):
            monkeypatch.setattr(gradients, name, function.py_func)
    domain, table = small_domain(), small_table(20)
    kernel = small_kernels(domain, 1, 2 * POINT)[place]
    naive = (naive_bins, naive_cells)[place]
    sums = MemoryEngine(table, domain, threads=1).aggregate(kernel)
    assert np.array_equal(sums, naive(twins.records_of(table.to_dict("list"), domain), kernel))


# -- columns that are kept -------------------------------------------------------------------------


def test_a_kept_column_costs_one_tree_and_takes_the_place_of_the_earlier_one(monkeypatch):
    domain, walked = small_domain(), []
    for name in ("_add_scores", "_add_by_place"):
        add = getattr(gradients, name)
        monkeypatch.setattr(
            gradients, name, lambda *a, add=add: walked.append(len(a[-1])) or add(*a)
        )
    engine = MemoryEngine(small_table(90), domain, rows=20)
    kernel, _ = small_kernels(domain, 5, POINT)
    columns = chain(kernel.column)
    for column in columns:
        for _ in range(2):
            engine.derive(column)
    for _ in range(2):
        engine.aggregate(kernel)
        assert sum(walked) == 90 * len(columns)
        assert [c for c in engine._derived if isinstance(c, ScoreColumn)] == [columns[-1]]


def test_without_a_kept_column_every_batch_walks_every_tree(monkeypatch):
    domain, walked, add = small_domain(), [], gradients._add_scores
    monkeypatch.setattr(gradients, "_add_scores", lambda *a: walked.append(1) or add(*a))
    kernel, _ = small_kernels(domain, 5, POINT)
    MemoryEngine(small_table(90), domain, rows=30).aggregate(kernel)
    assert len(walked) == 3 * len(chain(kernel.column))


def test_a_later_column_leaves_the_earlier_one_as_it_was():
    domain = small_domain()
    batch = batch_of(small_table(30), domain)
    *_, first, second = chain(small_kernels(domain, 2, POINT)[0].column)
    batch.derived[first] = before = first.compute(batch)
    copy, after = before.copy(), second.compute(batch)
    assert np.array_equal(before, copy)
    assert not np.array_equal(after, before)
    codes = batch.codes.tolist()
    assert after.tolist() == [score_of(c, second) for c in codes]


# -- the table of probabilities --------------------------------------------------------------------


def test_the_table_rises_from_none_to_all():
    assert SIGMOID[0] == 0
    assert SIGMOID[-1] == UNIT
    assert (np.diff(SIGMOID) >= 0).all()
    assert probability_of(0) == UNIT // 2


def test_the_table_is_the_logistic_function():
    steps = range(-16 * 256, 16 * 256 + 1)
    assert SIGMOID.tolist() == [probability(256 * step) for step in steps]


@given(st.integers(-(2**40), 2**40) | st.integers(-17 * POINT, 17 * POINT))
def test_a_probability_is_what_the_table_holds_and_turns_with_the_labels(score):
    assert probability_of(score) == probability(score)
    assert probability_of(-score) == UNIT - probability_of(score)


@examples(20)
@given(st.integers(0, 10**6))
def test_the_kernels_read_the_probability_of_the_score(seed):
    """One record in each of many leaves with a score of its own, at and past all ends."""
    ends = [
        e * 16 * POINT + d for e in (-1, 0, 1) for d in (-256, -129, -128, -127, -1, 0, 1, 127, 128)
    ]
    ends += [
        1 - 2**31,
        2**31 - 1,
        *np.random.default_rng(seed).integers(-20 * POINT, 20 * POINT, 99),
    ]
    values = tuple(range(len(ends)))
    domain = Domain([Categorical("a", values)], Categorical("y", ("0", "1")))
    tree = replace(
        ask_once(domain, BinarySplit()),
        attribute=np.array([0] + [-1] * len(ends), dtype=np.int32),
        cut=np.full(len(ends) + 1, -1, dtype=np.int32),
        first_child=np.array([1] + [-1] * len(ends), dtype=np.int32),
    )
    column = ScoreColumn(tree, np.array(ends, dtype=np.int32))
    expected = [-probability_of(int(score)) for score in ends]
    engine = MemoryEngine(pd.DataFrame({"a": values, "y": "0"}), domain)
    assert engine.aggregate(CellSums(tree, column, domain))[:, 0].tolist() == expected
    bins = GradientSums(Layout(domain, mixed_cuts(domain)), column, 20 * POINT, UNIT)
    assert engine.aggregate(bins).tolist() == expected


def test_records_past_what_32_bits_hold_are_summed_in_parts():
    """131,071 gradients of UNIT are as many as fit; of half of it, twice as many and one."""
    for most in (UNIT, UNIT // 2):
        n = 2 * (2**31 // most) + 3
        layout = Layout(small_domain(), mixed_cuts(small_domain()))
        lookup, begins = layout.lookup
        labels, scores = np.ones(n, dtype=np.int32), np.full(n, -(2**31), dtype=np.int32)
        sums = np.zeros(layout.n_bins, dtype=np.int64)
        gradients._sum_gradients(
            np.zeros((n, 1), dtype=np.uint8), labels, scores, SIGMOID, most, lookup, begins, sums
        )
        assert sums.sum() == sums[lookup[begins[0]]] == n * most
        paired = paired_bins(layout)
        places, sums = np.zeros((n, len(paired.tables)), dtype=np.uint16), np.zeros_like(sums)
        gradients._sum_pairs(
            0, n, 0, np.empty(0, dtype=np.int32), places, labels, scores, SIGMOID, most,
            layout.starts, paired.arrays, sums,
        )  # fmt: skip
        assert sums[layout.starts[:-1]].tolist() == [n * most] * (len(layout.starts) - 1)
        assert sums.sum() == n * most * (len(layout.starts) - 1)


def test_no_score_is_read_past_the_table():
    """Compiled code does not check: what lies beyond would be a probability, or a crash."""
    least, largest = np.int32(-(2**31)), np.int32(2**31 - 1)
    assert gradients._place(largest) == len(SIGMOID) - 1
    assert gradients._place(least) == 0


# -- sensitivities ---------------------------------------------------------------------------------


@pytest.mark.parametrize("label", [0, 1])
def test_no_probability_moves_a_cell_past_its_bound(label):
    """Every entry of the table: together in L1, and in squared L2."""
    p = SIGMOID.astype(int)
    gradient, curvature = np.abs(label * UNIT - p), p * (UNIT - p) // UNIT
    assert (curvature >= 0).all()
    assert (gradient + curvature).max() == UNIT  # and where the label is a surprise, all of it
    assert (gradient**2 + curvature**2).max() == UNIT**2
    surprise = p == (UNIT if label == 0 else 0)
    assert np.array_equal(gradient[surprise] + curvature[surprise], np.full(surprise.sum(), UNIT))


@examples(60)
@given(st.integers(0, 20 * POINT))
def test_no_score_within_reach_gives_a_gradient_past_the_most(reach):
    layout = Layout(small_domain(), mixed_cuts(small_domain()))
    kernel = GradientSums(layout, no_scores(), reach, UNIT)
    scores = np.linspace(-reach, reach, 301).astype(int).tolist()
    widest = max(abs(y * UNIT - probability(s)) for s in scores for y in (0, 1))
    assert kernel.max_gradient == widest


@given(st.integers(0, 20 * POINT), st.integers(-3, UNIT))
def test_a_clip_bounds_the_most_and_never_to_nothing(reach, clip):
    layout = Layout(small_domain(), mixed_cuts(small_domain()))
    free, clipped = (GradientSums(layout, no_scores(), reach, c).max_gradient for c in (UNIT, clip))
    assert clipped == max(1, min(free, clip))


@examples(8)
@given(st.integers(0, 10**6), st.sampled_from(SPANS), st.sampled_from([UNIT, UNIT // 2, 900]))
def test_no_neighbor_moves_the_sums_past_their_sensitivity(seed, span, clip):
    """One record, and one person of at most two records."""
    table = small_table(24, seed=seed, people=6)
    for domain, drop, units in (
        (small_domain(), [[i] for i in range(24)], 1),
        (person_domain(records=2), [table.index[table.who == w] for w in table.who.unique()], 2),
    ):
        bins, cells = small_kernels(domain, seed, span, clip)
        list_ = StepChoice(bins, BinarySplits(bins.layout), bonus=1.5)
        full = [MemoryEngine(table, domain).aggregate(k) for k in (bins, cells)]
        for rows in drop:
            less = MemoryEngine(table.drop(rows), domain)
            moved, moved_cells = (
                f - less.aggregate(k) for f, k in zip(full, (bins, cells), strict=True)
            )
            assert np.abs(moved).max() <= units * bins.max_gradient
            assert np.abs(moved).sum() <= units * bins.l1
            assert (moved**2).sum() <= units**2 * bins.l2_squared
            assert np.abs(moved_cells).sum() <= units * cells.l1 == units * UNIT
            assert (moved_cells**2).sum() <= units**2 * cells.l2_squared == (units * UNIT) ** 2
            scores = [list_.scores(sums) for sums in (full[0], full[0] - moved)]
            change = scores[0] - scores[1]
            assert change.max() - change.min() <= units * list_.range_


def test_a_gradient_stays_within_the_most_whatever_reach_was_stated():
    """Of a score of 3 that was said to be within 1/2: cut off, and no privacy is lost."""
    domain, table = small_domain(), small_table(1)
    column = ScoreColumn(ask_once(domain, BinarySplit()), np.array([3 * POINT], dtype=np.int32))
    table["good"] = "no"
    kernel = GradientSums(Layout(domain, mixed_cuts(domain)), column, POINT // 2, UNIT)
    assert kernel.max_gradient < probability(3 * POINT)
    assert np.abs(MemoryEngine(table, domain).aggregate(kernel)).sum() == 3 * kernel.max_gradient


def test_the_sensitivities_are_attained():
    domain, table = small_domain(), small_table(30)
    layout, everybody = Layout(domain, mixed_cuts(domain)), ask_once(domain, BinarySplit())
    for score, clip in ((0, UNIT), (-20 * POINT, UNIT), (20 * POINT, UNIT), (-20 * POINT, 700)):
        column = ScoreColumn(everybody, np.array([score], dtype=np.int32))
        bins = GradientSums(layout, column, abs(score), clip)
        cells = CellSums(oblivious(domain, np.random.default_rng(0), 3), column, domain)
        surprise = table.index[table.good == ("no" if score > 0 else "yes")][0]
        full, less = (MemoryEngine(t, domain) for t in (table, table.drop(surprise)))
        moved = full.aggregate(bins) - less.aggregate(bins)
        assert np.abs(moved).sum() == bins.l1 == 3 * bins.max_gradient
        assert (moved**2).sum() == bins.l2_squared
        list_ = StepChoice(bins, BinarySplits(layout))
        change = list_.scores(moved)
        assert change.max() - change.min() == list_.range_ == 2 * bins.max_gradient
        if score:
            moved = full.aggregate(cells) - less.aggregate(cells)
            assert np.abs(moved).sum() == cells.l1
            assert (moved**2).sum() == cells.l2_squared


def test_labels_past_the_second_are_refused_or_stay_within_the_bound():
    domain = Domain([Categorical("a", ("x",))], Categorical("y", ("0", "1", "2")))
    everybody, out = ask_once(domain, BinarySplit()), np.zeros((1, 2), dtype=np.int64)
    try:
        column = ScoreColumn(everybody, np.zeros(1, dtype=np.int32))
        kernel = CellSums(everybody, column, domain)
        batch = Batch(np.zeros((1, 1), dtype=np.uint8), np.array([2], dtype=np.uint8))
        batch.derived[column] = column.compute(batch)
        kernel.add(batch, out)
    except (FrithError, ValueError):
        return
    assert np.abs(out).sum() <= kernel.l1


def test_what_is_far_off_on_one_side_is_as_far_off_on_the_other():
    """So that the largest gradient at a reach is that of either side."""
    assert np.array_equal(SIGMOID + SIGMOID[::-1], np.full(len(SIGMOID), UNIT))
    assert np.all(np.diff(SIGMOID) >= 0)
