"""PostgreSQL: types, one snapshot for all passes, connections that are cut, passwords."""

import contextlib
import os
import time
import traceback
import uuid

import numpy as np
import pyarrow as pa
import pytest

from frith import Categorical, Domain, Ledger, Numeric, RandomDecisionForestClassifier, open_table
from frith.engines import MemoryEngine, PostgresEngine
from frith.engines import postgres as module
from frith.errors import DataError, SourceError
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LeafCounts, RecordCount
from frith.learners import C45Classifier
from tests.tables import person_domain, small_domain, small_table

pytest.importorskip("adbc_driver_postgresql")

AGAIN = "a new reading is a new fit and a new charge"


def count(url, domain=None):
    return int(open_table(url, domain or small_domain()).aggregate(RecordCount())[0])


def leaves(engine):
    """Records of each value of a domain's one attribute."""
    forest = grow_random_trees(engine.domain, 1, 1, np.random.default_rng(0))
    return engine.aggregate(LeafCounts(forest, engine.domain)).sum(axis=1).tolist()


def of_values(*values, **kwargs):
    return Domain((Categorical("a", values, **kwargs),), Categorical("c", ("y", "n")))


def codes(engine):
    return [code for task in engine.tasks((0,)) for (code,) in task().codes.tolist()]


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "cells", "domain", "expected"),
    [
        ("char(5)", "('ab'), ('abcde'), (' a'), (NULL)", of_values("?", "ab", "abcde", " a"),
         [1, 1, 1, 1]),
        ("varchar(5)", "('ab'), ('ab ')", of_values("?", "ab", "ab "), [0, 1, 1]),
        ('"char"', "('x'), ('y')", of_values("?", "x"), [1, 1]),
        ("name", "('x'), ('é')", of_values("é", "x"), [1, 1]),
        ("mood", "('sad'), ('happy'), ('sad'), (NULL)", of_values("happy", "sad"), [2, 2]),
        ("score", "(1), (2), (2)", of_values(1, 2), [1, 2]),
        ("grade", "('a'), ('b')", of_values("b", "a"), [1, 1]),
        ("uuid", "('AAAAAAAA-0000-0000-0000-000000000001')",
         of_values("?", str(uuid.UUID("aaaaaaaa-0000-0000-0000-000000000001"))), [0, 1]),
        ("bytea", r"('\xC3A9'), ('\xFF')", of_values("?", "é"), [1, 1]),
        ("boolean", "(true), (false), (NULL), (true)", of_values(False, True), [2, 2]),
        ("smallint", "(1), (2), (-32768)", of_values(1, 2, -32768), [1, 1, 1]),
        ("bigint", "(9007199254740993), (9007199254740992)",
         of_values("?", "9007199254740993", "9007199254740992"), [0, 1, 1]),
        ("real", "(0.5), (2), ('NaN'), ('Infinity'), (NULL)",
         of_values(7, 0.5, 2, missing=0.5), [1, 3, 1]),
        ("numeric", "(1.50), (1.5), (100), (-0.0), ('NaN'), (NULL), ('Infinity')",
         of_values(7, 1.5, 100, 0, 3, missing=3), [1, 2, 1, 1, 2]),
        ("numeric(30, 5)", "(1234567890123456789012345.00001), (1.1)",
         of_values("?", "1234567890123456789012345.00001", "1.1"), [0, 1, 1]),
    ],
    ids=lambda p: p if isinstance(p, str) and p[0] != "(" else "",
)  # fmt: skip
def test_a_column_of_any_type_is_counted_by_its_spelling(postgres, kind, cells, domain, expected):
    postgres.run("CREATE TYPE mood AS ENUM ('happy', 'sad')")
    postgres.run("CREATE DOMAIN score AS integer; CREATE DOMAIN grade AS char(3)")
    postgres.run(f"CREATE TABLE typed (a {kind}, c text DEFAULT 'y')")
    postgres.run(f"INSERT INTO typed (a) VALUES {cells}")
    assert leaves(open_table(postgres.url(table="typed"), domain)) == expected


