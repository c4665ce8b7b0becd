"""What holds for a table in any database: the sums of the memory engine, and nothing but sums."""

import re
import threading
import traceback
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from frith import (
    Categorical,
    Date,
    Domain,
    ForestRegressor,
    Ledger,
    Numeric,
    RandomDecisionForestClassifier,
    open_table,
)
from frith.engines import MemoryEngine
from frith.engines.sql import AGAIN
from frith.errors import DataError, SourceError
from frith.growing.random_trees import grow_random_trees
from frith.kernels import ConfusionCounts, LeafCounts, RecordCount
from tests import twins
from tests.engines.tables import arrow
from tests.kernels.test_levels import grown
from tests.learners.conformance import LEARNERS
from tests.strategies import FULL, domains, forest_over, tables, trees
from tests.tables import person_domain, small_domain, small_table

ROW_WISE = "each row of the query's result depends on one protected record alone"
one_store = settings(
    max_examples=240 if FULL else 8, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def awkward_table(n=300):
    """Missing numbers, values outside the domain, labels that are none."""
    table = small_table(n)
    table.loc[::11, "size"] = np.nan
    table.loc[::13, "color"] = "mauve"
    table.loc[::17, "good"] = None
    table.loc[::19, "who"] = None
    return table


def leaf_counts(engine, seed=0):
    forest = grow_random_trees(engine.domain, 3, 2, np.random.default_rng(seed))
    return engine.aggregate(LeafCounts(forest, engine.domain))


def count(url, domain=None):
    return int(open_table(url, domain or small_domain()).aggregate(RecordCount())[0])


# -- sums ------------------------------------------------------------------------------------------


@one_store
@given(data=st.data())
def test_counts_equal_the_twin_and_the_memory_engine(store, data):
    domain = data.draw(domains())
    table = data.draw(tables(domain))
    table = {k: [_storable(c) for c in cells] for k, cells in table.items()}
    grown_trees = data.draw(trees(domain))
    kernel = LeafCounts(grown_trees, domain)
    engine = open_table(store.save(table), domain, threads=data.draw(st.sampled_from([1, 3])))
    engine._rows = data.draw(st.sampled_from([1, 2, 7, 1_000]))
    records = twins.records_of(table, domain)
    counts = engine.aggregate(kernel)
    assert np.array_equal(counts, twins.leaf_counts(records, domain, grown_trees))
    assert np.array_equal(counts, MemoryEngine(arrow(table), domain).aggregate(kernel))
    assert engine.aggregate(RecordCount()).tolist() == [len(records)]
    forest = forest_over(domain, grown_trees, "shares")
    expected = twins.confusion_counts(records, grown_trees, forest.values, "shares")
    assert np.array_equal(engine.aggregate(ConfusionCounts(forest)), expected)
    engine.close()


def _storable(cell):
    """PostgreSQL has no text with a NUL in it."""
    return cell.replace("\0", "") if isinstance(cell, str) else cell


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("domain", [small_domain(), person_domain()], ids=["records", "persons"])
def test_a_level_of_split_counts_equals_the_memory_engines(store, domain, seed):
    table = awkward_table()
    grower, leaves = grown(domain, seed, n_trees=2, splits=4)
    level, _ = grower.level(leaves)
    engine = open_table(store.save(table), domain)
    assert np.array_equal(engine.aggregate(level), MemoryEngine(table, domain).aggregate(level))


@pytest.mark.parametrize("domain", [small_domain(), person_domain()], ids=["records", "persons"])
@pytest.mark.parametrize("make", LEARNERS.values(), ids=LEARNERS)
def test_every_learner_gives_the_same_exact_forest(store, make, domain):
    table = awkward_table()
    model = make(domain, epsilon="inf", random_state=0)
    here = clone(model).fit(table[["color", "round", "size", "who", "good"]]).forest_
    there = clone(model).fit(open_table(store.save(table), domain)).forest_
    assert here.trees == there.trees
    assert np.array_equal(here.values, there.values)


@pytest.mark.parametrize("domain", [small_domain(), person_domain()], ids=["records", "persons"])
@pytest.mark.parametrize(
    "label", [Numeric("weight", 0, 12), Numeric("weight", 0.5, 12, scale="log")], ids=["", "log"]
)
def test_a_number_to_predict_gives_the_same_exact_forest(store, domain, label):
    """Missing targets, targets outside the bounds, and numbers that a database calls NaN."""
    domain = replace(domain, label=label)
    table = awkward_table()
    weight = table["size"].fillna(3) + (table["color"] == "red")
    weight[::7], weight[::9], weight[::23] = np.nan, 1e9, -4.0
    table["weight"] = weight
    model = ForestRegressor(domain, epsilon="inf")
    here = clone(model).fit(table[["color", "round", "size", "who", "weight"]]).forest_
    there = clone(model).fit(open_table(store.save(table), domain)).forest_
    assert here.trees == there.trees
    assert np.array_equal(here.values, there.values)
    assert here.trees.n_trees > 1


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("domain", [small_domain(), person_domain()], ids=["records", "persons"])
def test_an_empty_table_gives_zeros_of_the_full_shape(store, domain, n_threads):
    engine = open_table(store.save(small_table(3).iloc[:0].astype({"who": str})), domain)
    engine.threads = n_threads
    assert not leaf_counts(engine).any()
    assert engine.aggregate(RecordCount()).tolist() == [0]


def test_persons_with_long_numbers_are_told_apart(store):
    """Two numbers that are one as floats are two persons, whatever exact type they have."""
    domain = person_domain(records=1)
    table = small_table(4).assign(who=["9007199254740993", "9007199254740992"] * 2)
    store.save(table, "numbered")
    for kind in ("bigint", "numeric(38, 2)", "numeric(20, 0)"):
        query = f"SELECT color, round, size, good, CAST(who AS {kind}) AS who FROM numbered"
        assert count(store.url(query=query), domain) == 2


@pytest.mark.parametrize("kind", [pa.decimal128(10, 3), pa.decimal128(38, 10)], ids=str)
def test_decimals_are_what_they_are_in_memory(store, kind):
    cells = ["1.5", "2", "2.50", "0.1", "-7.125", "1000", None, "10", "3.333", "0", "100"]
    table = pa.table({"a": pa.array(cells).cast(kind), "c": ["yes"] * len(cells)})
    url = store.save(table)
    for attribute in (
        Numeric("a", 0, 10, cells=64, missing=True),
        Categorical("a", (1000, 2.5, 2, 0.1, 10, 1.5), missing=2),
        Categorical("a", ("?", "1000", "2", "10", "1.5", "2.5")),
    ):
        domain = Domain((attribute,), Categorical("c", ("no", "yes")))
        ours, memory = open_table(url, domain), MemoryEngine(table, domain)
        for seed in range(5):
            assert np.array_equal(leaf_counts(ours, seed), leaf_counts(memory, seed))


# -- columns ---------------------------------------------------------------------------------------


def test_only_what_a_pass_needs_is_selected(store, monkeypatch):
    engine = open_table(store.save(small_table()), small_domain())
    asked = []
    read = engine.read
    monkeypatch.setattr(engine, "read", lambda sql, until: asked.append(sql) or read(sql, until))
    engine.aggregate(RecordCount())
    (batch,) = engine.scan(["size"])
    assert [len(set(re.findall(r"\bc\d+", sql.rpartition(" FROM ")[0]))) for sql in asked] == [1, 1]
    assert batch.schema.names == ["size"]


@pytest.mark.parametrize(
    "name", ["a.b", "Ä", "a b", "0", '"', "'", "{}", "{0}", "c0", "t", "select", "a;b", "%", "--"]
)
def test_columns_and_tables_may_have_awkward_names(store, name):
    domain = Domain((Categorical(name, ("x", "y")),), Categorical("class", ("no", "yes")))
    table = {name: ["x", "y", "y"], "class": ["no", "yes", "no"], "and more": [1, 2, 3]}
    engine = open_table(store.save(table, f"table {name}"), domain)
    forest = grow_random_trees(domain, 1, 1, np.random.default_rng(0))
    assert engine.aggregate(LeafCounts(forest, domain)).tolist() == [[1, 0], [1, 1]]


def test_names_are_told_apart_by_case(store):
    url = store.save(small_table().rename(columns={"size": "Size"}))
    with pytest.raises(DataError, match="no column 'size'"):
        open_table(url, small_domain())


@pytest.mark.parametrize("name", ["color", "size", "good", "who"])
def test_a_missing_column_is_named_at_the_door(store, name):
    url = store.save(small_table().drop(columns=name))
    with pytest.raises(DataError, match=f"no column '{name}'"):
        open_table(url, person_domain())


def test_a_column_that_is_there_twice_is_named(store):
    store.save(small_table(), "twice")
    url = store.url(query="SELECT twice.*, 1 AS size FROM twice")
    with pytest.raises(DataError, match="2 columns 'size'"):
        open_table(url, small_domain())


@pytest.mark.parametrize("kind", ["DATE", "TIMESTAMP", "TIMESTAMPTZ"])
def test_dates_and_times_are_codes_whatever_they_are(store, kind):
    """Infinite ones are clamped; a time zone counts in UTC."""
    times = ["infinity", "-infinity", "2020-01-02", "0001-01-01", "9999-12-31", "2020-01-03 00:00"]
    cells = [f"{kind} '{time}{'+00' if ':' in time and 'TZ' in kind else ''}'" for time in times]
    rows = " UNION ALL ".join(f"SELECT {cell} AS day, 'no' AS good" for cell in [*cells, "NULL"])
    days = Date("day", "2020-01-01", "2020-01-04", missing=True)
    engine = open_table(store.url(query=rows), Domain([days], Categorical("good", ("no",))))
    codes = [code for task in engine.tasks((0,)) for (code,) in task().codes.tolist()]
    assert codes == [3, 0, 1, 0, 3, 2, 4]


@pytest.mark.parametrize("cell", ["TIME '03:04:05'", "INTERVAL '1' DAY", "ARRAY[1, 2]"])
def test_times_and_lists_are_refused_at_the_door_by_name(store, cell):
    url = store.url(query=f"SELECT {cell} AS size, 'red' AS color, 'no' AS round, 'no' AS good")
    with pytest.raises(DataError, match="'size' has type"):
        open_table(url, small_domain())


def test_columns_that_the_domain_does_not_name_are_not_looked_at(store):
    store.save(small_table(), "plain")
    url = store.url(query="SELECT plain.*, DATE '2020-01-02' AS birthday FROM plain")
    assert count(url) == 200


def test_a_missing_table_is_named(store):
    with pytest.raises(SourceError, match="there is no table 'nobody'"):
        open_table(store.url(table="nobody"), small_domain())
    with pytest.raises(SourceError, match=r"there is no table 'no\.body'"):
        open_table(store.url(schema="no", table="body"), small_domain())


def test_labels_are_the_tables_own(store):
    with pytest.raises(DataError, match="pass no y"):
        open_table(store.save(small_table()), small_domain(), ["no"])


# -- queries and views -----------------------------------------------------------------------------


def test_a_table_needs_no_assumption_and_a_query_or_a_view_does(store):
    store.save(small_table(), "base")
    store.run("CREATE VIEW part AS SELECT * FROM base WHERE size > 5")
    big = int((small_table()["size"] > 5).sum())
    assert open_table(store.url(table="base"), small_domain()).assumptions == ()
    assert count(store.url(table="part")) == big
    view = open_table(store.url(table="part"), small_domain())
    assert view.assumptions[0] == ROW_WISE.replace("query", "view")
    query = "SELECT * FROM base WHERE size > 5 -- the big ones"
    for text in (query, query.partition(" --")[0] + " ; ", f"WITH q AS ({query}\n) TABLE q"):
        engine = open_table(store.url(query=text), small_domain())
        assert engine.aggregate(RecordCount()).tolist() == [big]
        assert engine.assumptions[0] == ROW_WISE
    model = RandomDecisionForestClassifier(n_trees=2).fit(engine)
    assert ROW_WISE in model.forest_.guarantee.assumptions


def test_a_schema_is_asked_for_by_name(store):
    store.save(small_table(), "base")
    store.run('CREATE SCHEMA IF NOT EXISTS "the ""other"; DROP TABLE IF EXISTS "the ""other".base')
    store.run('CREATE TABLE "the ""other".base AS SELECT * FROM base LIMIT 7')
    assert count(store.url(schema='the "other', table="base")) == 7
    assert count(store.url(table="base")) == 200


@pytest.mark.parametrize(
    "query",
    [
        "INSERT INTO kept VALUES (2, 'x')",
        "INSERT INTO kept VALUES (2, 'x') RETURNING *",
        "DELETE FROM kept",
        "DROP TABLE kept",
        "UPDATE kept SET a = 2 RETURNING *",
        "COPY kept TO '/tmp/frith-stolen.csv'",
        "COPY (SELECT 1) TO '/tmp/frith-stolen.csv'",
        "SELECT * FROM kept; DROP TABLE kept",
        "SELECT * FROM kept; DROP TABLE kept; SELECT 1",
        "SELECT * FROM kept) AS t; DROP TABLE kept; --",
        "SELECT * FROM kept) AS q, (SELECT 1 AS z",
        "SELECT * FROM kept) AS t(c0); COMMIT; DROP TABLE kept; SELECT * FROM (SELECT 1",
        "WITH gone AS (DELETE FROM kept RETURNING *) SELECT * FROM gone",
        "COMMIT",
        "BEGIN",
        "SET search_path TO x",
        "EXPLAIN SELECT 1",
        "CREATE TABLE kept2 AS SELECT 1",
        "SELECT * INTO kept3 FROM kept",
        "SELECT a, nextval('counter') AS b FROM kept",
        "/* open",
        "SELECT 'open",
        "SELECT $1 AS a, $1 AS b",
        ";",
        "-- nothing",
    ],
)
def test_a_query_that_is_no_select_is_refused_and_changes_nothing(store, query):
    store.run("CREATE TABLE kept (a bigint, b text)")
    store.run("INSERT INTO kept VALUES (1, 'x')")
    store.run("CREATE SEQUENCE counter")
    domain = Domain((Numeric("a", 0, 10),), Categorical("b", ("x", "y")))
    refused = (
        "one SELECT|cannot make sense|cannot be read|new charge"
        if "SELECT" in query
        else "one SELECT"
    )
    with pytest.raises(SourceError, match=refused):
        open_table(store.url(query=query), domain).aggregate(RecordCount())
    assert store.run("SELECT a FROM kept") == [(1,)]
    assert store.run("SELECT nextval('counter')") == [(1,)]


# -- failures --------------------------------------------------------------------------------------

SECRET = "Cassandra's-cell"


def test_a_cell_that_makes_a_query_fail_is_not_shown(store, tmp_path, caplog):
    caplog.set_level("DEBUG")
    store.save(small_table().assign(note=SECRET), "notes")
    query = "SELECT color, round, CAST(note AS integer) AS size, good FROM notes"
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=2)
    model = RandomDecisionForestClassifier(n_trees=2, epsilon=1, ledger=tmp_path / "ledger.db")
    engine = open_table(store.url(query=query), small_domain())
    with pytest.raises(SourceError, match=AGAIN) as caught:
        model.fit(engine)
    shown = "".join(traceback.format_exception(caught.value))
    assert SECRET not in shown + caplog.text
    assert not hasattr(model, "forest_")
    assert len(ledger.entries()) == 1
    with pytest.raises(SourceError, match=AGAIN):  # it stays as it is
        engine.aggregate(RecordCount())


