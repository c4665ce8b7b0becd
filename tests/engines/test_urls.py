"""URLs of tables: what they name, and that they give nothing away."""

import re
import subprocess
import sys
import traceback
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from frith import open_table
from frith.engines import DuckDBEngine, PostgresEngine
from frith.engines.urls import Selection, duckdb_table, is_url, postgres_table
from frith.errors import DataError, SourceError
from tests.tables import small_domain, small_table

names = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1)
usable = names.filter(str.strip)


@pytest.mark.parametrize(
    ("url", "files"),
    [
        ("duckdb:///file.db?table=t", ["/file.db", "file.db"]),
        ("duckdb:////data/file.db?table=t", ["/data/file.db"]),
        ("duckdb:///./file.db?table=t", ["file.db"]),
        ("duckdb:///../file.db?table=t", ["../file.db"]),
        ("duckdb://data/file.db?table=t", ["data/file.db"]),
        ("DuckDB:////a%20b/%C3%A9%3F%25.db?table=t", ["/a b/é?%.db"]),
        ("duckdb:////a b/é#1.db?table=t", ["/a b/é#1.db"]),
        ("duckdb://?query=SELECT 1", []),
        ("duckdb:///?query=SELECT 1", []),
    ],
)
def test_a_duckdb_url_names_a_file(url, files):
    assert duckdb_table(url).files == tuple(map(Path, files))


@given(usable, usable)
def test_names_of_any_letters_come_through(table, schema):
    options = f"schema={quote(schema, safe='')}&table={quote(table, safe='')}"
    chosen = Selection(table, schema)
    assert duckdb_table(f"duckdb:///f?{options}").selection == chosen
    there = postgres_table(f"postgresql://h/d?sslmode=prefer&{options}&connect_timeout=3")
    assert there.selection == chosen
    assert there.uri == "postgresql://h/d?sslmode=prefer&connect_timeout=3"


@given(usable)
def test_queries_of_any_letters_come_through(query):
    url = f"duckdb:///f?query={quote(query, safe='')}"
    assert duckdb_table(url).selection == Selection(query=query)


@pytest.mark.parametrize(
    ("written", "query"),
    [
        ("SELECT a+b FROM t", "SELECT a+b FROM t"),  # a plus is a plus
        ("SELECT%20a%2Bb%26c", "SELECT a+b&c"),
        ("SELECT * FROM t WHERE a LIKE '100%' AND b='x?y#z'", None),
    ],
)
def test_a_query_may_be_written_as_people_write_it(written, query):
    assert duckdb_table(f"duckdb:///f?query={written}").selection.query == (query or written)


@pytest.mark.parametrize(
    ("uri", "database"),
    [
        ("postgresql://user:pw@host:5433/census", "PostgreSQL database 'census'"),
        ("postgresql://postgres:@/postgres?host=/tmp/a/b", "PostgreSQL database 'postgres'"),
        ("postgresql://u:p%40%2F%3F@[::1]:5433/a%20b", "PostgreSQL database 'a b'"),
        ("postgresql://", "the PostgreSQL database"),
        ("postgresql://host", "the PostgreSQL database"),
        ("postgresql:///?user=u&password=p%40w", "the PostgreSQL database"),
    ],
)
def test_a_postgres_url_is_libpqs_and_a_table(uri, database):
    url = uri + ("&" if "?" in uri else "?") + "table=t"
    for form in (url, "postgres" + url.removeprefix("postgresql")):
        parsed = postgres_table(form)
        assert (parsed.uri, parsed.database) == (uri, database)


@pytest.mark.parametrize(
    ("url", "message"),
    [
        ("duckdb:///f.db", "either a table"),
        ("duckdb:///f.db?", "either a table"),
        ("duckdb:///f.db?schema=s", "either a table"),
        ("duckdb:///f.db?table=t&query=SELECT 1", "either a table"),
        ("duckdb:///f.db?table=t&table=u", "twice"),
        ("duckdb:///f.db?table=", "nothing usable"),
        ("duckdb:///f.db?table=%00", "nothing usable"),
        ("duckdb:///f.db?table=%20", "nothing usable"),
        ("duckdb:///f.db?query=SELECT 1&schema=s", "goes with table"),
        ("duckdb:///f.db?table=t&readonly=no", "something else"),
        ("duckdb:///f.db?table=a&b", "something else"),
        ("duckdb:///f.db?table=%ff", "not UTF-8"),
        ("duckdb:///f\0.db?table=t", "holds a NUL"),
        ("duckdb:///f\ud800.db?table=t", "an invalid character"),
        ("duckdb://?table=t", "takes a query"),
        ("duckdb:///:memory:?table=t", "name a file"),
        ("duckdb://:memory:?query=SELECT 1", "name a file"),
        ("duckdb:///nothing-here.db?table=t", "no DuckDB file at /nothing-here.db or nothing-here"),
        ("duckdb:////nowhere/at.db?table=t", "no DuckDB file at /nowhere/at.db$"),
        (f"duckdb:///{'x' * 5_000}?table=t", "no DuckDB file"),
        ("duckdb:f.db?table=t", "not the URL of a table"),
        ("postgresql:host/db?table=t", "not the URL of a table"),
        ("postgresql://host/db", "either a table"),
        ("mysql://host/db?table=t", "no engine for mysql://"),
        ("s3://bucket/file.parquet", "no engine for s3://"),
        ("postgresqll://u:pw@h/d?table=t", "no engine for postgresqll://"),
        ("host=here password=pw dbname=d", "not the URL of a table"),
    ],
)
def test_what_is_wrong_with_a_url_is_said(url, message):
    with pytest.raises(SourceError, match=message):
        open_table(url, small_domain())


