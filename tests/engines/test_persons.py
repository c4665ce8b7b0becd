"""At most m records of each person, and nothing that one person does changes what another keeps."""

import gc
import tempfile
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith.domain import Categorical, Domain, Numeric, Person
from frith.engines import FileEngine, MemoryEngine, stream
from frith.errors import DataError, SourceError
from frith.kernels import LeafCounts, RecordCount
from tests import twins
from tests.engines.tables import WITH_NAMES, arrow, frame, spelled, texts, write
from tests.engines.test_conformance import SumByLabel, SumOfCodes
from tests.strategies import domains, examples, tables, trees

every_engine = pytest.mark.parametrize("opened", WITH_NAMES.values(), ids=WITH_NAMES)
NAMES = ["ann", "bob", "eve", "Ann", "bob ", "1", "1.0"]

people = st.one_of(
    st.just(st.none() | st.sampled_from(NAMES)),
    st.just(st.none() | st.integers(0, 3)),
    st.just(st.none() | st.sampled_from([0.0, 1.0, 2.5, float("nan")])),
)


class Collect:
    """A kernel for tests alone: it keeps the records it is shown."""

    shape, derived, l1, l2_squared = (1,), (), 1, 1

    def __init__(self, domain):
        self.attributes = tuple(range(len(domain.attributes)))
        self.seen = Counter()
        self.lock = threading.Lock()

    def add(self, batch, out):
        pairs = zip(map(tuple, batch.codes.tolist()), batch.labels.tolist(), strict=True)
        with self.lock:
            self.seen.update(pairs)


def kept(engine):
    kernel = Collect(engine.domain)
    engine.aggregate(kernel)
    return kernel.seen


@st.composite
def people_tables(draw, domain, max_size=20):
    """A table in which persons have many records, some of them equal, and some rows no person."""
    table = draw(tables(domain, max_size))
    rows = len(table[domain.label.name])
    cells = draw(people)
    return table | {domain.person.column: draw(st.lists(cells, min_size=rows, max_size=rows))}


def without(table, column, person):
    rows = [i for i, p in enumerate(table[column]) if twins.text_of(p) != person]
    return {name: [cells[i] for i in rows] for name, cells in table.items()}


@pytest.fixture(autouse=True)
def small_buckets(monkeypatch):
    """Files of a few hundred bytes are dealt to several buckets, as large ones are."""
    monkeypatch.setattr(stream, "BUCKET_BYTES", 300)


# -- what is kept ----------------------------------------------------------------------------------


@every_engine
@examples(20)
@given(data=st.data())
def test_the_kept_records_are_those_of_the_twin(opened, data):
    """In any order, batches, threads and engine, whatever the type of the person's column."""
    domain = data.draw(domains(person=True))
    table = data.draw(people_tables(domain))
    expected = twins.kept_records(table, domain)
    order = data.draw(st.permutations(range(len(table[domain.label.name]))))
    shuffled = {name: [cells[i] for i in order] for name, cells in table.items()}
    grown = data.draw(trees(domain))
    threads, rows = data.draw(st.sampled_from([1, 3])), data.draw(st.sampled_from([1, 3, 100]))
    with opened(shuffled, domain, threads=threads, rows=rows) as engine:
        assert kept(engine) == expected
        assert engine.aggregate(RecordCount()).tolist() == [expected.total()]
        counts = engine.aggregate(LeafCounts(grown, domain))
    assert np.array_equal(counts, twins.leaf_counts(expected.elements(), domain, grown))


WHO = Domain(
    (
        Categorical("who again", tuple("abcdefgh")),  # so that a kept record tells whose it is
        Numeric("size", 0, 100, cells=50),
    ),
    Categorical("class", ("no", "yes")),
    person=Person("who", 3),
)


def crowd(rows, seed, persons="abcdefgh"):
    rng = np.random.default_rng(seed)
    who = rng.choice(list(persons), rows).tolist()
    return {
        "who again": who,
        "size": rng.uniform(0, 100, rows).round().tolist(),
        "class": rng.choice(["no", "yes", "unknown"], rows, p=[0.45, 0.45, 0.1]).tolist(),
        "who": who,
    }


def by_person(records):
    owners = {}
    for (codes, label), times in records.items():
        owners.setdefault(codes[0], Counter())[codes, label] += times
    return owners