def test_a_numeric_of_any_size_is_placed_and_fails_on_nothing(postgres):
    """PostgreSQL's own cast to a float fails on the first two, and tells them."""
    cells = ["1e400", "-1e400", "1e-400", "0.3", "0.30000", "NaN", "-Infinity", "9.999", None]
    listed = ", ".join("(NULL)" if c is None else f"('{c}')" for c in cells)
    postgres.run("CREATE TABLE sizes (a numeric, c text DEFAULT 'y')")
    postgres.run(f"INSERT INTO sizes (a) VALUES {listed}")
    domain = Domain((Numeric("a", 0, 10, cells=10, missing=True),), Categorical("c", ("y", "n")))
    engine = open_table(postgres.url(table="sizes"), domain, threads=1)
    assert codes(engine) == [9, 0, 0, 0, 0, 10, 0, 9, 10]


def test_numerics_are_the_nearest_float_as_in_memory(postgres):
    rng = np.random.default_rng(0)
    cells = [f"{rng.integers(-(10**9), 10**9)}.{rng.integers(0, 10**9):09d}" for _ in range(500)]
    table = pa.table({"a": pa.array(cells).cast(pa.decimal128(38, 9)), "c": ["y"] * 500})
    domain = Domain((Numeric("a", -1e9, 1e9, cells=60_000),), Categorical("c", ("y", "n")))
    here = codes(MemoryEngine(table, domain, threads=1))
    assert codes(open_table(postgres.save(table), domain, threads=1)) == here


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("time", "time"),
        ("interval", "interval"),
        ("integer[]", r"int4\[\]"),
        ("text[]", r"text\[\]"),
        ("json", "json"),
        ("jsonb", "jsonb"),
        ("money", "money"),
        ("oid", "oid"),
        ("inet", "inet"),
        ("bit(3)", "bit"),
        ("int4range", "."),
        ("pair", "."),
        ("hour", "time"),
    ],
)
def test_types_without_a_place_in_a_domain_are_refused_by_name(postgres, kind, shown):
    postgres.run("CREATE TYPE pair AS (x integer, y integer); CREATE DOMAIN hour AS time")
    postgres.run(f"CREATE TABLE typed (a {kind}, c text)")
    with pytest.raises(DataError, match=f"'a' has type {shown}"):
        open_table(postgres.url(table="typed"), of_values("x"))


@pytest.mark.parametrize(
    ("encoding", "bad"), [("SQL_ASCII", r"\xff"), ("LATIN1", r"\xff"), ("WIN1252", r"\xe9")]
)
def test_texts_in_another_encoding_fail_nothing(postgres, postgres_server, encoding, bad):
    """Where a text's bytes are no UTF-8 it is one of no declared value, and no failure."""
    name = f"db_{encoding.lower()}"
    postgres.run(f"CREATE DATABASE {name} ENCODING '{encoding}' TEMPLATE template0 LOCALE 'C'")
    there = postgres_server.get_uri(database=name)
    texts = f"convert_from('{bad}', '{encoding}')"
    server_side = f"SELECT {texts} AS a, 'y' AS c UNION ALL SELECT 'x', 'y'"
    engine = open_table(
        f"{there}&query={server_side}".replace("%", "%25"), of_values("?", "x", "é")
    )
    assert leaves(engine) == ([1, 1, 0] if encoding != "WIN1252" else [0, 1, 1])
    assert any("UTF8" in a for a in engine.assumptions) == (encoding == "WIN1252")


def test_partitions_and_children_are_part_of_their_table(postgres):
    postgres.run("CREATE TABLE parts (a text, c text) PARTITION BY LIST (a)")
    postgres.run("CREATE TABLE parts_x PARTITION OF parts FOR VALUES IN ('x')")
    postgres.run("CREATE TABLE parts_z PARTITION OF parts DEFAULT")
    postgres.run("INSERT INTO parts VALUES ('x', 'y'), ('z', 'y'), ('z', 'n')")
    engine = open_table(postgres.url(table="parts"), of_values("x", "z"))
    assert leaves(engine) == [1, 2]
    assert engine.assumptions == ()


def test_a_dropped_column_moves_no_other(postgres):
    postgres.run("CREATE TABLE moved (gone text, a text, c text, b text)")
    postgres.run("INSERT INTO moved VALUES ('?', 'x', 'y', '?'); ALTER TABLE moved DROP gone")
    assert leaves(open_table(postgres.url(table="moved"), of_values("z", "x"))) == [0, 1]


def test_a_materialized_view_needs_the_assumption_and_a_sequence_is_no_table(postgres):
    postgres.run("CREATE MATERIALIZED VIEW kept AS SELECT 'x' AS a, 'y' AS c")
    assert open_table(postgres.url(table="kept"), of_values("x")).assumptions
    postgres.run("CREATE SEQUENCE counter")
    with pytest.raises(SourceError, match="there is no table 'counter'"):
        open_table(postgres.url(table="counter"), of_values("x"))


