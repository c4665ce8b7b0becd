"""Jobs in processes of their own: killed at their limits, when they are stopped, and with their worker."""

import os
import signal
import threading
import time
from pathlib import Path

import pandas as pd
import pytest
from sqlalchemy import select

from benchmarks.server_process import ServerProcess
from frith.server.budget import tables
from frith.server.budget.apart import used_bytes
from frith.server.budget.policies import Policy
from frith.server.jobs import sizes
from frith.server.jobs.lifecycle import MAX_ATTEMPTS
from frith.server.jobs.sizes import Limits
from frith.server.problems import FAILED, FAILED_FREE, STOPPED
from frith.server.run.cage import Cage
from frith.server.run.worker import Worker
from frith.server.schema import Job, Journal, Release
from tests.server.conftest import ANALYST, at, said

pytestmark = pytest.mark.xdist_group("cages")
PLENTY = Limits(600, 2**40)
SLOW = {"learner": "gini", "parameters": {"max_depth": 12, "min_support": 0}, "epsilon": "1"}
"""Many passes over a table that is much longer than its domain declares."""
LARGE = {"learner": "random-decision", "parameters": {"n_trees": 120, "max_depth": 7}}


@pytest.fixture
def caged(house):
    house.worker = Worker(house.context, cage=Cage(house.settings).run)
    return house


def write_long(folder, times):
    records = pd.read_parquet(folder / "records.parquet").astype("category")
    pd.concat([records] * times).to_parquet(folder / "long.parquet")
    return folder / "long.parquet"


@pytest.fixture
def long_table(caged):
    return caged.register("long", write_long(caged.folder, 300))


def limit_jobs(monkeypatch, limits):
    monkeypatch.setattr(sizes, "limits", lambda *args: limits)


def until(is_so, seconds=300):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.02)


def check_failed(house, job, table):
    """A job that was killed says the one sentence, and keeps its charge if it had one."""
    found = house.analyst.job(job)
    assert found["state"] == "failed"
    spent, held = house.spent(f"{table}/{ANALYST}")
    assert held == 0
    assert found["problem"] == (FAILED if spent else FAILED_FREE)


def test_a_job_past_its_deadline_is_killed_and_others_go_on(caged, long_table, monkeypatch, lines):
    job = said(caged.analyst.ask(long_table, **SLOW), 202)["id"]
    limit_jobs(monkeypatch, Limits(1.5, 2**40))
    assert caged.worker.work_once()
    check_failed(caged, job, long_table)
    assert {"event": "job killed", "log_level": "error", "job": job, "limit": "time"} in lines
    limit_jobs(monkeypatch, PLENTY)
    assert caged.train()["state"] == "done"


def test_a_job_that_takes_too_much_memory_is_killed_and_others_go_on(caged, monkeypatch, lines):
    job = said(caged.analyst.ask(caged.table, **LARGE), 202)["id"]
    limit_jobs(monkeypatch, Limits(600, 260 * 2**20))
    assert caged.worker.work_once()
    check_failed(caged, job, caged.table)
    assert "memory" in [line.get("limit") for line in lines]
    assert caged.train()["state"] == "done", "a small job stays below that limit"


@pytest.mark.parametrize("by", ["curator", "analyst"])
def test_stopping_a_running_job_frees_its_worker_at_once(caged, long_table, by):
    job = said(caged.analyst.ask(long_table, **SLOW), 202)["id"]
    worker = threading.Thread(target=caged.worker.work_once)
    worker.start()
    until(lambda: caged.analyst.job(job)["passes"] >= 1)
    said(getattr(caged, by).post(f"/v1/jobs/{job}/cancel"))
    worker.join(300)
    assert not worker.is_alive()
    found = caged.analyst.job(job)
    assert (found["state"], found["problem"]) == ("failed", STOPPED)
    assert caged.spent(f"{long_table}/{ANALYST}") == (1, 0)
    with caged.database.read() as session:
        assert session.scalars(select(Release)).all() == []


def test_a_job_that_cannot_be_started_ends_no_worker_and_fails_in_the_end(house, lines):
    """Nothing is charged before a process has begun."""

    def no_room(*args):
        raise OSError("no process can be started")

    house.worker = Worker(house.context, cage=no_room)
    job = said(house.analyst.ask(house.table), 202)["id"]
    for _ in range(MAX_ATTEMPTS):
        assert house.worker.work_once()
        house.clock.move(seconds=61)
    assert not house.worker.work_once()
    check_failed(house, job, house.table)
    assert house.spent(house.table) == (0, 0)
    assert "OSError" in [line.get("error") for line in lines]


def test_two_jobs_forked_from_one_process_draw_other_noise(caged):
    """Whatever the warm process had drawn, both would begin with."""
    values = []
    for table in ("one", "two"):
        caged.register(table)
        job = caged.train(table=table, parameters={"n_trees": 2, "max_depth": 3, "random_state": 7})
        values.append(said(caged.analyst.get(f"/v1/forests/{job['id']}"))["forest"])
    assert values[0]["trees"] == values[1]["trees"]
    assert values[0]["values"] != values[1]["values"]


def test_the_memory_of_a_process_is_what_it_has_for_itself():
    before = used_bytes(os.getpid())
    block = bytearray(64 * 2**20)
    grown = used_bytes(os.getpid()) - before
    assert 60 * 2**20 < grown < 100 * 2**20
    assert len(block)
    assert used_bytes(2**22 + 1) == 0


# -- against running processes ---------------------------------------------------------------------


def family(pid):
    """A process, those that it started, and theirs."""
    children = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            children.setdefault(int(fields[1]), []).append(int(stat.parent.name))
    found = [pid]
    for one in found:
        found += children.get(one, [])
    return found


def is_alive(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def niceness(pid):
    return os.getpriority(os.PRIO_PROCESS, pid)


@pytest.fixture
def server(tmp_path):
    server = ServerProcess(tmp_path, epsilon="4", lease_seconds=3, workers=1)
    context = server.context()
    with context.database.write() as session:
        domain = tables.domain_of(tables.get_table(session, server.table))
        source = at(write_long(tmp_path, 40))
        tables.register(context, session, "long", source, domain, Policy("4"))
        tables.grant(context, session, "long", ANALYST)
    context.database.close()
    with server:
        yield server


def test_killed_workers_and_killed_jobs_leave_no_orphans_and_are_paid_once(server):
    with server.client(server.sample.analyst_token) as client:
        job = client.post("/v1/tables/long/forests", json=SLOW).json()["id"]

        def passes():
            return client.get(f"/v1/jobs/{job}").json()["passes"]

        until(lambda: passes() >= 1)
        (worker,) = server.workers()
        (_, *below) = family(worker)
        assert len(below) == 3, "a tracker, the warm process, and the job's"
        (running,) = server.jobs()
        assert niceness(running) > niceness(worker) == niceness(os.getpid())
        os.kill(worker, signal.SIGKILL)
        until(lambda: not any(map(is_alive, below)))
        until(lambda: len(server.workers()) == 1 and server.workers() != [worker])
        (again,) = server.workers()
        until(lambda: len(family(again)) == 4)
        os.kill(max(family(again)), signal.SIGKILL)
        assert client.get_until_done(job)["state"] == "done"
        assert server.workers() == [again], "the worker outlives its job"
    context = server.context()
    with context.database.read() as session:
        kinds = [e.kind for e in context.book(session).entries("long", request=job)]
        assert kinds == ["reserve", "charge"]
        assert len(session.scalars(select(Release)).all()) == 1
        assert session.scalars(select(Journal)).all() == []
        assert session.get(Job, job).attempts == 3
    context.database.close()
