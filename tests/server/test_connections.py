"""Connections: curators reach what the operator declared, and learn nothing about the rest."""

import os
import socket
import threading
from fractions import Fraction
from urllib.parse import quote, urlsplit

import pytest

from frith.errors import FormatError, FrithError
from frith.server.budget import tables
from frith.server.budget.terms import bind, policy_terms
from frith.server.connections import DuckDBFile, Folder, PostgresDatabase, SparkLake
from frith.server.settings import Settings, load_settings
from frith.server.sources import Source, connection_of, open_source, read_source, shown
from tests.server.conftest import declare, refused, said
from tests.tables import small_domain, small_table


def ask(house, small, **pick):
    bare = {name: value for name, value in small.items() if name != "table"}
    return house.curator.post("/v1/tables", json=bare | pick)


def train(house):
    with house.database.write() as session:
        tables.grant(house.context, session, "small", "ana")
    return house.train(table="small", epsilon="0.5")["state"]


# -- folders -----------------------------------------------------------------------------------------


@pytest.fixture
def outside(house):
    """Files beside the folder of the connection, and ways to them from inside."""
    folder = house.folder.parent / "outside"
    folder.mkdir()
    small_table().to_csv(folder / "small.csv", index=False)
    (folder / "hosts.conf").write_text("x")
    (house.folder / "link.csv").symlink_to(folder / "small.csv")
    (house.folder / "way").symlink_to(folder)
    (house.folder / "broken.csv").symlink_to(folder / "nothing.csv")
    return folder


def test_nothing_outside_a_folder_is_read_listed_or_told_from_what_is_not_there(
    house, small, outside
):
    answers = {
        name: ask(house, small, table=name)
        for name in (
            "missing.csv", "missing/*.csv", str(outside / "small.csv"), str(outside / "missing.csv"),
            "/etc/passwd", "../outside/small.csv", "../outside/missing.csv", "../outside/*",
            "../house/small.csv", "way/small.csv", "way/missing.csv", "way/*", "way", "link.csv",
            "broken.csv", "*ink.csv", "x/../small.csv", "/", "..", "file:///etc/passwd",
            "https://example.org/x.csv", "postgresql://u@127.0.0.1/x?table=t", "${HOME}", "$HOME",
            "~/small.csv", "a" * 3_000, "server.db", "duckdb:///server.db?table=member",
            "spark+parquet:/etc",
        )
    }  # fmt: skip
    assert {(a.status_code, a.content) for a in answers.values()} == {
        (422, answers["missing.csv"].content)
    }
    assert str(house.folder) not in answers["missing.csv"].text


def test_files_folders_and_patterns_of_a_folder_are_tables(house, small):
    (house.folder / "parts").mkdir()
    for number in range(2):
        small_table().to_parquet(house.folder / "parts" / f"part-{number}.parquet")
    for number, name in enumerate(("small.csv", "parts", "parts/part-*.parquet", "./small.csv")):
        said(ask(house, small | {"name": f"t{number}"}, table=name), 201)
    assert said(house.curator.get("/v1/tables/t2"))["source"] == "sample: parts/part-*.parquet"


def test_a_pattern_looks_into_every_folder_once(house, small):
    """With `**` twice each file is found in every combination, and with many of them never."""
    place = house.folder / "2024" / "01" / "02"
    place.mkdir(parents=True)
    small_table().to_csv(place / "deep.csv", index=False)
    said(ask(house, small | {"name": "once"}, table="**/deep.csv"), 201)
    for number, name in enumerate(
        ("**/**/deep.csv", "**/0*/**/deep.csv", "**/" * 500 + "deep.csv")
    ):
        refused(ask(house, small | {"name": f"t{number}"}, table=name), "invalid")


def test_a_link_that_is_put_there_later_is_not_followed_by_a_worker(house, small, outside):
    said(ask(house, small, table="small.csv"), 201)
    (house.folder / "small.csv").unlink()
    (house.folder / "small.csv").symlink_to(outside / "small.csv")
    assert train(house) == "queued"
    assert house.spent("small") == (0, Fraction(1, 2)), "it is tried again, and nothing is charged"


def test_what_an_engine_says_about_a_file_names_no_folder(house, small):
    (house.folder / "narrow.csv").write_text("color\nred\n")
    (house.folder / "torn.parquet").write_text("torn")
    for name, words in (("narrow.csv", "narrow.csv has no column"), ("torn.parquet", "torn")):
        answer = ask(house, small, table=name)
        assert words in refused(answer, "invalid")
        assert str(house.folder) not in answer.text
        assert "/" not in answer.json()["message"]


