"""`frith serve` as a process: where it listens, whom it believes, and how it ends."""

import os
import signal
import socket
import subprocess
import sys
import time

import httpx2
import pytest
from starlette.testclient import TestClient

from benchmarks.server_process import ServerProcess, free_port
from frith.server.run.place import is_exposed, listening
from frith.server.run.pool import WorkerPool
from frith.server.run.serve import configure
from frith.server.run.shutdown import Shutdown
from frith.server.schema import Job
from frith.server.settings import Settings
from tests.server.conftest import HOST

pytestmark = pytest.mark.xdist_group("serving")
FULL = os.environ.get("FRITH_FULL") == "1"


def wait_for(what, seconds=300):
    """Until it holds."""
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until, "it never came"
        time.sleep(0.02)


def is_running(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def ask_long(server):
    """A job that takes a while, and has begun."""
    with server.client(server.sample.analyst_token) as client:
        body = {"epsilon": "0.5", "learner": "forest"}
        job = client.post(f"/v1/tables/{server.table}/forests", json=body).json()["id"]
        wait_for(lambda: client.get(f"/v1/jobs/{job}").json()["state"] != "queued")
    return job


def state_of(server, job):
    context = server.context()
    with context.database.read() as session:
        found = session.get(Job, job).state
    context.database.close()
    return found


# -- ending ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT] if FULL else [signal.SIGTERM])
def test_a_signal_ends_the_server_when_its_job_is_done(tmp_path, number):
    with ServerProcess(tmp_path) as server:
        job, workers = ask_long(server), server.workers()
        assert workers
        os.killpg(server.process.pid, number)  # as a terminal or systemd does
        assert server.process.wait(300) == 0
        assert not any(is_running(pid) for pid in workers)
        assert state_of(server, job) == "done"
        events = [line["event"] for line in server.said()]
    assert events.count("worker stopped") == 1
    assert "worker died" not in events
    assert not (tmp_path / "server.db-wal").exists(), "the database was not closed"


def test_workers_end_after_a_server_that_was_killed(tmp_path):
    with ServerProcess(tmp_path) as server:
        workers = server.workers()
        server.process.kill()
        server.process.wait()
        wait_for(lambda: not any(is_running(pid) for pid in workers))


@pytest.mark.parametrize("early", [True, False] if FULL else [True])
def test_a_demo_that_is_told_to_end_leaves_nothing(tmp_path, early):
    folder = tmp_path / "temporary"
    folder.mkdir()
    port = free_port()
    command = [sys.executable, "-m", "frith", "serve", "--demo", "--port", str(port)]
    with subprocess.Popen(
        command, env=os.environ | {"TMPDIR": str(folder)}, stderr=subprocess.DEVNULL
    ) as process:
        wait_for(lambda: list(folder.glob("frith-demo-*")))
        if not early:
            wait_for(lambda: answers(port))
        process.terminate()
        assert process.wait(300) == 0
    assert not list(folder.glob("frith-demo-*"))


def answers(port):
    try:
        return httpx2.get(f"http://127.0.0.1:{port}/health", timeout=2).status_code == 200
    except httpx2.HTTPError:
        return False


def test_a_second_signal_does_not_wait_for_workers():
    class Stubborn(WorkerPool):
        def _start(self):
            return subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE)

    shutdown = Shutdown()
    with Stubborn(Settings(workers=2), shutdown) as pool:
        shutdown.request()
        assert (shutdown.requested, shutdown.forced) == (True, False)
        shutdown.request()
    assert [worker.returncode for worker in pool._workers] == [-signal.SIGKILL] * 2


def test_whoever_comes_late_is_told_that_the_end_was_asked_for():
    shutdown, told = Shutdown(), []
    shutdown.pass_on(lambda: told.append("early"))
    shutdown.request()
    shutdown.pass_on(lambda: told.append("late"))
    assert told == ["early", "late"]


# -- where it listens ------------------------------------------------------------------------------


def serve(tmp_path, *arguments, **environment):
    """What a server says that cannot start."""
    return subprocess.run(
        [sys.executable, "-m", "frith", "serve", "--database", tmp_path / "s.db", *arguments],
        env=os.environ | environment, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def test_a_port_in_use_is_said_before_anything_else(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = serve(tmp_path, "--port", str(port))
    assert done.returncode == 2
    said = f"error: port {port} of 127.0.0.1 is in use; choose another with --port or FRITH_PORT"
    assert done.stderr.strip() == said
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize(
    ("settings", "setting"),
    [
        (["--port", "99999"], "FRITH_PORT"),
        (["--host", "192.0.2.1"], "FRITH_HOST"),
        (["--host", "no such host"], "FRITH_HOST"),
    ],
)
def test_a_place_that_is_none_names_the_setting(tmp_path, settings, setting):
    done = serve(tmp_path, *settings)
    assert done.returncode == 2
    assert setting in done.stderr
    assert "Traceback" not in done.stderr


def test_small_answers_are_sent_without_a_delay():
    """asyncio turns the delay off for sockets that say that they are TCP, and for no others."""
    with listening(Settings(port=0)) as sockets:
        assert [(s.family, s.proto) for s in sockets] == [(socket.AF_INET, socket.IPPROTO_TCP)]


def test_who_listens_to_others_without_tls_is_warned():
    for host in ("0.0.0.0", "::", "", "192.0.2.1", "frith.example.org"):
        assert is_exposed(Settings(host=host))
        assert not is_exposed(Settings(host=host, secure_cookies=True))
        assert not is_exposed(Settings(host=host, tls_certificate="c.pem"))
    for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost"):
        assert not is_exposed(Settings(host=host))


@pytest.mark.parametrize(("secure", "notes"), [(False, 1), (True, 0)])
def test_the_warning_is_one_note_at_the_start(tmp_path, secure, notes):
    server = ServerProcess(tmp_path, host="0.0.0.0", secure_cookies=secure, workers=0)
    with server:
        assert server.stop() == 0
    said = server.log.read_text()
    assert said.count("note: other machines can reach this address") == notes
    assert said.count("a proxy with TLS") == notes


# -- whom it believes ------------------------------------------------------------------------------


def guess_from_everywhere(house):
    """Statuses of wrong tokens that say to come from ever other addresses, by way of this one."""
    config = configure(house.context, most=1_000)
    config.load()
    near = TestClient(config.loaded_app, HOST, client=("127.0.0.1", 1))
    headers = [{"authorization": "Bearer no", "x-forwarded-for": f"192.0.2.{i}"} for i in range(4)]
    return [near.get("/v1/me", headers=h).status_code for h in headers]


def test_nobody_dodges_the_limit_on_wrong_tokens_by_naming_another_address(house):
    house.set(failures_per_minute=2)
    assert guess_from_everywhere(house) == [401, 401, 429, 429]


def test_a_trusted_proxy_says_whom_it_speaks_for(house):
    house.set(failures_per_minute=2, trusted_proxies="192.0.2.200, 127.0.0.1")
    assert guess_from_everywhere(house) == [401] * 4
    house.set(failures_per_minute=2, trusted_proxies="192.0.2.200")
    assert guess_from_everywhere(house) == [401, 401, 429, 429]
