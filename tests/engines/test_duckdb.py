"""DuckDB: types, files that change, and doors that stay shut."""

import os
import shutil
import subprocess
import sys
import uuid

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from frith import Categorical, Domain, Numeric, open_table
from frith.engines import DuckDBEngine, MemoryEngine
from frith.engines import duckdb as module
from frith.errors import DataError, SourceError
from frith.growing.random_trees import grow_random_trees
from frith.kernels import LeafCounts, RecordCount
from tests.tables import person_domain, small_domain, small_table

duckdb_package = pytest.importorskip("duckdb")


def count(url, domain=None):
    return int(open_table(url, domain or small_domain()).aggregate(RecordCount())[0])


def leaves(engine):
    """Records of each value of a domain's one attribute."""
    forest = grow_random_trees(engine.domain, 1, 1, np.random.default_rng(0))
    return engine.aggregate(LeafCounts(forest, engine.domain)).sum(axis=1).tolist()


def of_values(*values, **kwargs):
    return Domain((Categorical("a", values, **kwargs),), Categorical("c", ("y", "n")))


# -- types -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("cells", "kind", "domain", "expected"),
    [
        ("(170141183460469231731687303715884105727), (5), (NULL)", "hugeint",
         of_values(5, 17.5, 2**127 - 1), [2, 0, 1]),
        ("(340282366920938463463374607431768211455), (5)", "uhugeint",
         of_values("?", "340282366920938463463374607431768211455"), [1, 1]),
        ("(12345678901234567890123456789012345678901234567890)", "bignum",
         of_values("?", "12345678901234567890123456789012345678901234567890"), [0, 1]),
        ("('x'), ('y'), ('x'), (NULL)", "enum('w', 'x', 'y', 'z')",
         of_values("y", "x", "?", missing="?"), [1, 2, 1]),
        ("('AAAAAAAA-0000-0000-0000-000000000001')", "uuid",
         of_values("?", str(uuid.UUID("aaaaaaaa-0000-0000-0000-000000000001"))), [0, 1]),
        ("('\\xC3\\xA9'::blob), ('\\xFF'::blob)", "blob", of_values("?", "é"), [1, 1]),
        ("(true), (false), (NULL), (true)", "boolean", of_values(False, True), [2, 2]),
        ("(1), (2), (200)", "utinyint", of_values(1, 2, 200), [1, 1, 1]),
        ("('{\"k\": 1}')", "json", of_values("?", '{"k": 1}'), [0, 1]),
        ("('nan'), ('inf'), ('-inf'), (0.1)", "float", of_values(7, 1), [4, 0]),
    ],
    ids=lambda p: p if isinstance(p, str) and p.isalpha() else "",
)  # fmt: skip
def test_a_column_of_any_type_is_counted_by_its_spelling(duckdb, cells, kind, domain, expected):
    duckdb.run(f"CREATE TABLE typed (a {kind}, c text DEFAULT 'y')")
    duckdb.run(f"INSERT INTO typed (a) VALUES {cells}")
    assert leaves(open_table(duckdb.url(table="typed"), domain)) == expected


def test_long_integers_are_placed_as_numbers(duckdb):
    duckdb.run(
        "CREATE TABLE long AS SELECT (2::hugeint ** 100)::hugeint + range AS a, 'y' AS c FROM range(9)"
    )
    domain = Domain(
        (Numeric("a", 0, 2.0**101, cells=2, missing=True),), Categorical("c", ("y", "n"))
    )
    grid = open_table(duckdb.url(table="long"), domain)
    (batch,) = (task() for task in grid.tasks((0,)))
    assert batch.codes.tolist() == [[1]] * 9


@pytest.mark.parametrize(
    ("kind", "shown"),
    [
        ("time", "TIME"),
        ("interval", "INTERVAL"),
        ("integer[]", r"INTEGER\[\]"),
        ("integer[2]", r"INTEGER\[2\]"),
        ("struct(x integer)", "STRUCT"),
        ("map(text, integer)", "MAP"),
        ("union(x integer, y text)", "UNION"),
        ("bit", "BIT"),
        ("variant", "VARIANT"),
    ],
)
def test_types_without_a_place_in_a_domain_are_refused_by_name(duckdb, kind, shown):
    duckdb.run(f"CREATE TABLE typed (a {kind}, c text)")
    with pytest.raises(DataError, match=f"'a' has type {shown}"):
        open_table(duckdb.url(table="typed"), of_values("x"))


# -- one state of the file -------------------------------------------------------------------------


def test_nobody_writes_to_a_file_that_is_open(duckdb):
    engine = open_table(duckdb.save(small_table()), small_domain())
    code = f"import duckdb; duckdb.connect({str(duckdb.file)!r}).execute('DROP TABLE other')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "lock" in done.stderr
    assert engine.aggregate(RecordCount()).tolist() == [200]
    engine.close()
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_a_file_that_is_being_written_to_is_not_opened(duckdb):
    url = duckdb.save(small_table())
    with (
        duckdb_package.connect(duckdb.file),
        pytest.raises(SourceError, match="close it elsewhere"),
    ):
        open_table(url, small_domain())
    assert count(url) == 200


