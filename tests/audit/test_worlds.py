"""Replay, widened: any domain, table, neighbor, place and release, for every learner."""

import os
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import Budget, Numeric, open_table
from frith.audit.frozen import FROZEN, FrozenSource, arbitrary_releases
from frith.audit.pairs import hard_pairs, random_pair, worst_pairs
from frith.audit.places import as_texts, places
from frith.audit.replay import compare, observe
from frith.audit.replay_rung import audit_replay
from frith.audit.sizes import QUICK
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LeafCounts
from tests.audit.subjects import BUDGETS, SUBJECTS
from tests.strategies import domains, examples, tables

subjects = pytest.mark.parametrize("subject", SUBJECTS.values(), ids=SUBJECTS.keys())


@subjects
@pytest.mark.parametrize("budget", BUDGETS.values(), ids=BUDGETS.keys())
def test_every_learner_passes(subject, budget):
    outcome = audit_replay(subject, budget, QUICK)
    assert not outcome.failed, outcome.found


def released(drawn):
    """Releases that hypothesis draws: it may choose the worst for each question."""
    numbers = drawn.draw(st.lists(st.integers(-300, 3_000), min_size=1, max_size=40))

    def invent(i, shape):
        return np.resize(np.roll(numbers, 7 * i), shape).astype(np.int64)

    return invent


@subjects
@examples(6)
@given(st.data())
def test_any_table_of_any_domain_replays_within_the_budget(subject, data):
    """Numbers beyond their bounds, texts among numbers, missing cells: and one record less."""
    domain = data.draw(domains(most=3))
    if subject.target:
        declared = data.draw(st.sampled_from([None, 150]))
        domain = replace(domain, label=Numeric("target", -1, 7), records=declared)
    table = as_table(data.draw(tables(domain, max_size=8)))
    row = data.draw(st.integers(0, max(0, len(table) - 1)))
    less = table.slice(0, row).to_pandas(), table.slice(row + 1).to_pandas()
    import pandas as pd
    import pyarrow as pa

    neighbor = pa.Table.from_pandas(pd.concat(less), schema=table.schema, preserve_index=False)
    budget = data.draw(st.sampled_from([Budget.of("0.7"), Budget.of(2, 1e-6)]))
    invent = released(data)
    traces = [observe(subject, open_table(t, domain), budget, invent) for t in (table, neighbor)]
    result = compare(*traces, budget)
    assert result.holds, result
    assert not traces[0].public["the error"]


def as_table(columns):
    import pandas as pd

    return as_texts(
        pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    )


@pytest.mark.parametrize("seed", range(40 if os.environ.get("FRITH_FULL") == "1" else 4))
def test_the_worst_record_moves_every_kernel_as_far_as_any(seed):
    """What `worst_pairs` adds is, of the records it tries, one that moves the kernel the most."""
    pair = random_pair(seed)
    trees = grow_random_trees(pair.domain, 2, 2, np.random.default_rng(seed))
    kernel = LeafCounts(trees, pair.domain)
    (worst,) = worst_pairs(pair, [kernel], np.random.default_rng(seed))
    with_, without = (
        open_table(t, worst.domain).aggregate(kernel) for t in (worst.table, worst.neighbor)
    )
    most = 1 if pair.domain.person is None else pair.domain.person.records
    assert np.abs(with_ - without).sum() == 2 * most


def test_every_place_holds_the_same_records(tmp_path):
    for seed in range(3):
        pair = random_pair(seed)
        trees = grow_random_trees(pair.domain, 2, 2, np.random.default_rng(seed))
        kernel = LeafCounts(trees, pair.domain)
        found = places(tmp_path)
        assert {"memory", "files"} <= set(found)
        sums = [open_(pair.table, pair.domain).aggregate(kernel) for open_ in found.values()]
        assert all(np.array_equal(s, sums[0]) for s in sums)


@pytest.mark.parametrize("name", ["forest", "gini", "random-decision"])
def test_replay_holds_on_postgresql(name, postgres_database):
    import psycopg

    pair = hard_pairs()[0]
    with psycopg.connect(postgres_database) as connection:
        for table, frame in (("one", pair.table), ("other", pair.neighbor)):
            columns = ", ".join(f'"{c}" text' for c in frame.columns)
            connection.execute(f'CREATE TABLE "{table}" ({columns})')
            marks = ", ".join(["%s"] * len(frame.columns))
            for row in as_texts(frame).to_pylist():
                connection.execute(f'INSERT INTO "{table}" VALUES ({marks})', list(row.values()))
    joint = "&" if "?" in postgres_database else "?"
    engines = [
        open_table(f"{postgres_database}{joint}table={t}", pair.domain) for t in ("one", "other")
    ]
    budget = Budget.of(1)
    traces = [observe(SUBJECTS[name], e, budget, arbitrary_releases(3)) for e in engines]
    assert compare(*traces, budget).holds


def test_an_error_that_depends_on_records_is_a_difference():
    class Raises:
        def learn(self, curator):
            if len(curator._engine._engine._encoded) % 2:
                raise ValueError("odd")

    from frith.audit.subjects import Subject

    pair = hard_pairs()[0]
    subject = Subject("raises", Raises)
    traces = [
        observe(subject, subject.open(t, pair.domain), Budget.of(1), arbitrary_releases(0))
        for t in (pair.table, pair.neighbor)
    ]
    assert "the error" in compare(*traces, Budget.of(1)).differences


def test_nothing_frozen_states_a_guarantee():
    for subject in SUBJECTS.values():
        pair = hard_pairs(target=subject.target)[0]
        engine = subject.open(pair.table, pair.domain)
        trace = observe(subject, engine, Budget.of(1), FrozenSource(arbitrary_releases(0)))
        assert FROZEN in trace.public["the forest's guarantee"]
        assert '"epsilon": "inf"' in trace.public["the forest's guarantee"]
