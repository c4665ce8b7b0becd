"""Sums of clipped residuals against a loop, in every engine, and what one record can move."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain, Numeric
from frith.domain.encoding import Batch
from frith.engines import MemoryEngine
from frith.errors import FormatError
from frith.forest.trees import Trees
from frith.growing.builder import single_leaf
from frith.growing.oblivious import ObliviousTree
from frith.kernels import (
    IntervalChoice,
    ResidualCells,
    ResidualChoice,
    ResidualSums,
    TargetCounts,
    add_batch,
    residuals,
)
from frith.kernels.base import MAX_RECORDS
from frith.kernels.gradients import UNIT, ScoreColumn
from frith.kernels.layout import Layout, equal_width_cuts, mixed_cuts
from frith.kernels.residuals import HALF, tilt_of
from frith.kernels.splits import BinarySplits
from tests import twins
from tests.engines.tables import WITH_NAMES
from tests.strategies import domains, examples

WIDTHS = (1, 7, 1_000, HALF // 3, HALF, 4 * HALF, 2**24)
TILTS = (0, tilt_of(900), tilt_of(100), 1 - UNIT, UNIT - 1)


# -- the twin --------------------------------------------------------------------------------------


def residual(code, cells, score, width):
    """(t - F) / width in units, rounded towards zero and clipped."""
    target = (2 * code + 1) * HALF // cells - HALF
    share = Fraction((target - score) * UNIT, width)
    return max(-UNIT, min(UNIT, int(share)))  # int() rounds towards zero


def leaf_number(codes, tree):
    return tree.leaves.tolist().index(twins.leaf_of(codes, tree.roots[0], tree))


def residual_of(record, kernel):
    codes, label = record
    score, column = 0, kernel.column
    while column is not None:
        score += int(column.values[leaf_number(codes, column.tree)])
        column = column.before
    return residual(label, kernel.domain.label.cells, score, kernel.width)


def naive_cells(records, kernel):
    out = np.zeros(kernel.shape, dtype=int)
    for record in records:
        c, leaf = residual_of(record, kernel), leaf_number(record[0], kernel.tree)
        out[leaf] += [kernel.tilt + c, UNIT - abs(c)]
    return out


def naive_bins(records, kernel):
    sums = []
    for a, attribute in enumerate(kernel.domain.attributes):
        cuts, is_number = kernel.layout.cuts[a].tolist(), isinstance(attribute, Numeric)
        bins = [0] * (len(cuts) + 1 if is_number else attribute.size)
        for record in records:
            code = record[0][a]
            g = kernel.tilt + residual_of(record, kernel)
            bins[sum(cut <= code for cut in cuts) if is_number else code] += g
        sums += bins
    return np.array(sums)


def naive_parts(records, kernel):
    out = np.zeros(32, dtype=int)
    for _, label in records:
        out[label * 32 // kernel.domain.label.cells] += 1
    return out


# -- domains, tables and kernels ---------------------------------------------------------------------


@st.composite
def targets(draw):
    """A domain of few attributes whose label is a number, with up to 20 records of any sort."""
    domain = draw(domains(most=2))
    cells = draw(st.sampled_from([2, 5, 1_024, 65_535]))
    domain = replace(domain, label=Numeric("target", -1, 7, cells=cells))
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    n = draw(st.integers(0, 20))
    table = {a.name: cells_of(a, n, rng) for a in domain.attributes}
    numbers = rng.choice([*rng.uniform(-3, 9, 8), -1, 7, float("nan"), float("inf")], n)
    table["target"] = numbers.tolist()
    return domain, table, rng


def cells_of(attribute, n, rng):
    if isinstance(attribute, Categorical):
        return [attribute.values[i] for i in rng.integers(0, attribute.size, n)]
    return rng.uniform(attribute.low, attribute.high, n).tolist()


def kernels_of(domain, rng):
    """All three, over a column of two random trees."""
    layout = Layout(
        domain, mixed_cuts(domain) if rng.random() < 0.5 else equal_width_cuts(domain, 3)
    )
    splits, column = BinarySplits(layout), None
    for _ in range(2):
        tree = grown(domain, splits, rng)
        values = rng.integers(-HALF, HALF, len(tree.leaves)).astype(np.int32)
        column = ScoreColumn(tree, values, column)
    width, tilt = int(rng.choice(WIDTHS)), int(rng.choice(TILTS))
    return (
        ResidualSums(layout, column, width, tilt),
        ResidualCells(grown(domain, splits, rng), column, domain, width, tilt),
        TargetCounts(domain),
    )


def grown(domain, splits, rng):
    tree = ObliviousTree(domain)
    for _ in range(3):
        tree.ask(splits[int(rng.integers(len(splits)))])
    return tree.trees()


# -- right sums --------------------------------------------------------------------------------------


@pytest.mark.parametrize("source", WITH_NAMES)
@examples(8)
@given(st.data())
def test_sums_equal_the_twin_in_every_engine(source, data):
    """In batches of any size, whether the column of scores is kept or computed again."""
    domain, table, rng = data.draw(targets())
    records = twins.records_of(table, domain)
    kernels = kernels_of(domain, rng)
    with WITH_NAMES[source](table, domain, rows=int(rng.integers(1, 9)), threads=2) as engine:
        if rng.random() < 0.5:
            engine.derive(kernels[0].column)
        for kernel, naive in zip(kernels, (naive_bins, naive_cells, naive_parts), strict=True):
            assert np.array_equal(engine.aggregate(kernel), naive(records, kernel))


def test_sums_equal_the_twin_without_the_compiler(monkeypatch):
    for name, function in list(vars(residuals).items()):
        if hasattr(function, "py_func"):
            monkeypatch.setattr(residuals, name, function.py_func)
    domain = Domain([Numeric("a", 0, 9, cells=9)], Numeric("target", 0, 9, cells=64))
    rng = np.random.default_rng(0)
    table = {"a": rng.uniform(0, 9, 30).tolist(), "target": rng.uniform(0, 9, 30).tolist()}
    records = twins.records_of(table, domain)
    engine = MemoryEngine(pd.DataFrame(table), domain, threads=1)
    for kernel, naive in zip(
        kernels_of(domain, rng), (naive_bins, naive_cells, naive_parts), strict=True
    ):
        assert np.array_equal(engine.aggregate(kernel), naive(records, kernel))


@examples(200)
@given(
    st.sampled_from([2, 7, 1_024, 65_535]).flatmap(
        lambda n: st.tuples(st.integers(0, n - 1), st.just(n))
    ),
    st.integers(-(2**31), 2**31 - 1) | st.integers(-2 * HALF, 2 * HALF),
    st.sampled_from(WIDTHS),
)
def test_a_residual_is_rounded_towards_zero_and_clipped(place, score, width):
    """At every score that 32 bits hold: one that has wrapped around moves no more than another."""
    code, cells = place
    g = residuals.clipped_residual(code, cells, np.int32(score), width)
    assert g == residual(code, cells, score, width)
    assert abs(g) <= UNIT


def test_records_past_what_32_bits_hold_are_summed_in_parts():
    n = 2 * 65_536 + 3
    domain = Domain([Categorical("a", ("x",))], Numeric("target", 0, 1, cells=2))
    layout = Layout(domain, mixed_cuts(domain))
    column = ScoreColumn(single_leaf(), np.array([-2 * HALF], dtype=np.int32))
    batch = Batch(np.zeros((n, 1), dtype=np.uint8), np.ones(n, dtype=np.uint8))
    most = UNIT - 1
    for kernel, expected in (
        (ResidualSums(layout, column, 1), [n * UNIT]),
        (ResidualSums(layout, column, 1, most), [n * (UNIT + most)]),
        (ResidualCells(single_leaf(), column, domain, 1), [n * UNIT, 0]),
        (ResidualCells(single_leaf(), column, domain, 1, most), [n * (UNIT + most), 0]),
    ):
        out = np.zeros(kernel.shape, dtype=np.int64)
        add_batch(kernel, batch, out)
        assert out.ravel().tolist() == expected


# -- one record --------------------------------------------------------------------------------------


def tiny():
    """Every record of this domain can be tried."""
    attributes = [Categorical("a", ("x", "y")), Numeric("b", 0, 1, cells=3)]
    domain = Domain(attributes, Numeric("target", 0, 1, cells=5))
    every = [(a, b, t) for a in range(2) for b in range(3) for t in range(5)]
    codes = np.array([[a, b] for a, b, _ in every], dtype=domain.code_type)
    labels = np.array([t for *_, t in every], dtype=domain.label_type)
    return domain, [Batch(codes[i : i + 1], labels[i : i + 1]) for i in range(len(every))]


def moved(kernel, batch):
    batch = Batch(batch.codes, batch.labels)
    out = np.zeros(kernel.shape, dtype=np.int64)
    add_batch(kernel, batch, out)
    return out


def test_no_record_of_a_domain_moves_more_than_is_stated_and_one_moves_as_much():
    domain, records = tiny()
    layout = Layout(domain, equal_width_cuts(domain, 3))
    largest = dict.fromkeys(
        ((name, t) for name in ("bins", "cells", "squares", "range", "interval") for t in TILTS), 0
    )
    rng = np.random.default_rng(1)
    for width, tilt in itertools.product(WIDTHS, TILTS):
        most = UNIT + abs(tilt)
        for _ in range(3):
            sums, cells, parts = (
                replace(k, width=width, tilt=tilt) if hasattr(k, "width") else k
                for k in kernels_of(domain, rng)
            )
            sums = replace(sums, layout=layout)
            steps, intervals = ResidualChoice(sums, BinarySplits(layout)), IntervalChoice(parts)
            for record in records:
                of_bins, of_cells = moved(sums, record), moved(cells, record)
                change, risen = steps.scores(of_bins), intervals.scores(moved(parts, record))
                assert np.abs(of_bins).sum() <= sums.l1 == 2 * most
                assert (of_bins**2).sum() <= sums.l2_squared == 2 * most**2
                assert np.abs(of_cells).sum() <= cells.l1 == most
                if not tilt:
                    assert np.abs(of_cells).sum() == UNIT  # whatever its residual
                assert (of_cells**2).sum() <= cells.l2_squared == most**2
                assert change.max() - change.min() <= steps.range_ == 2 * most
                assert risen.min() >= 0
                assert risen.max() <= intervals.range_
                for name, found in (
                    ("bins", np.abs(of_bins).sum()),
                    ("cells", np.abs(of_cells).sum()),
                    ("squares", (of_cells**2).sum()),
                    ("range", change.max() - change.min()),
                    ("interval", risen.max()),
                ):
                    largest[name, tilt] = max(largest[name, tilt], found)
    for tilt in TILTS:
        most = UNIT + abs(tilt)
        assert largest["bins", tilt] == largest["range", tilt] == 2 * most
        assert largest["cells", tilt] == most
        assert largest["squares", tilt] == most**2
        assert largest["interval", tilt] == IntervalChoice.range_


def test_scores_of_steps_and_intervals_are_linear_in_the_records():
    """So what a lone record moves is what it moves in any table."""
    domain, records = tiny()
    sums, _, parts = kernels_of(domain, np.random.default_rng(2))
    for choice in (ResidualChoice(sums, BinarySplits(sums.layout)), IntervalChoice(parts)):
        several = sum(moved(choice.kernel, r) for r in records[:12])
        one = moved(choice.kernel, records[20])
        assert np.array_equal(
            choice.scores(several + one), choice.scores(several) + choice.scores(one)
        )


def test_an_attribute_that_was_asked_k_times_weighs_one_and_k():
    domain, _ = tiny()
    sums, *_ = kernels_of(domain, np.random.default_rng(3))
    splits = BinarySplits(sums.layout)
    asked = tuple(range(2, 2 + len(domain.attributes)))
    plain, told = ResidualChoice(sums, splits), ResidualChoice(sums, splits, asked=asked)
    gained = np.exp(told.weights - plain.weights)
    for place in range(len(splits)):
        attribute = splits[place].attribute
        expected = 1 if attribute < 0 else 1 + asked[attribute]
        assert gained[[2 * place, 2 * place + 1]] == pytest.approx(expected)
    assert np.array_equal(
        plain.scores(np.arange(sums.shape[0])), told.scores(np.arange(sums.shape[0]))
    )
    assert told.range_ == plain.range_


@pytest.mark.parametrize("bad", [(1,), (-1, 0), (0.5, 1), (2**16 + 1, 0), (True, 0), [1] * 9])
def test_what_was_asked_is_told_of_every_attribute_in_whole_numbers(bad):
    domain, _ = tiny()
    sums, *_ = kernels_of(domain, np.random.default_rng(3))
    assert len(domain.attributes) == 2
    with pytest.raises(FormatError, match="how often each attribute was asked"):
        ResidualChoice(sums, BinarySplits(sums.layout), asked=bad)


@pytest.mark.parametrize("width", [0, -1, 1.5, True, None, 2**24 + 1, np.int64(5)])
def test_a_width_that_would_unbound_a_residual_is_refused(width):
    domain, _ = tiny()
    column = ScoreColumn(single_leaf(), np.zeros(1, dtype=np.int32))
    layout = Layout(domain, mixed_cuts(domain))
    for make in (
        lambda: ResidualSums(layout, column, width),
        lambda: ResidualCells(single_leaf(), column, domain, width),
    ):
        with pytest.raises(FormatError, match="a width of residuals"):
            make()


@pytest.mark.parametrize("tilt", [UNIT, -UNIT, 0.5, True, None, np.int64(5)])
def test_a_tilt_that_would_pass_what_sums_hold_is_refused(tilt):
    domain, _ = tiny()
    column = ScoreColumn(single_leaf(), np.zeros(1, dtype=np.int32))
    for make in (
        lambda: ResidualSums(Layout(domain, mixed_cuts(domain)), column, 9, tilt),
        lambda: ResidualCells(single_leaf(), column, domain, 9, tilt),
    ):
        with pytest.raises(FormatError, match="a tilt of residuals"):
            make()


@pytest.mark.parametrize("level", [1, 100, 500, 999])
def test_tilted_sums_vanish_where_a_share_of_the_level_is_below(level):
    """Targets in cells 0 to 999, none within a width of the score."""
    score = (2 * level - 1_000) * HALF // 1_000
    above = [residuals.clipped_residual(i, 1_000, score, 1) for i in range(1_000)]
    assert sum(c < 0 for c in above) == level
    assert abs(sum(tilt_of(level) + c for c in above)) <= 1_000 / 2  # what rounding leaves


# -- intervals ---------------------------------------------------------------------------------------


def test_intervals_cover_the_range_half_over_each_other():
    domain, _ = tiny()
    choice = IntervalChoice(TargetCounts(domain))
    found = [choice.chosen(i) for i in range(len(choice))]
    assert len(found) == 1 + 3 + 7 + 15 + 31
    assert found[0] == (0, HALF)
    for half in (HALF >> j for j in range(5)):
        centers = [c for c, h in found if h == half]
        assert centers == list(range(-HALF + half, HALF - half + 1, half))


def test_an_interval_is_scored_by_the_targets_inside():
    domain = Domain([Categorical("a", ("x",))], Numeric("target", 0, 32, cells=32))
    choice = IntervalChoice(TargetCounts(domain))
    targets = np.array([3, 3, 4, 20])
    sums = np.bincount(targets, minlength=32)
    for score, (center, half) in zip(
        choice.scores(sums), map(choice.chosen, range(len(choice))), strict=True
    ):
        low, high = ((center + s * half + HALF) * 16 // HALF for s in (-1, 1))
        inside = int(((targets >= low) & (targets < high)).sum())
        assert (score > 0) == (inside > 0)
        assert score <= inside * choice.range_
    best = choice.chosen(int(np.argmax(choice.scores(sums))))
    assert best[1] == HALF >> 4


def flat_column(value=0):
    return ScoreColumn(single_leaf(), np.array([value], dtype=np.int32))


def test_a_leaf_adds_up_residuals_and_what_they_leave_of_a_unit():
    domain, records = tiny()
    kernel = ResidualCells(single_leaf(), flat_column(1_000), domain, 4 * HALF, 5)
    found = sum(moved(kernel, record) for record in records)
    own = [residual(int(record.labels[0]), 5, 1_000, 4 * HALF) for record in records]
    assert found.tolist() == [[sum(5 + c for c in own), sum(UNIT - abs(c) for c in own)]]
    assert found[0, 1] > 0


def test_the_smallest_residuals_have_the_sign_of_their_distance():
    """Where the width is one, the smallest distance is all of it."""
    target = (2 * 3 + 1) * HALF // 5 - HALF
    for distance in (-2, -1, 0, 1, 2):
        found = residuals.clipped_residual(3, 5, target - distance, 1)
        assert found == UNIT * np.sign(distance)


def test_a_target_is_in_one_part():
    domain, records = tiny()
    kernel = TargetCounts(domain)
    for record in records:
        assert sorted(moved(kernel, record))[-2:] == [0, 1]
    assert kernel.l1 == kernel.l2_squared == 1


def test_columns_and_trees_of_other_domains_are_refused():
    domain, _ = tiny()
    layout = Layout(domain, equal_width_cuts(domain, 3))
    several = ScoreColumn(single_leaf(), np.zeros((1, 2)))
    strange = Trees([0], [7, -1, -1], [0, -1, -1], [1, -1, -1])
    with pytest.raises(FormatError, match="number of scores"):
        ResidualSums(layout, several, 9)
    with pytest.raises(FormatError, match="number of scores"):
        ResidualCells(single_leaf(), several, domain, 9)
    with pytest.raises(FormatError):
        ResidualCells(strange, flat_column(), domain, 9)


def test_scores_of_intervals_stay_within_64_bits():
    assert MAX_RECORDS * IntervalChoice.range_ < 2**63