# -- one snapshot ----------------------------------------------------------------------------------


@pytest.mark.parametrize("domain", [small_domain(), person_domain(3)], ids=["records", "persons"])
def test_what_others_write_meanwhile_is_not_seen(postgres, domain):
    table = small_table()
    engine = open_table(postgres.save(table, "watched"), domain)
    postgres.run("INSERT INTO watched SELECT * FROM watched")  # before the first pass
    before = engine.aggregate(RecordCount()).tolist()
    assert before == MemoryEngine(table, domain).aggregate(RecordCount()).tolist()
    postgres.run("DELETE FROM watched WHERE size > 5")  # between two passes
    assert engine.aggregate(RecordCount()).tolist() == before
    scan = engine.scan(["size"])
    engine._rows = 50
    first = next(scan)
    postgres.run("DELETE FROM watched")  # in the middle of one
    assert len(first) + sum(len(b) for b in scan) == 200
    assert count(postgres.url(table="watched"), domain) == 0  # a new reading sees it all


def test_the_transaction_is_repeatable_and_read_only(postgres):
    engine = open_table(postgres.save(small_table(), "kept"), small_domain())
    asked = "SELECT current_setting('transaction_isolation') || current_setting('transaction_read_only')"
    assert engine._ask(asked) == "repeatable readon"
    for attempt in (
        "DELETE FROM kept",
        "SET transaction_read_only = off",
        "CREATE TABLE x (a int)",
    ):
        engine = open_table(postgres.url(table="kept"), small_domain())
        with pytest.raises(Exception, match="read-only|read-write"):
            engine._run(attempt)


def test_a_query_cannot_write_through_a_function(postgres):
    postgres.save(small_table(), "kept")
    postgres.run(
        "CREATE FUNCTION thief() RETURNS integer LANGUAGE sql VOLATILE AS "
        "'DELETE FROM kept RETURNING 1'"
    )
    for query in (
        "SELECT *, thief() FROM kept",
        "SELECT kept.* FROM kept, thief()",
        "SELECT color, round, thief() AS size, good FROM kept",
        "SELECT color, round, set_config('transaction_read_only', 'off', false) AS size, good FROM kept",
    ):
        engine = open_table(postgres.url(query=query), small_domain())
        with contextlib.suppress(SourceError):
            list(engine.scan(["color", "size", "good"]))
        assert postgres.run("SELECT count(*) FROM kept") == [(200,)]


# -- connections -----------------------------------------------------------------------------------


def cut(postgres, engine):
    """End the engine's session from another."""
    postgres.run(f"SELECT pg_terminate_backend({engine.pid}, 5000)")


@pytest.fixture
def opened(postgres):
    """An engine on a table of a megabyte or so, and the process that serves it."""
    engine = open_table(postgres.save(small_table(100_000), "large"), small_domain(), threads=2)
    engine.pid = engine._ask("SELECT pg_backend_pid()")
    return engine


def test_a_connection_cut_between_two_passes_fails_the_fit(postgres, opened, tmp_path):
    """The ledger is charged once, nothing is released, and the engine does not connect again."""
    ledger = Ledger.create(tmp_path / "ledger.db", epsilon=2)
    model = C45Classifier(epsilon=1, max_depth=3, ledger=tmp_path / "ledger.db")
    passes = []

    def progress(purpose):
        passes.append(purpose)
        if len(passes) == 2:
            cut(postgres, opened)

    with pytest.raises(SourceError, match=AGAIN):
        model.fit(opened, progress=progress)
    assert len(passes) == 2
    assert len(ledger.entries()) == 1
    assert not hasattr(model, "forest_")
    for _ in range(2):
        with pytest.raises(SourceError, match=AGAIN):
            opened.aggregate(RecordCount())
    assert postgres.run("SELECT count(*) FROM large") == [(100_000,)]


def test_a_connection_cut_in_the_middle_of_a_pass_fails_it(postgres, opened, monkeypatch):
    monkeypatch.setattr(module, "_BATCH_BYTES", 2**14)
    scan = opened.scan(["color", "good", "size"])
    assert 0 < len(next(scan)) < 10_000
    cut(postgres, opened)
    with pytest.raises(SourceError, match=AGAIN) as caught:
        list(scan)
    shown = "".join(traceback.format_exception(caught.value))
    assert "libpq" not in shown


