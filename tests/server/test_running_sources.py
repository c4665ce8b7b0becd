"""Records in a database that fails, locks or hangs: a running server, its worker, and PostgreSQL."""

import contextlib
import json
import os
import subprocess
import sys
import time
import uuid
from fractions import Fraction

import psycopg
import pytest

from benchmarks.server_process import ANALYST, CURATOR, ServerProcess
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.sources import Source
from tests.tables import small_domain, small_table

pytestmark = pytest.mark.xdist_group("faults")
F = Fraction
SMALL = {"learner": "random-decision", "parameters": {"n_trees": 2, "max_depth": 2}}


@pytest.fixture
def records(postgres_server, postgres_database):
    """A table that a user of its own reads; how to run SQL there, and the URL without a password."""
    reader = f"r{uuid.uuid4().hex}"
    with psycopg.connect(postgres_database, autocommit=True) as connection:
        table = small_table()
        names = ", ".join(f'"{name}"' for name in table)
        connection.execute(f"CREATE TABLE small ({names.replace(',', ' text,')} text)")
        with connection.cursor() as cursor:
            rows = [tuple(map(str, row)) for row in table.itertuples(index=False)]
            marks = ", ".join(["%s"] * len(table.columns))
            cursor.executemany(f"INSERT INTO small VALUES ({marks})", rows)
        connection.execute(f"CREATE ROLE {reader} LOGIN")
        connection.execute(f"GRANT SELECT ON small TO {reader}")
        yield (
            lambda sql: connection.execute(sql.format(reader=reader)),
            postgres_database.replace("postgres:@", f"{reader}@"),
        )
        connection.execute(f"DROP OWNED BY {reader}")
    postgres_server.psql(f"DROP ROLE {reader}")


@contextlib.contextmanager
def clinic(folder, url, **settings):
    """A running server with a table of that database."""
    server = ServerProcess(
        folder, epsilon="10", lease_seconds=1, source_connect_seconds=1, **settings
    )
    declared = json.loads(server.settings["connections"])
    more = {"password_env": "CLINIC_PASSWORD"} if settings.get("workers") == 0 else {}
    declared["clinic"] = {"kind": "postgresql", "url": url} | more
    server.settings["connections"] = json.dumps(declared)
    os.environ["CLINIC_PASSWORD"] = "any"
    try:
        context = server.context()
        with context.database.write() as session:
            source = Source("clinic", "small")
            tables.register(
                context,
                session,
                "clinic",
                source,
                small_domain(),
                Policy("10"),
                signed=True,
                curator=CURATOR,
            )
            tables.grant(context, session, "clinic", ANALYST)
        context.database.close()
        with server, server.client(server.sample.analyst_token) as analyst:
            yield server, analyst
    finally:
        del os.environ["CLINIC_PASSWORD"]


def ask(analyst, table, number):
    body = {"epsilon": "1"} | SMALL
    body["parameters"] = body["parameters"] | {"random_state": number}
    answer = analyst.post(f"/v1/tables/{table}/forests", json=body)
    assert answer.status_code == 202, answer.text
    return answer.json()["id"]


def spent(server):
    """What the table has spent and holds, by the ledger itself."""
    context = server.context()
    with context.database.read() as session:
        found = context.book(session).state("clinic")
    context.database.close()
    return found.spent, found.held


def until(is_so, seconds=120):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.1)


def said(server, event):
    return [line for line in server.said() if line["event"] == event]


def test_a_right_that_was_withdrawn_costs_nothing_and_comes_back(tmp_path, records):
    """Before, three requests cost epsilon 3, and no record was read."""
    run, url = records
    with clinic(tmp_path, url) as (server, analyst):
        run("REVOKE SELECT ON small FROM {reader}")
        jobs = [ask(analyst, "clinic", number) for number in range(3)]
        until(lambda: len(said(server, "source not opened")) >= 2)
        assert spent(server) == (0, 3)
        assert "SQLSTATE 42501" in said(server, "source not opened")[0]["why"]
        assert not said(server, "job failed")
        run("GRANT SELECT ON small TO {reader}")
        states = [analyst.get_until_done(job)["state"] for job in jobs]
        assert spent(server) == (F(states.count("done")), 0), "what was given up was given back"


def test_a_locked_table_wedges_no_worker(tmp_path, records):
    """Before, the worker waited for ever, and its heartbeat renewed the lease."""
    run, url = records
    with clinic(tmp_path, url) as (server, analyst):
        run("BEGIN")
        run("LOCK TABLE small IN ACCESS EXCLUSIVE MODE")
        locked = ask(analyst, "clinic", 1)
        other = ask(analyst, server.table, 2)
        assert analyst.get_until_done(other)["state"] == "done"
        assert spent(server) == (0, 1)
        run("ROLLBACK")
        assert analyst.get_until_done(locked)["state"] == "done"


def test_stopping_a_job_whose_pass_hangs_frees_its_worker(tmp_path, records):
    run, url = records
    run("ALTER TABLE small RENAME TO slow")
    run("CREATE VIEW small AS SELECT s.* FROM slow s, LATERAL (SELECT pg_sleep(60), s.size) x")
    run("GRANT SELECT ON small TO {reader}")
    with (
        clinic(tmp_path, url) as (server, analyst),
        server.client(server.sample.curator_token) as curator,
    ):
        hung = ask(analyst, "clinic", 1)
        until(lambda: analyst.get(f"/v1/jobs/{hung}").json()["passes"] >= 1)
        waiting = ask(analyst, server.table, 2)
        assert curator.post(f"/v1/jobs/{hung}/cancel").status_code == 200
        assert analyst.get_until_done(waiting, 30)["state"] == "done"
        assert analyst.get(f"/v1/jobs/{hung}").json()["state"] == "failed"
        assert spent(server) == (1, 0), "it was charged before a record was read"


def test_a_worker_without_its_password_burns_nothing_of_the_queue(tmp_path, records):
    """Before, it drained the queue and burned all of it in milliseconds."""
    _, url = records
    with clinic(tmp_path, url, workers=0) as (server, analyst):
        jobs = [ask(analyst, "clinic", number) for number in range(4)]
        settings = {f"FRITH_{name.upper()}": str(value) for name, value in server.settings.items()}
        lacks = {n: v for n, v in os.environ.items() if n != "CLINIC_PASSWORD"} | settings
        command = [sys.executable, "-m", "frith", "worker"]
        with (tmp_path / "worker.log").open("wb") as log:
            worker = subprocess.Popen(command, env=lacks, stdout=log, stderr=log)
            until(lambda: (tmp_path / "worker.log").read_text().count("source not opened") >= 2)
            worker.kill()
            worker.wait()
            assert spent(server)[0] == 0
            assert "password is missing here" in (tmp_path / "worker.log").read_text()
            worker = subprocess.Popen(command, env=os.environ | settings, stdout=log, stderr=log)
            states = [analyst.get_until_done(job)["state"] for job in jobs]
            worker.kill()
            worker.wait()
        assert states.count("done") >= 3
        assert spent(server) == (F(states.count("done")), 0)