def test_a_folder_takes_no_query(house, small):
    assert "pick one table" in refused(ask(house, small, query="SELECT 1"), "invalid")


# -- DuckDB ------------------------------------------------------------------------------------------


@pytest.fixture
def warehouse(house):
    """A DuckDB file with a table in each of two schemas, and connections to it."""
    duckdb = pytest.importorskip("duckdb")
    file = house.folder.parent / "ware house.db"
    with duckdb.connect(str(file)) as connection:
        connection.register("records", small_table())
        connection.execute("CREATE TABLE people AS FROM records")
        connection.execute('CREATE SCHEMA s; CREATE TABLE s."a.b" AS FROM records')
    plain = {"kind": "duckdb", "file": str(file)}
    declare(house, plain=plain, asked=plain | {"queries": True}, narrow=plain | {"schemas": ["s"]})
    return file


def test_tables_of_a_duckdb_file_are_picked_by_name(house, small, warehouse):
    said(ask(house, small, connection="plain", table="people"), 201)
    assert train(house) == "done"
    said(ask(house, small | {"name": "b"}, connection="narrow", table="s.a.b"), 201)
    for name in ("people", "main.people"):
        answer = ask(house, small | {"name": "c"}, connection="narrow", table=name)
        assert "a schema of s" in refused(answer, "invalid")
    missing = ask(house, small | {"name": "c"}, connection="plain", table="nobody")
    assert "there is no table 'nobody'" in refused(missing, "invalid")
    assert str(warehouse) not in missing.text


def test_a_query_needs_a_connection_that_takes_it_and_the_curators_word(house, small, warehouse):
    pick = {"query": "SELECT * FROM people"}
    assert "no queries" in refused(ask(house, small, connection="plain", **pick), "invalid")
    assert "sign that" in refused(ask(house, small, connection="asked", **pick), "invalid")
    signed = small | {"signed": True}
    said(ask(house, signed, connection="asked", **pick), 201)
    batch = {"name": "more", "connection": "asked", **pick}
    said(house.curator.post("/v1/tables/small/batches", json=batch), 201)
    assert train(house) == "done"


def test_a_query_reads_no_file_whatever_it_is_called(house, small, warehouse):
    small_table().to_parquet(house.folder / "secret.parquet")
    signed = small | {"signed": True}
    for name in ("secret.parquet", "SECRET.PARQUET", "missing.parquet", "small.csv", "*.parquet"):
        for form in ("SELECT * FROM '{0}'", "SELECT * FROM read_parquet('{0}')",
                     "SELECT * FROM people UNION ALL SELECT * FROM '{0}'",
                     "WITH x AS (FROM '{0}') SELECT * FROM x", "SELECT * FROM glob('{0}')",
                     "SELECT content FROM read_text('{0}')"):  # fmt: skip
            query = form.format(house.folder / name)
            refused(ask(house, signed, connection="asked", query=query), "invalid")
    for query in ("SELECT getenv('HOME') AS color", "DROP TABLE people", "", "SELECT", "'" * 3):
        refused(ask(house, signed, connection="asked", query=query), "invalid")


# -- PostgreSQL --------------------------------------------------------------------------------------


@pytest.fixture
def clinic(house, postgres_server, postgres_database):
    """A PostgreSQL database with the small table."""
    psycopg = pytest.importorskip("psycopg")
    with psycopg.connect(postgres_database) as connection:
        columns = "color text, round text, size float8, good text"
        connection.execute(f"CREATE SCHEMA ward; CREATE TABLE ward.people ({columns})")
        connection.execute("INSERT INTO ward.people VALUES ('red', 'no', 1, 'yes')")
    return postgres_database


def without_password(url):
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    host = parts.netloc.rpartition("@")[2]
    return parts._replace(netloc=user + host).geturl(), parts.password