@dataclass(frozen=True)
class Failing(RecordCount):
    """A kernel that fails at its first batch."""

    def add(self, batch, out):
        raise MemoryError


def test_a_pass_that_was_given_up_is_in_nobodys_way(store):
    engine = open_table(store.save(small_table()), small_domain(), threads=1)
    engine._rows = 10
    kept = []
    for _ in range(3):
        with pytest.raises(MemoryError) as caught:
            engine.aggregate(Failing())
        kept.append(caught)  # and the half-read pass with it
        assert engine.aggregate(RecordCount()).tolist() == [200]


def test_a_pass_that_is_overtaken_fails_and_is_not_taken_for_a_whole_one(store):
    engine = open_table(store.save(small_table(5_000)), small_domain())
    engine._rows = 10
    first, second = engine.scan(["size"]), engine.scan(["size"])
    next(first)
    next(second)
    with pytest.raises(SourceError, match=AGAIN):
        list(first)


def test_two_fits_may_share_an_open_table(store):
    engine = open_table(store.save(small_table(2_000)), small_domain())
    engine._rows = 50
    counts = []
    runs = [threading.Thread(target=lambda: counts.append(leaf_counts(engine))) for _ in range(6)]
    for run in runs:
        run.start()
    for run in runs:
        run.join()
    assert len(counts) == 6
    assert all(np.array_equal(c, counts[0]) for c in counts)


def test_a_closed_table_gives_nothing_more(store):
    engine = open_table(store.save(small_table()), small_domain())
    engine.close()
    engine.close()
    with pytest.raises(SourceError, match=AGAIN):
        engine.aggregate(RecordCount())