@pytest.mark.parametrize("change", ["touch", "replace", "remove", "grow", "wal"])
def test_a_file_that_changed_is_not_read_on(duckdb, change):
    engine = open_table(duckdb.save(small_table()), small_domain())
    assert engine.aggregate(RecordCount()).tolist() == [200]
    if change == "touch":
        os.utime(duckdb.file, (1, 1))
    elif change == "replace":
        shutil.copy2(duckdb.file, duckdb.file.with_name("copy"))
        os.replace(duckdb.file.with_name("copy"), duckdb.file)
    elif change == "remove":
        duckdb.file.unlink()
    elif change == "grow":
        with duckdb.file.open("ab") as file:
            file.write(b"\0" * 4096)
    else:
        duckdb.file.with_name("store.db.wal").write_bytes(b"\0")
    with pytest.raises(SourceError, match="a new reading is a new fit and a new charge"):
        engine.aggregate(RecordCount())


def test_all_passes_are_in_one_transaction(duckdb):
    """now() is when the transaction began, so it stands for all that a transaction fixes."""
    duckdb.save(small_table(), "base")
    query = "SELECT color, round, good, epoch_us(now()) AS size FROM base"
    engine = open_table(duckdb.url(query=query), small_domain())
    passes = [[b["size"][0].as_py() for b in engine.scan(["size"])] for _ in range(3)]
    assert passes[0] == passes[1] == passes[2]


def test_two_engines_may_read_one_file(duckdb):
    url = duckdb.save(small_table())
    engines = [
        open_table(url, d, threads=t) for t in (1, 3) for d in (small_domain(), person_domain())
    ]
    assert [e.aggregate(RecordCount()).tolist() for e in engines] == [[200], [60]] * 2


@pytest.mark.parametrize("name", ["memory.db", "main.db", "temp.db", "we'i\"rd é;.db", "no suffix"])
def test_a_file_may_have_any_name(duckdb, name):
    duckdb.save(small_table(), "base")
    duckdb.run("CREATE VIEW seen AS SELECT * FROM base")
    duckdb.file = duckdb.file.rename(duckdb.file.with_name(name))
    duckdb.base = f"duckdb:///{duckdb.file}"
    assert count(duckdb.url(table="base")) == 200
    assert count(duckdb.url(table="seen")) == 200
    assert count(duckdb.url(query="SELECT * FROM main.base")) == 200


def test_a_relative_path_is_found_from_here(duckdb, monkeypatch):
    duckdb.save(small_table(), "base")
    monkeypatch.chdir(duckdb.file.parent)
    for url in ("duckdb:///store.db", "duckdb://store.db", "duckdb:///./store.db"):
        assert count(f"{url}?table=base") == 200
    inside = duckdb.file.parent / str(duckdb.file)[1:]
    inside.parent.mkdir(parents=True)
    shutil.copy(duckdb.file, inside)
    with pytest.raises(SourceError, match="four slashes"):
        open_table(f"duckdb://{duckdb.file}?table=base", small_domain())
    assert count(f"duckdb:///{duckdb.file}?table=base") == 200


@pytest.mark.parametrize(
    "content", [b"", b"no database" * 500, b"SQLite format 3\0" + b"\0" * 5000]
)
def test_what_is_no_database_is_refused(tmp_path, content):
    (tmp_path / "f.db").write_bytes(content)
    with pytest.raises(SourceError):
        open_table(f"duckdb:///{tmp_path}/f.db?table=t", small_domain())
    assert (tmp_path / "f.db").read_bytes() == content
    assert os.listdir(tmp_path) == ["f.db"]


# -- doors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        "SELECT * FROM '{}/private.csv'",
        "SELECT * FROM '{}/private.json'",
        "SELECT * FROM read_csv('{}/private.csv')",
        "SELECT * FROM read_text('{}/private.csv')",
        "SELECT * FROM read_parquet('{}/private.parquet')",
        "SELECT * FROM parquet_scan(['{}/private.parquet'])",
        "SELECT * FROM glob('{}/*')",
        "SELECT * FROM given",
        "PIVOT base ON color USING count(*)",
        "SELECT * FROM (PIVOT base ON color USING count(*))",
    ],
)
def test_a_query_reads_no_file_but_parquet_files_named_in_from(duckdb, query, tmp_path):
    given = small_table()  # nor a variable of Python's
    given.to_csv(tmp_path / "private.csv")
    given.to_json(tmp_path / "private.json", orient="records")
    given.to_parquet(tmp_path / "private.parquet")
    duckdb.save(given, "base")
    with pytest.raises(SourceError):
        open_table(duckdb.url(query=query.format(tmp_path)), small_domain())