@pytest.mark.parametrize("records", [1, 3, 10, 1_000])
@pytest.mark.parametrize("seed", range(3))
def test_everyone_keeps_as_many_as_allowed_and_only_their_own(records, seed):
    domain = Domain(WHO.attributes, WHO.label, person=Person("who", records))
    table = crowd(200, seed)
    owned = by_person(Counter(twins.records_of(table, domain)))
    left = by_person(kept(MemoryEngine(frame(table), domain)))
    assert left.keys() == owned.keys()
    for person, theirs in owned.items():
        assert left[person] <= theirs
        assert left[person].total() == min(records, theirs.total())


@pytest.mark.parametrize("seed", range(3))
def test_removing_a_person_changes_nothing_that_others_keep(seed):
    table = crowd(120, seed)
    before = by_person(kept(MemoryEngine(frame(table), WHO)))
    for code, person in enumerate("abcdefgh"):
        after = by_person(kept(MemoryEngine(frame(without(table, "who", person)), WHO)))
        assert after == {owner: theirs for owner, theirs in before.items() if owner != code}


@every_engine
@examples(8)
@given(data=st.data())
def test_removing_a_person_moves_the_counts_by_at_most_m_times_the_trees(opened, data):
    domain = data.draw(domains(person=True))
    table = data.draw(people_tables(domain))
    kernel = LeafCounts(data.draw(trees(domain)), domain)
    everyone = {twins.text_of(p) for p in table[domain.person.column]} - {None}
    with opened(table, domain, threads=1) as engine:
        counts = engine.aggregate(kernel)
    for person in everyone:
        with opened(without(table, domain.person.column, person), domain, threads=1) as engine:
            moved = counts - engine.aggregate(kernel)
        assert np.all(moved >= 0)
        assert moved.sum() <= domain.person.records * kernel.l1


def test_kept_records_are_not_the_first_in_any_order():
    """A choice by position would depend on how a file is sorted."""
    table = crowd(200, seed=1)
    rows = list(range(200))
    forwards, backwards = (
        kept(MemoryEngine(frame({k: [v[i] for i in order] for k, v in table.items()}), WHO))
        for order in (rows, rows[::-1])
    )
    assert forwards == backwards
    first = Counter()
    for person in "abcdefgh":
        theirs = [i for i in rows if table["who"][i] == person]
        records = twins.records_of({k: [v[i] for i in theirs] for k, v in table.items()}, WHO)
        first.update(records[:3])
    assert forwards != first


def test_another_domain_keeps_other_records():
    """The key is fixed by the domain, so two tables do not share one choice."""
    table = frame(crowd(200, seed=1))
    other = Domain(WHO.attributes, WHO.label, records=200, person=WHO.person)
    assert kept(MemoryEngine(table, WHO)) != kept(MemoryEngine(table, other))


@every_engine
@pytest.mark.parametrize("nobody", [None, "", float("nan")], ids=["null", "empty", "nan"])
def test_rows_without_a_person_are_dropped(opened, nobody):
    table = crowd(40, seed=2)
    some = {k: v for k, v in table.items() if k != "who"}
    if nobody == "":
        some["who"] = ["" if i % 2 else w for i, w in enumerate(table["who"])]
    elif nobody is None:
        some["who"] = [None if i % 2 else w for i, w in enumerate(table["who"])]
    else:
        some["who"] = [nobody if i % 2 else float(ord(w)) for i, w in enumerate(table["who"])]
    named = {name: cells[::2] for name, cells in some.items()}
    with opened(some, WHO, threads=1) as engine, opened(named, WHO, threads=1) as other:
        assert kept(engine) == kept(other)
    with opened(some | {"who": [None] * 40}, WHO, threads=1) as engine:
        assert engine.aggregate(RecordCount()).tolist() == [0]


@pytest.mark.parametrize("suffix", [".parquet", ".feather", ".csv"])
@pytest.mark.parametrize("ids", [[7, 8, 9], [7.0, 8.0, 9.5], ["7", "8", "9.5"]], ids=str)
def test_persons_of_one_spelling_are_the_same_in_every_engine(tmp_path, suffix, ids):
    table = crowd(90, seed=4, persons="abc")
    table["who"] = [ids["abc".index(w)] for w in table["who"]]
    expected = kept(MemoryEngine(frame(table), WHO))
    as_text = {**table, "who": spelled(table)["who"]}
    for form in (table, as_text):
        assert kept(MemoryEngine(arrow(form), WHO)) == expected
        path = write(form, tmp_path / f"table{suffix}")
        assert kept(FileEngine(path, WHO)) == expected


