"""Sources that cannot be opened, hang or changed: what is charged, who waits, and what is said."""

import contextlib
import datetime
import json
import socket
import threading
import time
import uuid
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from fractions import Fraction

import pandas as pd
import pytest

from benchmarks.server_process import ServerProcess
from frith.client.kinds import ProblemCode
from frith.server.budget import source_checks
from frith.server.budget.places import Places
from frith.server.jobs.lifecycle import MAX_ATTEMPTS
from frith.server.problems import FAILED, FAILED_FREE, Problem
from frith.server.run.worker import Worker
from tests.server.conftest import declare, domain_text, refused, said
from tests.tables import small_domain, small_table

F = Fraction
MORE = {"domain": domain_text(small_domain()), "policy": {"epsilon": "9"}}


@contextlib.contextmanager
def away(path):
    """A file that is not there for a while."""
    aside = path.with_suffix(".away")
    path.rename(aside)
    yield
    aside.rename(path)


def jobs(house, n, table=None):
    asked = []
    for i in range(n):
        house.clock.move(seconds=1)  # the oldest comes first
        answer = house.analyst.ask(table or house.table, epsilon=f"0.{i + 1}")
        asked.append(said(answer, 202)["id"])
    return asked


def states(house, asked):
    return [house.analyst.job(job)["state"] for job in asked]


def faults(lines):
    return [line for line in lines if line["event"].startswith("source quarantined")]


def reasons(lines):
    return [line["why"] for line in lines if line["event"] == "source not opened"]


# -- opening fails ---------------------------------------------------------------------------------


@pytest.fixture
def clinic(house, postgres_server, postgres_database):
    """A table of a PostgreSQL database, read by a user of its own; how to run SQL there."""
    from adbc_driver_postgresql import dbapi

    reader = f"r{uuid.uuid4().hex}"
    with dbapi.connect(postgres_database, autocommit=True) as connection:

        def run(sql):
            with connection.cursor() as cursor:
                cursor.execute(sql.format(reader=reader))

        with connection.cursor() as cursor:
            cursor.adbc_ingest("small", pa_table(small_table()), mode="create")
        run("CREATE ROLE {reader} LOGIN")
        run("GRANT SELECT ON small TO {reader}")
        url = postgres_database.replace("postgres:@", f"{reader}@")
        declare(house, clinic={"kind": "postgresql", "url": url})
        body = {"name": "clinic", "connection": "clinic", "table": "small"} | MORE
        said(house.curator.post("/v1/tables", json=body), 201)
        said(house.curator.put("/v1/tables/clinic/grants/ana", json={}))
        yield run
        run("DROP OWNED BY {reader}")
    postgres_server.psql(f"DROP ROLE {reader}")


def pa_table(frame):
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)


def test_a_job_that_tries_no_source_lifts_no_quarantine(house, lines):
    """Before, a refused request or a repeat did, so that jobs soon had no attempts left."""
    house.train()
    (house.folder / "records.parquet").rename(house.folder / "away")
    job = said(house.analyst.ask(house.table, epsilon="0.2"), 202)["id"]
    house.work()
    said(house.analyst.post(f"/v1/jobs/{job}/cancel"))
    house.clock.wait(seconds=2)
    assert house.train(house.add("bea", to=house.table))["state"] == "done", "it repeats the first"
    assert house.train(parameters={"n_trees": 0})["state"] == "failed"
    house.train(epsilon="0.3")
    assert [line["failures"] for line in lines if "failures" in line] == [1, 2]


def test_requests_about_a_source_that_may_not_be_read_cost_nothing(house, clinic, lines):
    clinic("REVOKE SELECT ON small FROM {reader}")
    asked = jobs(house, 3, "clinic")
    for _ in range(3 * MAX_ATTEMPTS):
        assert house.spent("clinic")[0] == 0
        house.work()
        house.clock.move(seconds=61)
    ended = [house.analyst.job(job) for job in asked]
    assert {(job["state"], job["problem"]) for job in ended} == {("failed", FAILED_FREE)}
    assert house.spent("clinic") == house.spent("clinic/ana") == (0, 0)
    assert not [e for e in house.entries() if e.kind == "charge"]
    told = faults(lines)
    assert len(told) == 3 * MAX_ATTEMPTS
    assert all("SQLSTATE 42501" in why for why in reasons(lines))
    assert len(reasons(lines)) == len(told)
    assert not [line for line in lines if line["event"] == "job failed"]
    clinic("GRANT SELECT ON small TO {reader}")
    house.clock.move(seconds=61)
    assert house.train(table="clinic", epsilon="0.1")["state"] == "done"
    assert house.spent("clinic") == (F("0.1"), 0)


