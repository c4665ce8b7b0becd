"""One list of checks for every engine: the sums are those of the twin, however they are come by."""

import gc
import weakref
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.domain import Categorical, Domain, Numeric
from frith.domain.encoding import Batch
from frith.engines import FileEngine, MemoryEngine, open_table
from frith.errors import DataError
from frith.growing.random_trees import grow_random_trees
from frith.kernels import ConfusionCounts, LeafCounts, RecordCount, ScoreCounts, StrengthCounts
from frith.kernels.gradients import ScoreColumn
from tests import twins
from tests.engines.tables import ENGINES, WITH_NAMES, arrow, frame, write
from tests.strategies import domains, examples, forests, lone, tables, trees

every_engine = pytest.mark.parametrize("opened", ENGINES.values(), ids=ENGINES)
threads = st.sampled_from([1, 2, 5])
batches = st.sampled_from([1, 2, 7, 1_000])

SMALL = Domain(
    (Categorical("color", ("red", "green"), other="green"), Numeric("size", 0, 10, cells=4)),
    Categorical("class", ("no", "yes")),
)
ROWS = {
    "color": ["red", "green", "pink", None, "red", "red"],
    "size": [1.0, 9.5, -3.0, None, 5.0, 7.0],
    "class": ["no", "yes", "yes", "no", None, "maybe"],  # four known labels
}


# -- sums ------------------------------------------------------------------------------------------


@every_engine
@examples(25)
@given(data=st.data())
def test_counts_equal_the_twin_for_any_batches_threads_and_order(opened, data):
    domain = data.draw(domains())
    table = data.draw(tables(domain))
    grown = data.draw(trees(domain))
    records = twins.records_of(table, domain)
    order = data.draw(st.permutations(range(len(table[domain.label.name]))))
    shuffled = {name: [cells[i] for i in order] for name, cells in table.items()}
    kernel = LeafCounts(grown, domain)
    with opened(shuffled, domain, threads=data.draw(threads), rows=data.draw(batches)) as engine:
        counts = engine.aggregate(kernel)
        assert np.array_equal(counts, twins.leaf_counts(records, domain, grown))
        assert counts.dtype == np.int64
        assert engine.aggregate(RecordCount()).tolist() == [len(records)]
        assert np.array_equal(engine.aggregate(kernel), counts)  # and once more
    for tree in range(grown.n_trees):
        assert counts[leaves_of(grown, tree)].sum() == len(records)


@every_engine
@examples(12)
@given(data=st.data())
def test_a_confusion_matrix_equals_the_twin(opened, data):
    domain = data.draw(domains())
    table, forest = data.draw(tables(domain)), data.draw(forests(domain))
    records = twins.records_of(table, domain)
    with opened(table, domain, threads=data.draw(threads), rows=data.draw(batches)) as engine:
        counts = engine.aggregate(ConfusionCounts(forest))
    expected = twins.confusion_counts(records, forest.trees, forest.values, forest.vote)
    assert np.array_equal(counts, expected)


@every_engine
@examples(8)
@given(data=st.data())
def test_a_histogram_of_scores_equals_the_twin(opened, data):
    domain = data.draw(domains())
    table, forest = data.draw(tables(domain)), data.draw(forests(domain))
    records = twins.records_of(table, domain)
    positive = data.draw(st.integers(0, domain.n_labels - 1))
    edges = sorted(data.draw(st.sets(st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 0.75, 0.9]))))
    by = data.draw(st.none() | st.integers(0, len(domain.attributes) - 1))
    with opened(table, domain, threads=data.draw(threads), rows=data.draw(batches)) as engine:
        counts = engine.aggregate(ScoreCounts(forest, positive, np.array(edges), by))
    groups = None if by is None else (by, group_of_code(domain.attributes[by]))
    assert np.array_equal(counts, twins.score_counts(records, forest, positive, edges, groups))


def group_of_code(attribute):
    """Values apart; of more than 16 cells, four quarters, and missing apart."""
    if not isinstance(attribute, Numeric) or attribute.cells <= 16:
        return list(range(attribute.size))
    return [min(4, int(4 * code / attribute.cells)) for code in range(attribute.size)]


def leaves_of(grown, tree):
    """Which leaves belong to one tree: nodes from its root to before the next."""
    ends = [*grown.roots.tolist(), grown.n_nodes]
    return (grown.leaves >= ends[tree]) & (grown.leaves < ends[tree + 1])


