"""Sums for many labels: against naive loops, and never past their stated norms."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from frith import Categorical, Domain
from frith.engines import MemoryEngine, open_table
from frith.gradients import POINT, UNIT, ScoreColumn
from frith.label_gradients import WEIGHTS, LabelCells, LabelGradients
from frith.layout import Layout, mixed_cuts
from frith.trees.binary import ObliviousTree, Questions, ask_once
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
    questions = Questions(layout)
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
        y = [UNIT if k == label else 0 for k in range(len(p))]
        if isinstance(kernel, LabelGradients):
            vector = [yk - pk for yk, pk in zip(y, p, strict=True)]
            norm = max(UNIT, sum(map(abs, vector)))
            vector = [abs(v) * UNIT // norm * (1 if v > 0 else -1) for v in vector]
            lookup, begins = kernel.layout.lookup
            for a, code in enumerate(codes):
                out[lookup[begins[a] + code]] += vector
    return out


@examples(30)
@given(st.integers(0, 10**6), st.integers(1, 40))
def test_gradients_equal_a_naive_loop(seed, rows):
    _, gradients, _ = kernels(seed)
    engine = MemoryEngine(table(30, seed), many(), rows=rows)
    expected = naive(gradients, engine._encoded)
    assert np.array_equal(engine.aggregate(gradients), expected)
    engine.derive(gradients.column)
    assert np.array_equal(engine.aggregate(gradients), expected)


@examples(30)
@given(st.integers(0, 10**6), st.sampled_from([0.0, 1.0, 10.0, 1e3]))
def test_no_record_moves_them_past_their_norms(seed, spread):
    layout, gradients, cells = kernels(seed, spread)
    data = table(20, seed)
    questions = Questions(layout)
    for row in range(20):
        full, less = (open_table(t, many()) for t in (data, data.drop(index=row)))
        moved = full.aggregate(gradients) - less.aggregate(gradients)
        for a in range(len(layout.domain.attributes)):
            assert np.abs(moved[layout.bins(a)]).sum() <= gradients.most
        assert np.abs(questions.scores(moved)).sum(axis=1).max() <= gradients.most
        change = full.aggregate(cells) - less.aggregate(cells)
        assert np.abs(change).sum() <= cells.l1
        assert (change**2).sum() <= cells.l2_squared


def test_a_record_that_is_wholly_wrong_reaches_the_bound():
    domain = many()
    column = ScoreColumn(
        ask_once(domain, Questions(Layout(domain, mixed_cuts(domain)))[0]),
        np.array([[30, 0, 0, 0]] * 2, dtype=np.int32) * POINT,
    )
    gradients = LabelGradients(Layout(domain, mixed_cuts(domain)), column)
    one = small_table(1).assign(good="d")
    sums = open_table(one, domain).aggregate(gradients)
    assert np.abs(sums).sum() == len(domain.attributes) * UNIT