def test_a_server_that_does_not_answer_is_named_and_the_password_is_not(
    postgres, postgres_server, caplog
):
    caplog.set_level("DEBUG")
    password = "correct-horse"
    base = postgres_server.get_uri().replace("postgres:@", f"postgres:{password}@")
    assert password in base
    cases = {
        base.replace("/postgres?", "/nodb?") + "&table=t": "'nodb': there is no such user",
        base.replace("//postgres:", "//nobody:") + "&table=t": "there is no such user",
        base + "x&table=t": "no server answers at this socket",
        base + "&port=1&table=t": "no server answers at this socket",
        base + "&table=nobody": "there is no table 'nobody'",
        base + "&query=SELEKT": "must be one SELECT",
        base + "&nonsense=1&table=t": "check host, port, user",
    }
    for url, message in cases.items():
        with pytest.raises(SourceError, match=message) as caught:
            open_table(url, small_domain())
        assert password not in "".join(traceback.format_exception(caught.value)) + caplog.text


def test_an_open_engine_does_not_hold_the_password(postgres):
    password = "correct-horse"
    postgres.save(small_table(), "kept")
    url = postgres.url(table="kept").replace("postgres:@", f"postgres:{password}@")
    assert password in url
    engine = open_table(url, small_domain())
    assert engine.aggregate(RecordCount()).tolist() == [200]
    assert password not in repr(engine) + repr(vars(engine)) + repr(vars(engine._connection))


def test_a_user_without_the_right_to_read_is_told_before_anything_is_charged(
    postgres, postgres_server
):
    postgres.save(small_table(), "closed")
    postgres.run("DROP ROLE IF EXISTS stranger; CREATE ROLE stranger LOGIN")
    url = postgres.url(table="closed").replace("//postgres:", "//stranger:")
    with pytest.raises(SourceError, match="there is no table 'closed'"):
        open_table(url, small_domain())
    postgres.run(f"GRANT USAGE ON SCHEMA {postgres.schema} TO stranger")
    with pytest.raises(SourceError, match="may not have the right to"):
        open_table(url, small_domain())
    postgres.run("GRANT SELECT (color, round, size, good) ON closed TO stranger")
    assert count(url) == 200
    with pytest.raises(SourceError, match="may not have the right to"):
        open_table(url, person_domain())


def wait_for(is_so, seconds=120):
    """A session ends soon after its connection."""
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def test_a_forgotten_engine_leaves_no_session_behind(postgres):
    engine = open_table(postgres.save(small_table()), small_domain())
    pid = engine._ask("SELECT pg_backend_pid()")
    there = f"SELECT count(*) FROM pg_stat_activity WHERE pid = {pid} AND state IS NOT NULL"
    assert postgres.run(there) == [(1,)]
    del engine
    wait_for(lambda: postgres.run(there) == [(0,)])


def test_an_engine_that_could_not_be_opened_leaves_no_session_behind(postgres):
    url = postgres.save(small_table()) + "&application_name=left"
    there = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'left'"
    engine = open_table(url, small_domain())
    assert postgres.run(there) == [(1,)]
    with pytest.raises(DataError) as caught:
        open_table(url, of_values("x"))
    engine.close()
    wait_for(lambda: postgres.run(there) == [(0,)])
    assert caught.value.__traceback__ is not None  # and it is not that the engine was forgotten


# -- memory ----------------------------------------------------------------------------------------


def test_a_table_streams_through_less_memory_than_it_has(postgres, monkeypatch):
    monkeypatch.setattr(module, "_BATCH_BYTES", 2**20)
    postgres.run(
        "CREATE TABLE wide AS SELECT repeat(md5(i::text), 16) AS a, 'y'::text AS c "
        "FROM generate_series(1, 120000) i"
    )
    engine = PostgresEngine(postgres.url(table="wide"), of_values("x"), threads=1, rows=1_000)
    before, most, rows = _resident(), 0, 0
    for batch in engine.scan(["a", "c"]):
        assert len(batch) <= 1_000
        rows += len(batch)
        most = max(most, _resident())
    assert rows == 120_000
    assert most - before < 30 * 2**20  # the texts alone are 60 MB


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_fit_from_a_table_carries_its_guarantee(postgres):
    engine = open_table(postgres.save(small_table()), small_domain())
    model = RandomDecisionForestClassifier(n_trees=3, epsilon=1).fit(engine)
    assert model.forest_.guarantee.epsilon == 1
    assert not [a for a in model.forest_.guarantee.assumptions if "query" in a]