@every_engine
@pytest.mark.parametrize("n_threads", [1, 3])
def test_an_empty_table_gives_zeros_of_the_full_shape(opened, n_threads):
    empty = {name: [] for name in ROWS}
    grown = grow_random_trees(SMALL, 3, 2, np.random.default_rng(0))
    with opened(empty, SMALL, threads=n_threads) as engine:
        counts = engine.aggregate(LeafCounts(grown, SMALL))
        assert counts.shape == (len(grown.leaves), 2)
        assert not counts.any()
        assert engine.aggregate(RecordCount()).tolist() == [0]


@every_engine
def test_records_without_a_known_label_are_not_counted(opened):
    with opened(ROWS, SMALL, threads=2, rows=2) as engine:
        assert engine.aggregate(RecordCount()).tolist() == [4]
    nobody = ROWS | {"class": ["maybe"] * 6}
    with opened(nobody, SMALL, threads=2, rows=2) as engine:
        assert engine.aggregate(RecordCount()).tolist() == [0]


@every_engine
def test_one_record_more_moves_the_counts_of_its_leaves_alone(opened):
    grown = grow_random_trees(SMALL, 4, 2, np.random.default_rng(1))
    kernel = LeafCounts(grown, SMALL)
    fewer = {name: cells[1:] for name, cells in ROWS.items()}
    with opened(ROWS, SMALL, threads=1) as engine, opened(fewer, SMALL, threads=1) as other:
        moved = engine.aggregate(kernel) - other.aggregate(kernel)
    assert np.array_equal(moved, twins.leaf_counts([((0, 0), 0)], SMALL, grown))
    assert np.abs(moved).sum() == kernel.l1


# -- derived columns -------------------------------------------------------------------------------


@dataclass(frozen=True)
class SumOfCodes:
    """A column kernel: an integer for every record."""

    attributes: tuple[int, ...]
    calls: list[int] = field(default_factory=list, compare=False)

    def compute(self, batch):
        self.calls.append(len(batch))
        return batch.codes[:, list(self.attributes)].sum(axis=1, dtype=np.int64)


@dataclass(frozen=True)
class SumByLabel:
    """A kernel that reads a derived column and no attribute of its own."""

    column: SumOfCodes
    shape: tuple[int, ...]
    attributes = ()
    l1 = l2_squared = 1

    @property
    def derived(self):
        return (self.column,)

    def add(self, batch, out):
        np.add.at(out, batch.labels, batch.derived[self.column])


@every_engine
@examples(12)
@given(data=st.data())
def test_derived_columns_give_the_same_sums_kept_or_recomputed(opened, data):
    domain = data.draw(domains())
    table = data.draw(tables(domain))
    chosen = data.draw(st.sets(st.integers(0, len(domain.attributes) - 1), min_size=1))
    column = SumOfCodes(tuple(sorted(chosen)))
    kernel = SumByLabel(column, (domain.n_labels,))
    expected = np.zeros(domain.n_labels, dtype=int)
    for codes, label in twins.records_of(table, domain):
        expected[label] += sum(codes[a] for a in chosen)
    with opened(table, domain, threads=data.draw(threads), rows=data.draw(batches)) as engine:
        assert engine.aggregate(kernel).tolist() == expected.tolist()
        engine.derive(column)
        column.calls.clear()
        engine.derive(column)
        assert engine.aggregate(kernel).tolist() == expected.tolist()
        assert not column.calls or isinstance(engine, FileEngine)  # memory keeps it


@every_engine
@examples(8)
@given(data=st.data())
def test_strengths_are_counted_over_two_columns_at_once(opened, data):
    """The start is an earlier column, which an engine that keeps one column has let go."""
    domain = data.draw(domains())
    table = data.draw(tables(domain))
    rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
    column, columns = None, []
    for _ in range(2):
        tree = lone(data.draw(trees(domain)), 0, domain)
        values = rng.integers(-50, 50, (len(tree.leaves), domain.n_labels))
        column = ScoreColumn(tree, values, column)
        columns.append(column)
    factors = np.array([0, 4, 10, 14])
    expected = np.zeros(len(factors), dtype=int)
    for codes, label in twins.records_of(table, domain):
        row = Batch(np.array([codes], dtype=domain.code_type), np.array([label]))
        first, both = (c.compute(row)[0].astype(int) for c in columns)
        best = [int(np.argmax(10 * first + f * (both - first))) for f in factors]
        expected += np.array(best) == label
    kernel = StrengthCounts(*columns, factors, domain)
    with opened(table, domain, threads=data.draw(threads), rows=data.draw(batches)) as engine:
        assert engine.aggregate(kernel).tolist() == expected.tolist()
        for kept in columns:
            engine.derive(kept)
        assert engine.aggregate(kernel).tolist() == expected.tolist()


# -- opening ---------------------------------------------------------------------------------------


