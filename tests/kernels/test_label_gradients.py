"""Sums for many labels: against naive loops, and never past their stated norms."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain
from frith.engines import MemoryEngine, open_table
from frith.forest.leaf_tables import leaves_of
from frith.growing.oblivious import ObliviousTree, ask_once
from frith.kernels import label_gradients
from frith.kernels.gradients import POINT, UNIT, ScoreColumn
from frith.kernels.label_gradients import (
    WEIGHTS,
    LabelCells,
    LabelGradients,
    _sum_label_cells,
    _sum_vectors,
)
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplit, BinarySplits
from tests import twins
from tests.strategies import examples
from tests.tables import small_domain, small_table

LABELS = ("a", "b", "c", "d")


def many(records=None):
    return Domain(small_domain().attributes, Categorical("good", LABELS), records=records)


def table(rows, seed):
    rng = np.random.default_rng(seed)
    return small_table(rows, seed=seed).assign(good=rng.choice(LABELS, rows))


def kernels(seed, spread=4.0):
    rng = np.random.default_rng(seed)
    domain = many()
    layout = Layout(domain, mixed_cuts(domain))
    questions = BinarySplits(layout)
    column = None
    tree = ObliviousTree(domain)
    for place in rng.integers(0, len(questions), 3):
        made = ask_once(domain, questions[int(place)])
        values = rng.normal(0, spread, (len(made.leaves), len(LABELS))) * POINT
        column = ScoreColumn(made, values.astype(np.int32), column)
        tree.ask(questions[int(place)])
    return layout, LabelGradients(layout, column), LabelCells(tree.trees(), column, domain)


def naive(kernel, batch):
    """One record at a time, in Python's own integers."""
    out = np.zeros(kernel.shape, dtype=object)
    scores = kernel.column.compute(batch)
    for codes, label, score in zip(
        batch.codes.tolist(), batch.labels.tolist(), scores, strict=True
    ):
        behind = [min((int(score.max()) - int(s)) >> 8, len(WEIGHTS) - 1) for s in score]
        weights = [int(WEIGHTS[b]) for b in behind]
        p = [w * UNIT // sum(weights) for w in weights]
        wrong = [(UNIT if k == label else 0) - pk for k, pk in enumerate(p)]
        if isinstance(kernel, LabelGradients):
            vector = shrunk(wrong)
            lookup, begins = kernel.layout.lookup
            for a, code in enumerate(codes):
                out[lookup[begins[a] + code]] += vector
        else:
            halves = [abs(v) // 2 * (1 if v > 0 else -1) for v in wrong]
            curved = [pk * (UNIT - pk) // (2 * UNIT) for pk in p]
            vector = shrunk([*halves, *curved])
            leaf = kernel.tree.leaves.tolist().index(
                twins.leaf_of(codes, kernel.tree.roots[0], kernel.tree)
            )
            out[leaf] += np.array(vector, dtype=object).reshape(2, -1).T
    return out


def shrunk(vector):
    """Towards zero, to an L1 norm of at most UNIT."""
    norm = max(UNIT, sum(map(abs, vector)))
    return [abs(v) * UNIT // norm * (1 if v > 0 else -1) for v in vector]


@examples(30)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_sums_equal_a_naive_loop(seed, rows):
    _, *both = kernels(seed)
    engine = MemoryEngine(table(30, seed), many(), rows=rows)
    expected = [naive(kernel, engine._encoded) for kernel in both]
    for kernel, sums in zip(both, expected, strict=True):
        assert np.array_equal(engine.aggregate(kernel), sums)
    engine.derive(both[0].column)
    for kernel, sums in zip(both, expected, strict=True):
        assert np.array_equal(engine.aggregate(kernel), sums)


def test_norms_hold_at_every_step_of_the_table():
    """A record of the last label, surely of another one, and less and less of a third."""
    domain = many()
    tree = ask_once(domain, BinarySplit())
    codes, labels = np.zeros((1, 3), dtype=np.int32), np.array([3], dtype=np.int32)
    lookup, begins = Layout(domain, mixed_cuts(domain)).lookup
    most, reached = 0, 0
    for step in range(0, len(WEIGHTS), 3):
        scores = np.array([[0, -step << 8, -(2**30), -(2**30)]], dtype=np.int32)
        cells = np.zeros((1, 4, 2), dtype=np.int64)
        _sum_label_cells(leaves_of(tree, codes), labels, scores, WEIGHTS, cells)
        bins = np.zeros((int(lookup.max()) + 1, 4), dtype=np.int64)
        _sum_vectors(codes, labels, scores, WEIGHTS, lookup, begins, bins)
        assert np.abs(bins).sum() <= 3 * UNIT
        most, reached = max(most, np.abs(cells).sum()), max(reached, np.abs(bins).sum())
    assert most == UNIT
    assert reached == 3 * UNIT


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 10.0, 1e3]))
def test_no_record_moves_them_past_their_norms(seed, spread):
    layout, gradients, cells = kernels(seed, spread)
    data = table(20, seed)
    questions = BinarySplits(layout)
    for row in range(20):
        full, less = (open_table(t, many()) for t in (data, data.drop(index=row)))
        moved = full.aggregate(gradients) - less.aggregate(gradients)
        for a in range(len(layout.domain.attributes)):
            assert np.abs(moved[layout.bins(a)]).sum() <= gradients.max_gradient
        assert np.abs(questions.differences(moved)).sum(axis=1).max() <= gradients.max_gradient
        change = full.aggregate(cells) - less.aggregate(cells)
        assert np.abs(change).sum() <= cells.l1
        assert (change**2).sum() <= cells.l2_squared


def test_a_record_that_is_wholly_wrong_reaches_the_bound():
    domain = many()
    column = ScoreColumn(
        ask_once(domain, BinarySplits(Layout(domain, mixed_cuts(domain)))[0]),
        np.array([[30, 0, 0, 0]] * 2, dtype=np.int32) * POINT,
    )
    gradients = LabelGradients(Layout(domain, mixed_cuts(domain)), column)
    one = small_table(1).assign(good="d")
    sums = open_table(one, domain).aggregate(gradients)
    assert np.abs(sums).sum() == len(domain.attributes) * UNIT


def test_probabilities_are_weights_over_their_sum_rounded_down():
    rng = np.random.default_rng(0)
    for _ in range(400):
        scores = rng.integers(-4 * POINT, 4 * POINT, rng.integers(2, 6)).astype(np.int32)
        out = np.zeros(len(scores), dtype=np.int64)
        label_gradients._probabilities(scores, WEIGHTS, out)
        steps = (int(scores.max()) - scores.astype(int)) >> 8
        weights = [int(WEIGHTS[min(s, len(WEIGHTS) - 1)]) for s in steps]
        assert out.tolist() == [w * UNIT // sum(weights) for w in weights]