def test_a_view_that_reads_files_is_refused(duckdb, tmp_path):
    small_table().to_parquet(tmp_path / "p.parquet")
    duckdb.run(f"CREATE VIEW outside AS SELECT * FROM '{tmp_path}/p.parquet'")
    with pytest.raises(SourceError, match="reads files otherwise"):
        open_table(duckdb.url(table="outside"), small_domain())


@pytest.mark.parametrize("statement", ["SET threads = 1", "LOAD httpfs", "SET access_mode = ''"])
def test_settings_are_locked(duckdb, statement):
    engine = open_table(duckdb.save(small_table()), small_domain())
    with pytest.raises(duckdb_package.Error, match="locked|disabled"):
        engine._connection.execute(statement)


def test_parquet_files_are_read_through_duckdb(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deep").mkdir()
    table = small_table()
    table.iloc[:80].to_parquet(tmp_path / "a b.parquet")
    table.iloc[80:].to_parquet(tmp_path / "deep" / "c.PARQUET")
    big = int((table["size"] > 5).sum())
    for place in (".", tmp_path):
        query = f"SELECT * FROM '{place}/a b.parquet' UNION ALL FROM '{place}/deep/c.PARQUET'"
        engine = open_table(
            f"duckdb://?query=SELECT * FROM ({query}) WHERE size > 5", small_domain()
        )
        assert engine.aggregate(RecordCount()).tolist() == [big]
        assert engine.assumptions
    engine = open_table("duckdb://?query=FROM '*.parquet'", small_domain())
    assert engine.aggregate(RecordCount()).tolist() == [80]
    table.iloc[:90].to_parquet(tmp_path / "z.parquet")  # a new file is no part of what was opened
    with pytest.raises(SourceError, match="new charge"):
        engine.aggregate(RecordCount())
    engine = open_table("duckdb://?query=FROM 'z.parquet'", small_domain())
    table.to_parquet(tmp_path / "z.parquet")
    with pytest.raises(SourceError, match="changed"):
        engine.aggregate(RecordCount())
    with pytest.raises(SourceError, match="cannot make sense of the query"):
        open_table("duckdb://?query=FROM 'not-there.parquet'", small_domain())


def test_a_table_named_as_a_file_is_a_table(duckdb, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    duckdb.save(small_table(), "t.parquet")
    assert count(duckdb.url(table="t.parquet")) == 200
    assert count(duckdb.url(query="""SELECT * FROM "t.parquet" """)) == 200


# -- memory ----------------------------------------------------------------------------------------


def test_a_table_streams_through_less_memory_than_it_has(duckdb, monkeypatch):
    monkeypatch.setattr(module, "_MEMORY", "24MiB")
    duckdb.run("CREATE TABLE large AS SELECT md5(range::text) AS a, 'y' AS c FROM range(1_500_000)")
    engine = DuckDBEngine(duckdb.url(table="large"), of_values("x"), threads=1, rows=5_000)
    before, most, rows = _resident(), 0, 0
    for batch in engine.scan(["a", "c"]):
        assert len(batch) <= 5_000
        rows += len(batch)
        most = max(most, _resident())
    assert rows == 1_500_000
    assert most - before < 45 * 2**20  # the texts alone are 48 MB


def _resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_what_a_query_spills_is_private_and_goes_away(duckdb, monkeypatch):
    monkeypatch.setattr(module, "_MEMORY", "24MiB")
    duckdb.run("CREATE TABLE large AS SELECT md5(range::text) AS a, 'y' AS c FROM range(600_000)")
    query = "SELECT a, c FROM large ORDER BY a"
    engine = DuckDBEngine(duckdb.url(query=query), of_values("x"), threads=1)
    ((folder,),) = engine._connection.sql("SELECT current_setting('temp_directory')").fetchall()
    assert os.stat(folder).st_mode & 0o077 == 0
    assert engine.aggregate(RecordCount()).tolist() == [600_000]
    del engine
    assert not os.path.exists(folder)
    assert sorted(os.listdir(duckdb.file.parent)) == ["store.db"]


def test_relations_of_duckdb_are_read_into_memory(duckdb):
    table = pa.Table.from_pandas(small_table())
    relation = duckdb_package.from_arrow(table)
    engine = open_table(relation, small_domain())
    assert isinstance(engine, MemoryEngine)
    assert engine.aggregate(RecordCount()).tolist() == [200]


def test_parquet_with_many_columns_and_rows_in_pieces(tmp_path):
    wide = pd.DataFrame({f"x{i}": range(50) for i in range(300)}).assign(a="x", c="y")
    pq.write_table(pa.Table.from_pandas(wide), tmp_path / "w.parquet", row_group_size=7)
    url = f"duckdb://?query=SELECT * FROM '{tmp_path}/w.parquet'"
    assert leaves(open_table(url, of_values("x", "z"))) == [50, 0]
