"""Columns instead of parsed names: a server's database of before, with data in it, on both stores."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import MetaData, create_engine, inspect, text

from frith.ledger import Book, Place
from frith.ledger.database import HEAD, Database
from frith.server.jobs.verification import verify
from frith.server.schema import Job

BEFORE = Path(__file__).parents[1] / "formats" / "1" / "server.sql"
ROUND = {"session": "s", "attempt": 1}


def sqlite_before(folder):
    """The stored database, as the last version wrote it."""
    place = folder / "before.db"
    with closing(sqlite3.connect(place)) as file:
        file.executescript(BEFORE.read_text(encoding="utf-8"))
        assert file.execute("SELECT version_num FROM frith_version").fetchone() == ("0003",)
        file.execute(
            "INSERT INTO job SELECT 'counted', member, \"table\", version, 'count', ?, 'x', seed, '[]', "
            "'cancelled', 0, '', created, NULL, created, 0, NULL, NULL, NULL, NULL FROM job LIMIT 1",
            (json.dumps({"kind": "count", "epsilon": "1", "delta": "0", "round": ROUND}),),
        )
        file.commit()
    return place


def copied(place, url):
    """The same rows in another database of the same version."""
    to = Database(url)
    to.upgrade("0003")
    source, target = create_engine(f"sqlite:///{place}"), create_engine(to.url)
    tables = MetaData()
    tables.reflect(target)
    with source.connect() as old, target.begin() as new:
        new.execute(text("DELETE FROM ledger_head"))
        for table in tables.sorted_tables:
            if table.name == "frith_version":
                continue
            rows = [dict(row) for row in old.execute(table.select()).mappings()]
            if rows:
                new.execute(table.insert(), rows)
    source.dispose()
    target.dispose()
    return to


@pytest.fixture(params=["sqlite", "postgres"])
def before(request, tmp_path):
    place = sqlite_before(tmp_path)
    if request.param == "sqlite":
        database = Database(place)
    else:
        database = copied(place, request.getfixturevalue("postgres_database"))
    yield database
    database.close()


def test_accounts_and_jobs_get_their_columns_and_the_chain_holds(before):
    with before.read() as session:
        written = session.execute(text("SELECT id, hash FROM entry ORDER BY id")).all()
        bodies = dict(session.execute(text("SELECT id, body FROM job")).all())
    before.check()
    assert before.version == HEAD
    with before.read() as session:
        now = session.execute(text("SELECT id, hash FROM entry ORDER BY id")).all()
        assert now[: len(written)] == written, "no entry was touched"
        columns = 'SELECT name, "table", batch, period, member FROM account ORDER BY name'
        for name, *place in session.execute(text(columns)).all():
            assert Place(*place).name == name
        jobs = {job: session.get(Job, job) for job in bodies}
        for job, row in jobs.items():
            assert row.forest == json.loads(bodies[job]).get("forest")
        assert [job for job, row in jobs.items() if row.round] == ["counted"]
        assert "accounts" not in {
            c["name"] for c in inspect(session.connection()).get_columns("job")
        }
        found = verify(session, Book(session.connection()))
        assert [line for line in found.problems if "counted" not in line] == []
        assert found.entries == len(now) > len(written), "the terms are in the chain"


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE registered_table SET policy = replace(policy, '\"4\"', '\"400\"')",
        "UPDATE table_grant SET epsilon = '400'",
        "UPDATE job SET kind = 'dry-run' WHERE kind = 'train'",
        "UPDATE account SET total = '400'",
    ],
)
def test_what_is_edited_after_the_migration_shows(before, statement):
    before.check()
    with before.write() as session:
        assert session.execute(text(statement)).rowcount
    with before.read() as session:
        found = verify(session, Book(session.connection()))
    assert [line for line in found.problems if "counted" not in line]


def test_names_of_every_kind_are_taken_apart(tmp_path):
    """Batches and periods too; an account that belongs to no table stays a desk's."""
    place = sqlite_before(tmp_path)
    names = {
        "table-0+later": ("table-0", "later", None, None),
        "table-0+later/ana": ("table-0", "later", None, "ana"),
        "table-0@12": ("table-0", None, 12, None),
        "table-0+later@3/ana": ("table-0", "later", 3, "ana"),
        "other/ana": (None, None, None, None),
        "table": (None, None, None, None),
    }
    with closing(sqlite3.connect(place)) as file:
        for name in names:
            file.execute("INSERT INTO account VALUES (?, '1', '0', 'epsilon', '1', NULL)", (name,))
        file.commit()
    database = Database(place)
    database.check()
    with database.read() as session:
        for name, parts in names.items():
            query = text('SELECT "table", batch, period, member FROM account WHERE name = :n')
            assert session.execute(query, {"n": name}).one() == parts
    database.close()