def test_a_locked_table_holds_up_no_worker_for_ever(house, clinic, lines):
    house.set(source_connect_seconds=3)
    clinic("BEGIN")
    clinic("LOCK TABLE small IN ACCESS EXCLUSIVE MODE")
    (job,) = jobs(house, 1, "clinic")
    other = said(house.analyst.ask(house.table), 202)["id"]
    house.work()
    clinic("ROLLBACK")
    assert states(house, [job, other]) == ["queued", "done"]
    assert house.spent("clinic") == (0, F("0.1"))
    assert "SQLSTATE 57014" in reasons(lines)[0]
    house.clock.move(seconds=61)
    house.work()
    assert states(house, [job]) == ["done"]


def test_a_pass_that_takes_too_long_fails_after_the_charge(house, clinic, lines):
    house.set(source_statement_seconds=1.5)
    clinic("ALTER TABLE small RENAME TO slow")
    clinic("CREATE VIEW small AS SELECT s.* FROM slow s, LATERAL (SELECT pg_sleep(0.1), s.size) x")
    clinic("GRANT SELECT ON small TO {reader}")
    (job,) = jobs(house, 1, "clinic")
    house.work()
    assert house.analyst.job(job)["problem"] == FAILED
    assert house.spent("clinic") == (F("0.1"), 0)


def test_a_worker_without_its_source_neither_drains_the_queue_nor_burns(house, lines):
    other = house.register("other", house.folder / "later.parquet")
    with away(house.folder / "records.parquet"):
        asked, elsewhere = jobs(house, 9), jobs(house, 3, other)
        assert house.work() == 4, "one try, and what reads something else"
        for _ in range(60):
            house.clock.move(seconds=1)
            house.work()
        assert states(house, elsewhere) == ["done"] * 3
        assert states(house, asked) == ["failed"] + ["queued"] * 8, "one job a minute at most"
        assert house.spent(house.table)[0] == 0
        told = faults(lines)
        assert [line["wait"] for line in told] == [1, 2, 4, 8, 16, 32]
        assert [line["failures"] for line in told] == [1, 2, 3, 4, 5, 6]
        assert {line["table"] for line in told} == {house.table}
        assert "the connection has no Parquet" in reasons(lines)[0]
    house.clock.move(seconds=61)
    house.work()
    assert states(house, asked)[1:] == ["done"] * 8
    assert house.spent(house.table) == (sum(F(i, 10) for i in range(2, 10)), 0)


def test_another_worker_has_what_one_lacks(house):
    broken, whole = Worker(house.context), Worker(house.context)
    asked = jobs(house, 4)
    for _ in asked:
        with away(house.folder / "records.parquet"):
            broken.work_once()
        assert whole.work_once()
    assert states(house, asked) == ["done"] * 4


def test_a_lost_batch_holds_up_no_job_of_its_table(house):
    forest, path = house.train(epsilon="1")["id"], house.folder / "later.parquet"
    batch = {"name": "next", "connection": "sample", "table": path.name, "disjoint": True}
    said(house.curator.post(f"/v1/tables/{house.table}/batches", json=batch), 201)
    update = {"epsilon": "0.5", "batch": "next"}
    with away(path):
        updated = said(house.analyst.post(f"/v1/forests/{forest}/updates", json=update), 202)["id"]
        (job,) = jobs(house, 1)
        house.work()
        assert states(house, [updated, job]) == ["queued", "done"]
    house.clock.move(seconds=61)
    house.work()
    assert states(house, [updated]) == ["done"]


def test_a_job_taken_over_is_opened_again_and_keeps_its_charge(house):
    (job,) = jobs(house, 1)
    house.change_job(job, state="running", started=house.context.now())
    with away(house.folder / "records.parquet"):
        for _ in range(MAX_ATTEMPTS):
            house.work()
            house.clock.move(seconds=61)
    assert house.analyst.job(job)["problem"] == FAILED


def test_a_waiting_job_can_be_cancelled_and_counts_for_no_limit(house):
    house.set(running_per_member=1)
    other = house.register("other", house.folder / "later.parquet")
    with away(house.folder / "records.parquet"):
        (job,) = jobs(house, 1)
        house.work()
        assert house.train(table=other, epsilon="0.5")["state"] == "done"
        said(house.analyst.post(f"/v1/jobs/{job}/cancel"))
    assert house.spent(house.table) == (0, 0)


# -- types -----------------------------------------------------------------------------------------


@pytest.fixture
def guessed(house):
    """A table in a file whose writer guesses its types from the records; how to write it anew."""
    path = house.folder / "guessed.parquet"

    def write(*sizes):
        table = small_table(2 + len(sizes)).drop(columns="who")
        table["size"] = pd.Series([None, None, *sizes], dtype=object)
        table.to_parquet(path)

    write()
    body = {"name": "guessed", "connection": "sample", "table": path.name} | MORE
    said(house.curator.post("/v1/tables", json=body), 201)
    said(house.curator.put("/v1/tables/guessed/grants/ana", json={}))
    return write


@pytest.mark.parametrize("sizes", [(), (datetime.date(2020, 1, 1),), (7.5,), ("7",)], ids=str)
def test_one_value_in_a_column_of_nulls_is_charged_like_none(house, guessed, sizes, lines):
    guessed(*sizes)
    (job,) = jobs(house, 1, "guessed")
    house.work()
    assert faults(lines) == []
    assert house.spent("guessed") == (F("0.1"), 0)
    assert house.analyst.job(job)["problem"] == (FAILED if sizes else None)