def test_a_table_of_postgresql_is_read_with_a_password_from_a_file(house, small, clinic, tmp_path):
    url, password = without_password(clinic)
    (tmp_path / "password").write_text(f"{password or 'none'}\n")
    secret = {"password_file": str(tmp_path / "password")}
    declare(house, clinic={"kind": "postgresql", "url": url, "schemas": ["ward"], **secret})
    table = said(ask(house, small, connection="clinic", table="ward.people"), 201)
    assert table["source"] == "clinic: ward.people"
    assert train(house) == "done"
    other = ask(house, small | {"name": "x"}, connection="clinic", table="pg_catalog.pg_class")
    assert "a schema of ward" in refused(other, "invalid")
    (tmp_path / "password").unlink()
    lost = ask(house, small | {"name": "x"}, connection="clinic", table="ward.people")
    assert "ask the operator" in refused(lost, "invalid")
    assert str(tmp_path) not in lost.text


def test_a_curator_cannot_send_a_secret_or_reach_another_host(house, small, monkeypatch):
    """What a curator writes is a name in the declared database, however it is spelled."""
    monkeypatch.setenv("SECRET_X", "Hunter2Hunter2")
    calls = []
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def listen():
        while True:
            try:
                calls.append(listener.accept())
            except OSError:
                return

    threading.Thread(target=listen, daemon=True).start()
    declared = {"kind": "postgresql", "url": "postgresql://u@127.0.0.1:1/records?connect_timeout=2"}
    declare(house, records=declared | {"queries": True})
    reach = f"postgresql://${{SECRET_X}}@127.0.0.1:{port}/x?table=t"
    answers = [
        ask(house, small, connection=connection, **{field: text})
        for connection in ("records", "sample", "${SECRET_X}", "other", "../x")
        for field in ("table", "query")
        for text in (
            reach, "${SECRET_X}", "${SECRET_X}://x", f"t&host=127.0.0.1&port={port}",
            f"t?host=127.0.0.1&port={port}", f"x@127.0.0.1:{port}/y", f"t%26port%3D{port}",
        )
    ]  # fmt: skip
    listener.close()
    assert {a.status_code for a in answers} == {422}
    assert not [a.text for a in answers if "hunter" in a.text.lower()]
    assert calls == []


def test_every_table_of_a_database_that_does_not_answer_gets_the_same_error(house, small):
    """No port of another machine can be told open from closed: the port is the operator's."""
    declare(house, far={"kind": "postgresql", "url": "postgresql://u@127.0.0.1:1/records"})
    answers = {
        ask(house, small, connection="far", table=table).text.replace(table, "t")
        for table in ("t", "people", "22", "localhost")
    }
    assert len(answers) == 1


# -- the rest ----------------------------------------------------------------------------------------


def test_spark_reaches_the_declared_root_or_schemas_alone():
    lake = SparkLake(kind="spark", format="parquet", root="hdfs://lake/clinic/")
    assert lake.place("2024/visits", None) == "spark+parquet:hdfs://lake/clinic/2024/visits"
    for name in ("../x", "/etc", "a/../../x", "{a,../x}", "file:/etc", "a b", "a`b", ""):
        if name != "":
            with pytest.raises(FrithError):
                lake.place(name, None)
    hive = SparkLake(kind="spark", format="table", schemas=("ward",))
    assert hive.place("ward.visits", None) == "spark+table:ward.visits"
    for name in ("visits", "parquet.`/etc`", "parquet.x", "other.visits", "ward.a.b", "ward."):
        with pytest.raises(FrithError):
            hive.place(name, None)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('kind = "folder"\nroot = "data"', "absolute path"),
        ('kind = "folder"\nroot = "/data"\nqueries = true', "queries"),
        ('kind = "ftp"', "folder"),
        ('kind = "postgresql"\nurl = "postgresql://u:hunter2@h/d"', "password_file"),
        ('kind = "postgresql"\nurl = "postgresql://u@h/d?password=hunter2"', "password_file"),
        ('kind = "postgresql"\nurl = "postgresql://u@h/d?table=t"', "curators pick"),
        ('kind = "postgresql"\nurl = "mysql://u@h/d"', "postgresql://"),
        ('kind = "duckdb"\nfile = "/x.db"\nqueries = true\nschemas = ["s"]', "leave out"),
        ('kind = "spark"\nformat = "table"\nroot = "/x"', "needs schemas"),
    ],
)
def test_a_connection_that_cannot_be_is_not_started_with(tmp_path, text, words):
    file = tmp_path / "settings.toml"
    file.write_text(f"[connections.x]\n{text}\n")
    with pytest.raises(FormatError, match="connections.x") as caught:
        load_settings(file, {})
    assert words in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_connections_stand_in_the_file_or_in_a_variable(tmp_path):
    file = tmp_path / "settings.toml"
    file.write_text('[connections.data]\nkind = "folder"\nroot = "/data"\n')
    settings = load_settings(file, {})
    assert settings.connections == {"data": Folder(kind="folder", root="/data")}
    assert Settings.model_validate_json(settings.model_dump_json()) == settings, "for workers"
    text = '{"other": {"kind": "duckdb", "file": "/x.db"}}'
    named = load_settings(file, {"FRITH_CONNECTIONS": text}).connections
    assert named == {"other": DuckDBFile(kind="duckdb", file="/x.db")}


