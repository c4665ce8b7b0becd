"""Sums by pairs of bins are those by bins; scores that are raised in place are those made anew."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.curator import Curator
from frith.domain import Categorical, Domain, Numeric
from frith.domain.encoding import Batch
from frith.domain.synthetic import synthetic_table
from frith.engines import MemoryEngine
from frith.engines.base import LocalEngine
from frith.engines.part import Part
from frith.kernels.gradients import GradientSums, ScoreColumn
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.pairs import paired_bins
from frith.learners import BY_NAME, ForestRegressor
from frith.privacy.budget import Budget
from frith.privacy.sources import ExactSource
from tests.engines.both_engines import BothEngines
from tests.strategies import domains, examples, lone, trees


def batch_of(domain, rows, rng):
    columns = [rng.integers(0, a.size, rows) for a in domain.attributes]
    codes = np.column_stack(columns).astype(domain.code_type)
    return Batch(codes, rng.integers(0, 2, rows).astype(np.uint8))


@examples(25)
@given(data=st.data())
def test_pairs_give_the_sums_and_scores_of_single_bins(data):
    drawn = data.draw(domains(most=5))
    domain = Domain(drawn.attributes, Categorical("y", ("no", "yes")))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    layout, rows = Layout(domain, mixed_cuts(domain)), 300
    column = None
    for _ in range(3):
        tree = lone(data.draw(trees(domain)), 0, domain)
        values = rng.integers(-(2**17), 2**17, len(tree.leaves))
        column = ScoreColumn(tree, values, column)
    kernel = GradientSums(layout, column, 2**19, 2**13)
    batch = batch_of(domain, rows, rng)
    plain, paired = np.zeros(layout.n_bins, np.int64), np.zeros(layout.n_bins, np.int64)
    batch.derived[column] = column.compute(batch)
    kernel.add(batch, plain)
    (helper,) = kernel.helpers
    other = Batch(batch.codes, batch.labels)
    other.derived[helper] = helper.compute(other)
    other.derived[column] = column.compute(other)
    assert np.array_equal(other.derived[column], batch.derived[column])
    kernel.add(other, paired)
    assert np.array_equal(plain, paired)


def test_too_many_bins_are_not_paired():
    wide = [Categorical(f"c{i}", tuple(map(str, range(300)))) for i in range(2)]
    domain = Domain(wide, Categorical("y", ("no", "yes")))
    assert paired_bins(Layout(domain, mixed_cuts(domain))) is None


class Recomputing(LocalEngine):
    """Keeps nothing between passes."""

    def __init__(self, memory):
        super().__init__(memory.domain, 1)
        self.memory = memory

    def tasks(self, attributes):
        return self.memory.tasks(attributes)


LABELS = {
    "forest": (Categorical("y", ("no", "yes")), BY_NAME["forest"]),
    "three labels": (Categorical("y", ("a", "b", "c")), BY_NAME["forest"]),
    "number": (Numeric("y", 0, 1, cells=50), ForestRegressor),
}


@pytest.mark.parametrize(("label", "make"), LABELS.values(), ids=LABELS)
@pytest.mark.parametrize("is_part", [False, True])
def test_a_fit_over_kept_columns_has_the_sums_of_one_that_keeps_none(label, make, is_part):
    numbers = [Numeric(f"x{i}", 0, 1, cells=100) for i in range(3)]
    domain = Domain([*numbers, Categorical("c", ("u", "v", "w"))], label, records=10**6)
    table = synthetic_table(domain, 3_000, np.random.default_rng(0))
    one, other = (MemoryEngine(table, domain, threads=2, rows=700) for _ in range(2))
    if is_part:
        one, other = (Part(engine, 0.5, rest=False) for engine in (one, other))
    else:
        other = Recomputing(other)
    engine = BothEngines(one, other)
    engine.other.derive = lambda column: None
    make(domain=domain, epsilon=1).learn(Curator(engine, Budget.of(1), source=ExactSource()))
    assert len(engine.seen) > 1


@pytest.mark.parametrize("is_fused", [True, False])
def test_a_pass_that_fails_half_way_leaves_nothing_half_done(monkeypatch, is_fused):
    """Both when one loop updates scores and adds up gradients, and when each part is a batch."""
    domain = Domain([Numeric("x", 0, 1, cells=8)], Categorical("y", ("no", "yes")))
    table = synthetic_table(domain, 1_000, np.random.default_rng(0))
    engine = MemoryEngine(table, domain, threads=1, rows=100)
    layout = Layout(domain, mixed_cuts(domain))
    tree = lone(_one_split(domain), 0, domain)
    first = ScoreColumn(tree, [5, -5])
    second = ScoreColumn(tree, [70_000, -9], first)
    kernel = GradientSums(layout, second, 10**6, 2**13)
    expected = MemoryEngine(table, domain).aggregate(kernel)
    engine.derive(first)
    engine.aggregate(GradientSums(layout, first, 10**6, 2**13))
    engine.derive(second)
    calls = iter(range(100))
    add, adder = GradientSums.add, GradientSums.adder

    def fail_at_the_second() -> None:
        if next(calls) == 1:
            raise MemoryError

    def failing(self, batch, out):
        fail_at_the_second()
        add(self, batch, out)

    def failing_adder(self, *given):
        add_part = adder(self, *given)

        def add_or_fail(*part):
            fail_at_the_second()
            add_part(*part)

        return add_or_fail if is_fused else None

    monkeypatch.setattr(GradientSums, "add", failing)
    monkeypatch.setattr(GradientSums, "adder", failing_adder)
    with pytest.raises(MemoryError):
        engine.aggregate(kernel)
    monkeypatch.undo()
    assert np.array_equal(engine.aggregate(kernel), expected)


def _one_split(domain):
    from frith.growing.oblivious import ask_once
    from frith.kernels.splits import BinarySplit

    return ask_once(domain, BinarySplit(0, cut=3))