def test_a_column_of_another_type_is_read_after_a_new_version(house, guessed, lines):
    guessed(7.5)
    (job,) = jobs(house, 1, "guessed")
    house.work()
    assert house.analyst.job(job)["problem"] == FAILED
    assert house.spent("guessed") == (F("0.1"), 0)
    (line,) = [line for line in lines if line["event"] == "job failed"]
    assert "not of the types" in line["why"]
    said(house.curator.post("/v1/tables/guessed/version"))
    assert house.train(table="guessed", epsilon="0.2")["state"] == "done"


def test_a_catalogue_of_another_type_costs_nothing(house, clinic, lines):
    clinic("ALTER TABLE small ALTER size TYPE text")
    (job,) = jobs(house, 1, "clinic")
    house.work()
    assert states(house, [job]) == ["queued"]
    assert house.spent("clinic") == (0, F("0.1"))
    assert "not of the types" in reasons(lines)[0]


def test_a_guarantee_says_what_is_taken_for_public(house):
    job = house.train()
    forest = said(house.analyst.get(f"/v1/forests/{job['id']}"))["forest"]
    assert any("footers of files, are public" in a for a in forest["guarantee"]["assumptions"])


# -- sources that hang -----------------------------------------------------------------------------


def test_a_check_that_hangs_is_given_up_and_keeps_its_place():
    stop = threading.Event()
    for _ in range(source_checks.LIMIT):
        with pytest.raises(Problem, match=r"within 0\.05 seconds"):
            source_checks.in_time(stop.wait, 0.05)
    with pytest.raises(Problem, match="several other sources") as full:
        source_checks.in_time(lambda: 1, 1)
    assert full.value.code == ProblemCode.TOO_MANY
    assert full.value.wait
    stop.set()
    until = time.monotonic() + 120
    while time.monotonic() < until:
        with contextlib.suppress(Problem):
            assert source_checks.in_time(lambda: 7, 5) == 7
            break
    with pytest.raises(KeyError):
        source_checks.in_time({}.popitem, 5)


def test_sources_of_one_member_that_hang_leave_places_for_others(house, small, monkeypatch):
    monkeypatch.setattr(source_checks, "_places", Places(4, "busy"))
    cora, dan, stop = house.add("cora", "curator"), house.add("dan", "curator"), threading.Event()
    for _ in range(2):
        with pytest.raises(Problem, match="within"):
            source_checks.in_time(stop.wait, 0.05, by="cora")
    refused(cora.post("/v1/tables", json=small), "too_many")
    refused(cora.post("/v1/tables", json=small | {"name": "other"}), "too_many")
    said(dan.post("/v1/tables", json=small), 201)
    stop.set()


def test_a_curator_who_waits_for_sources_raises_no_version_and_adds_no_batch(
    house, small, monkeypatch
):
    monkeypatch.setattr(source_checks, "_places", Places(2, "busy"))
    source_checks._places.take(house.curator.name)
    batch = {"connection": small["connection"], "table": small["table"], "name": "more"}
    for path, body in (("version", None), ("batches", batch)):
        refused(house.curator.post(f"/v1/tables/{house.table}/{path}", json=body), "too_many")


def never_answering(folder, silent):
    """A server with a connection to a socket that says nothing."""
    url = f"postgresql://u@127.0.0.1:{silent.getsockname()[1]}/d"
    server = ServerProcess(folder, workers=0, source_connect_seconds=60)
    declared = json.loads(server.settings["connections"])
    declared["silent"] = {"kind": "postgresql", "url": url}
    server.settings["connections"] = json.dumps(declared)
    return server


def test_sources_that_never_answer_leave_the_server_to_others(tmp_path):
    with (
        socket.create_server(("127.0.0.1", 0), backlog=64) as silent,
        never_answering(tmp_path, silent) as server,
        ThreadPoolExecutor(41) as pool,
        server.client(server.sample.analyst_token) as analyst,
        server.client(server.sample.curator_token) as curator,
    ):

        def register(i):
            body = {"name": f"t{i}", "connection": "silent", "table": "t"} | MORE
            return curator.post("/v1/tables", json=body)

        asked = [pool.submit(register, i) for i in range(41)]
        wait(asked, return_when=FIRST_COMPLETED)  # one is one too many: the others wait
        said(analyst.get(f"/v1/tables/{server.table}"))
        assert not all(a.done() for a in asked), "nobody waits for those who wait"
        silent.settimeout(0.1)
        while not all(a.done() for a in asked):
            with contextlib.suppress(TimeoutError):
                silent.accept()[0].close()
        answers = [a.result() for a in asked]
        codes = [answer.json()["code"] for answer in answers]
        assert set(codes) == {"too_many", "invalid"}
        assert codes.count("invalid") >= source_checks.LIMIT // 2, "one member's share"