def test_a_source_is_opened_by_what_it_is(tmp_path):
    path = write(ROWS, tmp_path / "t.parquet")
    engine = open_table(path, SMALL)
    assert isinstance(engine, FileEngine)
    assert isinstance(open_table(str(path), SMALL), FileEngine)
    assert open_table(engine, SMALL) is engine
    for source in (frame(ROWS), arrow(ROWS), arrow(ROWS).to_batches()[0], arrow(ROWS).to_reader()):
        engine = open_table(source, SMALL, threads=1)
        assert isinstance(engine, MemoryEngine)
        assert engine.aggregate(RecordCount()).tolist() == [4]


@pytest.mark.parametrize(
    "form",
    [
        list,
        tuple,
        pd.Series,
        lambda y: pd.Series(y, index=range(100, 106)),
        lambda y: pd.DataFrame({"any name": y}),
        lambda y: pd.Categorical(y),
        lambda y: np.array(y, dtype=object),
        lambda y: np.array(y, dtype=object).reshape(-1, 1),
        pa.array,
        lambda y: pa.chunked_array([y[:2], y[2:]]),
        lambda y: pa.array(y).dictionary_encode(),
    ],
)
def test_labels_come_in_any_form_and_before_the_tables_own(form):
    table = frame(ROWS).assign(**{"class": "no"})
    engine = MemoryEngine(table, SMALL, form(ROWS["class"]), threads=1)
    grown = grow_random_trees(SMALL, 1, 1, np.random.default_rng(0))
    counts = engine.aggregate(LeafCounts(grown, SMALL))
    assert counts.sum(axis=0).tolist() == [2, 2]


@pytest.mark.parametrize("cell", [np.datetime64("2020"), 1j, "\ud800", 10**400, b"\xff", {}, []])
def test_a_list_of_lists_has_no_type_that_could_be_refused(cell):
    """All its cells alike or one of them: what is in a list is values, and no value raises."""
    for rows in ([[cell, cell]] * 3, [["red", 1.0], ["green", None], [cell, cell]]):
        engine = MemoryEngine(rows, SMALL, ["no"] * 3, threads=1)
        assert engine.aggregate(RecordCount()).tolist() == [3]


def test_labels_of_another_length_are_refused():
    with pytest.raises(DataError, match="differ in their number of rows"):
        MemoryEngine(frame(ROWS), SMALL, ROWS["class"][:5])


@pytest.mark.parametrize("kind", [pa.time32("s"), pa.list_(pa.string())], ids=str)
def test_labels_of_a_type_without_a_place_in_a_domain_are_refused_at_the_door(kind):
    with pytest.raises(DataError, match="'class'"):
        MemoryEngine(frame(ROWS), SMALL, pa.chunked_array([pa.nulls(6, kind)]))


@pytest.mark.parametrize("name", ["color", "size", "class"])
@pytest.mark.parametrize("opened", WITH_NAMES.values(), ids=WITH_NAMES)
def test_a_missing_column_is_named_at_the_door(opened, name):
    table = {k: v for k, v in ROWS.items() if k != name}
    with pytest.raises(DataError, match=f"'{name}'"), opened(table, SMALL):
        pass


@pytest.mark.parametrize(
    "name", ["a.b", "a[0]", "a/b", "é", "a\nb", "0", " ", '"', "\\", "x,y", "a=b", "$", "'", "{}"]
)
@pytest.mark.parametrize("opened", WITH_NAMES.values(), ids=WITH_NAMES)
def test_columns_may_have_awkward_names(opened, name):
    domain = Domain((Categorical(name, ("x", "y")),), Categorical("class", ("no", "yes")))
    table = {name: ["x", "y", "y"], "class": ["no", "yes", "no"], "and more": [1, 2, 3]}
    grown = grow_random_trees(domain, 1, 1, np.random.default_rng(0))
    with opened(table, domain, threads=1) as engine:
        assert engine.aggregate(LeafCounts(grown, domain)).tolist() == [[1, 0], [1, 1]]


def test_the_raw_table_is_let_go_once_it_is_encoded():
    table = frame(ROWS)
    engine = MemoryEngine(table, SMALL, threads=1)
    alive = weakref.ref(table)
    del table
    assert alive() is not None
    assert engine.aggregate(RecordCount()).tolist() == [4]
    gc.collect()
    assert alive() is None
    assert engine.aggregate(RecordCount()).tolist() == [4]


def test_columns_that_the_domain_does_not_name_are_not_looked_at():
    """Not even where they are of a type that no domain describes."""
    table = frame(ROWS).assign(when=pd.Timestamp("2020"), mixed=[1, "a", None, b"", {}, []])
    assert MemoryEngine(table, SMALL).aggregate(RecordCount()).tolist() == [4]