def test_connections_are_listed_for_curators_by_name_and_kind_alone(house):
    url = "postgresql://u@db.example/records"
    declare(house, far={"kind": "postgresql", "url": url, "queries": True})
    assert said(house.curator.get("/v1/connections")) == [
        {"name": "sample", "kind": "folder", "queries": False},
        {"name": "far", "kind": "postgresql", "queries": True},
    ]
    refused(house.analyst.get("/v1/connections"), "forbidden")


def test_a_source_from_before_is_read_through_a_connection_that_covers_it(house, small):
    said(ask(house, small, table="small.csv"), 201)
    with house.database.write() as session:
        table = tables.get_table(session, "small")
        table.source = str(house.folder / "small.csv")
        bind(house.context, session, policy_terms(table))
    assert train(house) == "done"
    house.set(connections={})
    assert house.train(table="small", epsilon="0.25")["state"] == "queued"
    with pytest.raises(FrithError, match="the operator can declare one"):
        open_source(house.settings, str(house.folder / "small.csv"), small_domain())


def test_sources_from_before_find_their_table_in_databases():
    settings = Settings(
        connections={
            "ware": {"kind": "duckdb", "file": "/data/x y.db"},
            "far": {"kind": "postgresql", "url": "postgresql://u@h:5/d?sslmode=require"},
            "files": {"kind": "folder", "root": "/data"},
        }
    )
    secret = "postgresql://u:${PASSWORD}@h:5/d?sslmode=require&schema=s&table=t"
    for stored, source in (
        ("duckdb:////data/x%20y.db?schema=s&table=t", Source("ware", "s.t")),
        ("duckdb:////data/x%20y.db?query=SELECT 1", Source("ware", None, "SELECT 1")),
        (secret, Source("far", "s.t")),
        ("postgresql://u:a%40b@h:5/d?sslmode=require&table=t", Source("far", "t")),
        ("/data/a/b.csv", Source("files", "a/b.csv")),
    ):
        assert read_source(settings, stored) == source
    for stored in ("postgresql://u@other/d?table=t", "/other/x.csv", "duckdb:///y.db?table=t",
                   "${X}", "spark+parquet:/data/x", "duckdb:"):  # fmt: skip
        with pytest.raises(FrithError, match="without a connection"):
            read_source(settings, stored)
    with pytest.raises(FrithError, match="no queries"):
        connection_of(settings, Source("ware")).place(None, "SELECT 1")


def test_stored_texts_are_shown_without_passwords():
    assert shown(Source("a", "t").to_text()) == "a: t"
    for stored in (
        "postgresql://frith:hunter2@db.example/records?table=t",
        "postgresql://frith:hunt/er2@db.example/records?table=t",
        "postgresql://frith:hunt@er2@db.example/records?table=t",
        "postgresql://frith:hunt?er2@db.example/records?table=t",
        "postgresql://db.example/records?table=t&password=hunter2",
        "postgresql://db.example/records?table=t&sslpassword=hunter2",
    ):
        assert "er2" not in shown(stored)
    for stored in ("/data/a:b@c.csv", "duckdb:///x.db?table=t", "postgresql://u@h/d?table=t"):
        assert shown(stored) == stored


def test_a_password_of_any_characters_arrives(monkeypatch, tmp_path):
    from frith.engines.urls import postgres_table

    secret = "p@s:s/w?o&r=d%#+ü"
    monkeypatch.setenv("X", secret)
    database = PostgresDatabase(kind="postgresql", url="postgresql://u@h/d", password_env="X")
    place = database.place("s.t&u", None)
    assert postgres_table(place).uri == f"postgresql://u@h/d?password={quote(secret, safe='')}"
    assert str(postgres_table(place).selection) == "table 's.t&u'"
    assert secret not in repr(database)
    assert os.environ["X"] == secret