def test_an_engine_opens_its_own_urls_alone():
    with pytest.raises(SourceError, match="expected a duckdb:// URL"):
        DuckDBEngine("postgresql://h/d?table=t", small_domain())
    with pytest.raises(SourceError, match="expected a postgresql:// URL"):
        PostgresEngine("duckdb:///f?table=t", small_domain())


@pytest.mark.parametrize(
    "path", ["data/part-*.parquet", "/a/b.csv", "C:\\data\\t.csv", "C:/data", "a:b.csv", "x=1/a.pq"]
)
def test_paths_are_no_urls(path):
    assert not is_url(path)


def test_drivers_are_loaded_when_a_url_asks_for_them():
    code = (
        "import sys, frith.engines\n"
        "print([m for m in ('duckdb', 'adbc_driver_postgresql', 'pyspark') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("package", "url", "extra"),
    [
        ("duckdb", "duckdb://?query=SELECT 1", "frith[duckdb]"),
        ("adbc_driver_postgresql", "postgresql://h/d?table=t", "frith[postgres]"),
    ],
)
def test_a_missing_driver_is_named(package, url, extra, monkeypatch):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=re.escape(extra)):
        open_table(url, small_domain())


PASSWORD = "correcthorse"
WRONG = [
    "postgresql://u:{}@localhost:1/d?table=t",  # nobody listens there
    "postgresql://u:{}@localhost:1/d",
    "postgresql://u:{}@localhost:x/d?table=t",
    "postgresql://u:{}@no.such.host.invalid/d?table=t",
    "postgresql://u:{}?@localhost:1/d?table=t",
    "postgresql://u:?{}@localhost:1/d&table=t",
    "postgresql://u:/{}?@localhost:1/d&table=t",
    "postgresql://u:{}/@localhost:1/d?table=t",
    "postgresql://u:%zz{}@localhost:1/d?table=t",
    "postgresql://u:{}%ff@localhost:1/d?table=t",
    "postgresql://u:{}",
    "postgresql://u:{}?table=t",
    "postgresql://u@localhost:1/d?password={}&table=t",
    "postgresql://u@localhost:1/d?passwort={}&table=t",
    "postgresql://u:{}@localhost:1/d?table=t&table=t",
    "postgresql://[u:{}@localhost:1/d?table=t",
    "postgresql://u:{}@localhost:1/d\0?table=t",
    "postgres:u:{}@localhost:1/d?table=t",
    "postgresql:/u:{}@localhost:1/d?table=t",
    "postgre://u:{}@localhost:1/d?table=t",
    "duckdb://u:{}@localhost:1/d?table=t&x={}",
    "duckdb://u:{}@localhost:1/d?table=t",
    "dbname=d user=u password={} port=1",
]


@pytest.mark.parametrize("url", WRONG)
def test_a_password_is_shown_nowhere(url, caplog, capfd):
    caplog.set_level("DEBUG")
    with pytest.raises(SourceError) as caught:
        open_table(url.format(PASSWORD, PASSWORD), small_domain())
    shown = "".join(traceback.format_exception(caught.value))
    assert PASSWORD not in shown + caplog.text + "".join(capfd.readouterr())
    assert caught.value.__context__ is None or caught.value.__suppress_context__
    assert not caught.value.__cause__


def test_a_parsed_url_hides_its_password():
    parsed = postgres_table(f"postgresql://u:{PASSWORD}@h/d?table=t")
    assert PASSWORD in parsed.uri
    assert PASSWORD not in repr(parsed) + str(parsed)


def test_what_has_its_own_labels_takes_no_others(tmp_path):
    small_table().to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match="own label column"):
        open_table(tmp_path / "t.parquet", small_domain(), ["no"])