def test_derived_columns_see_the_bounded_records(tmp_path):
    table = crowd(90, seed=5)
    column = SumOfCodes((0, 1))
    expected = [0, 0]
    for (codes, label), times in twins.kept_records(table, WHO).items():
        expected[label] += sum(codes) * times
    for engine in (
        MemoryEngine(frame(table), WHO, rows=10),
        FileEngine(write(table, tmp_path / "t.parquet"), WHO, rows=10),
    ):
        engine.derive(column)
        assert engine.aggregate(SumByLabel(column, (2,))).tolist() == expected


# -- doors and files -------------------------------------------------------------------------------


def test_an_array_has_no_persons_and_says_so():
    with pytest.raises(DataError, match="person"):
        MemoryEngine(np.zeros((3, 2)), WHO, ["no"] * 3)


def test_any_arrow_stream_may_have_persons():
    table = crowd(60, seed=6)
    expected = kept(MemoryEngine(frame(table), WHO))
    for form in (
        arrow(table),
        arrow(table).to_batches()[0],
        arrow(table).to_reader(),
        texts(table),
    ):
        assert kept(MemoryEngine(form, WHO)) == expected


@every_engine
def test_a_missing_person_column_is_named_at_the_door(opened):
    table = {k: v for k, v in crowd(10, seed=0).items() if k != "who"}
    with pytest.raises(DataError, match="'who'"), opened(table, WHO):
        pass


def test_a_person_column_of_times_is_named_at_the_door():
    table = frame(crowd(10, seed=0)).assign(who=pd.Timedelta("1D"))
    with pytest.raises(DataError, match="'who'"):
        MemoryEngine(table, WHO)


@pytest.fixture
def scratch(monkeypatch, tmp_path):
    """Where temporary files go, to see what is left of them."""
    folder = tmp_path / "scratch"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def test_the_bounded_copy_is_private_and_goes_with_its_engine(scratch, tmp_path):
    engine = FileEngine(write(crowd(300, seed=7), tmp_path / "t.parquet"), WHO)
    assert not list(scratch.iterdir())  # nothing is read before the first question
    first = engine.aggregate(RecordCount())
    (folder,) = scratch.iterdir()
    assert folder.stat().st_mode & 0o077 == 0
    buckets = {f.stem for f in folder.iterdir()}
    assert len(buckets) > 3
    assert not list(folder.glob("*.persons"))  # who they were is not kept
    assert np.array_equal(engine.aggregate(RecordCount()), first)
    assert list(scratch.iterdir()) == [folder]  # made once
    del engine
    gc.collect()
    assert not list(scratch.iterdir())


def test_a_copy_that_failed_leaves_no_files(scratch, tmp_path):
    path = write(crowd(300, seed=7), tmp_path / "t.parquet")
    engine = FileEngine(path, WHO)
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(SourceError):
        engine.aggregate(RecordCount())
    del engine
    gc.collect()
    assert not list(scratch.iterdir())


def test_every_pass_reads_the_bounded_copy_and_not_the_file(tmp_path):
    """Bounding again, or reading the source again, could keep other records."""
    path = write(crowd(300, seed=8), tmp_path / "t.csv")
    engine = FileEngine(path, WHO)
    before = kept(engine)
    Path(path).unlink()
    assert kept(engine) == before


def test_a_hash_that_collides_still_leaves_a_choice_without_order(monkeypatch):
    """Records with equal hashes are told apart by what they are, so order never decides."""
    monkeypatch.setattr("frith.engines.persons._hash_records", lambda *args: args[-1].fill(0))
    table = crowd(200, seed=9)
    rows = np.random.default_rng(0).permutation(200).tolist()
    shuffled = {k: [v[i] for i in rows] for k, v in table.items()}
    assert kept(MemoryEngine(frame(table), WHO)) == kept(MemoryEngine(frame(shuffled), WHO))


def test_many_persons_share_few_buckets_and_few_persons_leave_some_empty(tmp_path):
    for persons in ("a", "abcdefgh"):
        table = crowd(400, seed=10, persons=persons)
        engine = FileEngine(write(table, tmp_path / "t.csv"), WHO, rows=17)
        assert kept(engine) == twins.kept_records(table, WHO)


def test_persons_are_bounded_over_all_files_of_a_folder(tmp_path):
    table = crowd(100, seed=11)
    write(arrow(table).slice(0, 50), tmp_path / "a.parquet")
    write(pa.table(texts(table)).slice(50), tmp_path / "b.parquet")
    assert kept(FileEngine(tmp_path, WHO)) == twins.kept_records(table, WHO)
