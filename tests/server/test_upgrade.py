"""Two replicas are replaced one after the other by this frith, under load and from the schema before."""

import contextlib
import itertools
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest
from sqlalchemy import select
from typer.testing import CliRunner

from benchmarks.server_process import free_port
from frith.cli import app
from frith.ledger.database import HEAD, Database
from frith.server.auth import members
from frith.server.context import Context
from frith.server.jobs.verification import verify
from frith.server.problems import Problem
from frith.server.schema import Job, Member, Release, TableCurator
from frith.server.settings import Settings

pytestmark = pytest.mark.xdist_group("faults")
ROOT = Path(__file__).resolve().parents[2]
BEFORE = "844ac45"
"""A commit with the schema before."""
TABLE, PAUSE = "visits", 0.1
IS_FULL = os.environ.get("FRITH_FULL") == "1"
A_WHILE = 5 if IS_FULL else 0.5  # seconds of load between two steps, at least


@pytest.fixture(scope="module")
def earlier(tmp_path_factory):
    """The source of the commit before."""
    folder = tmp_path_factory.mktemp("earlier")
    made = subprocess.run(["git", "archive", BEFORE, "src"], cwd=ROOT, capture_output=True)
    if made.returncode:
        pytest.skip(f"the history does not hold {BEFORE}, the commit with the schema before")
    subprocess.run(["tar", "-x", "-C", folder], input=made.stdout, check=True)
    return folder


class Launcher:
    """A process that has imported one of the two friths, and forks replicas of it."""

    def __init__(self, checkout, settings, folder, *words):
        told = {f"FRITH_{name.upper()}": str(value) for name, value in settings.items()}
        told |= {"PYTHONPATH": str(checkout / "src"), "NUMBA_DISABLE_JIT": "1"}
        self._path = folder / f"{checkout.name}.log"
        self._log = self._path.open("wb")
        self._process = subprocess.Popen(
            [sys.executable, ROOT / "tests/server/replicas.py", folder, *words],
            env=os.environ | told, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
            text=True, cwd=folder,
        )  # fmt: skip
        self._running = []

    def read(self):
        line = self._process.stdout.readline()
        assert line, self._path.read_text()[-2_000:]
        return line

    def replica(self):
        """The URL of a new replica that answers, and what stops it."""
        port = free_port()
        print(port, file=self._process.stdin, flush=True)
        process = int(self.read())
        self._running.append(process)
        url, until = f"http://127.0.0.1:{port}", time.monotonic() + 300
        with httpx2.Client(timeout=5) as client:
            while time.monotonic() < until:
                with contextlib.suppress(httpx2.HTTPError):
                    if client.get(f"{url}/health").status_code == 200:
                        return url, process
                time.sleep(0.05)
        raise TimeoutError(self._path.read_text()[-2_000:])

    def stop(self, process):
        """Ask a replica to stop, and wait until it has finished what had begun."""
        os.kill(process, signal.SIGTERM)
        self._running.remove(process)
        until = time.monotonic() + 300
        while _is_there(process):
            assert time.monotonic() < until, self._path.read_text()[-2_000:]
            time.sleep(0.02)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self._running:
            os.kill(process, signal.SIGKILL)
        self._process.kill()
        self._process.communicate()
        self._log.close()


def _is_there(process):
    """Whether a process runs; one that has ended stays as a zombie of its launcher."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except FileNotFoundError:
        return False


class Load:
    """Analysts and a curator who ask the replicas that are in rotation, and note every answer."""

    def __init__(self, tokens, rotation):
        self.rotation, self.answers, self.jobs = rotation, [], []
        self._over, self._numbers = threading.Event(), itertools.count()
        self._lock, self._at = threading.Lock(), {}
        self._threads = [
            threading.Thread(
                target=self._go_on, args=(self._look if n == "carla" else self._ask, t)
            )
            for n, t in tokens.items()
        ]

    def __enter__(self):
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._over.set()
        for thread in self._threads:
            thread.join()

    def _go_on(self, step, token):
        headers = {"Authorization": f"Bearer {token}"}
        with httpx2.Client(headers=headers, timeout=60) as client:
            turn = 0
            while not self._over.wait(PAUSE):
                turn += 1
                with self._lock:
                    self._at[token] = self.rotation[turn % len(self.rotation)]
                step(client, self._at[token], turn)
                self._at[token] = None

    def go_on(self):
        """Let a while pass, in which answers come."""
        enough = len(self.answers) + 8
        time.sleep(A_WHILE)
        self._until(lambda: len(self.answers) >= enough)

    def leave(self, url, new):
        """Ask another replica instead of this one, and wait until nobody asks it any more."""
        with self._lock:
            self.rotation = [*(u for u in self.rotation if u != url), new]
        self.go_on()
        self._until(lambda: url not in self._at.values())

    def _until(self, is_so):
        until = time.monotonic() + 300
        while not is_so():
            assert time.monotonic() < until
            assert all(thread.is_alive() for thread in self._threads), self.answers[-3:]
            time.sleep(0.02)

    def _ask(self, client, url, turn):
        body = {"epsilon": "0.01"}
        self._note(client, "POST", f"{url}/v1/tables/{TABLE}/quotes", body)
        self._note(client, "GET", f"{url}/v1/jobs?limit=5")
        if turn % 3 == 1:
            another = {"n_trees": 1, "max_depth": 1, "random_state": next(self._numbers)}
            body |= {"learner": "random-decision", "parameters": another}
            made = self._note(client, "POST", f"{url}/v1/tables/{TABLE}/forests", body)
            self.jobs.append(made.json()["id"])

    def _look(self, client, url, turn):
        """What only a curator could do before, and an operator who curates the table can do now."""
        self._note(client, "GET", f"{url}/v1/members")
        self._note(client, "GET", f"{url}/metrics")
        self._note(
            client, "PUT", f"{url}/v1/tables/{TABLE}/grants/eve", {"epsilon": f"{900 - turn}"}
        )

    def _note(self, client, method, url, body=None):
        try:
            answer = client.request(method, url, json=body)
            self.answers.append((answer.status_code, "" if answer.is_success else answer.text))
        except httpx2.HTTPError as error:
            self.answers.append((0, repr(error)))
            raise
        return answer


@pytest.fixture
def upgraded(earlier, postgres_database, tmp_path):
    """What was asked and answered while two replicas were replaced, and the database since."""
    settings = {
        "database": postgres_database, "requests_per_second": 100_000, "queued_per_member": 1_000,
        "connections": json.dumps({"local": {"kind": "folder", "root": str(tmp_path)}}),
    }  # fmt: skip
    database = Database(postgres_database)
    with ExitStack() as running:
        before = running.enter_context(Launcher(earlier, settings, tmp_path, "fill"))
        now = running.enter_context(Launcher(ROOT, settings, tmp_path))
        tokens = json.loads(before.read())
        assert database.version == "0007"
        old = [before.replica() for _ in range(2)]
        with Load(tokens, [url for url, _ in old]) as load:
            load.go_on()
            run("migrate", postgres_database)
            load.go_on()  # the old ones go on beside it
            for url, process in old:
                new, _ = now.replica()
                load.leave(url, new)
                before.stop(process)
            load._until(lambda: len(load.jobs) > 5)
        _wait(load, tokens)
        yield load, database, postgres_database
    database.close()


def run(*words):
    *command, place = words
    done = CliRunner().invoke(app, [*command, "--database", place])
    assert done.exit_code == 0, done.output


def _wait(load, tokens):
    """Until the operator sees that every job has ended."""
    client = httpx2.Client(headers={"Authorization": f"Bearer {tokens['carla']}"}, timeout=60)
    with client:
        for job in load.jobs:
            until = time.monotonic() + 300
            while (found := client.get(f"{load.rotation[-1]}/v1/jobs/{job}").json())["state"] in (
                "queued", "running",
            ):  # fmt: skip
                assert time.monotonic() < until, found
                time.sleep(0.05)
            assert found["state"] == "done", found


def test_no_request_fails_and_no_charge_is_lost_while_two_replicas_are_replaced(upgraded):
    load, database, place = upgraded
    failed = [answer for answer in load.answers if answer[0] not in (200, 201, 202)]
    assert not failed, failed[:3]
    assert len(load.answers) > 30
    assert len(load.jobs) > 5
    context = Context(database, Settings(database=place))
    with database.read() as session:
        assert database.version == HEAD
        found = verify(session, context.book(session))
        assert found.problems == ()
        charged = [e.request for e in context.book(session).entries(TABLE) if e.kind == "charge"]
        assert sorted(charged) == sorted(load.jobs), "each job is charged once, and nothing else"
        assert set(session.scalars(select(Release.job))) == set(session.scalars(select(Job.id)))
        carla = session.get(Member, "carla")
        assert (carla.role, carla.earlier_role) == ("operator", "curator")
    _check_the_end(context, place)


def _check_the_end(context, place):
    """What an earlier frith would not keep to is refused until none runs; then it is allowed."""
    database = context.database
    with database.write() as session:  # as an earlier frith writes
        session.add(Member(name="dan", earlier_role="curator", created=context.now()))
        session.execute(TableCurator.__table__.delete())
    with pytest.raises(Problem, match="migrate --finish"), database.write() as session:
        members.issue_token(context, session, "ana", scopes=["read"])
    with pytest.raises(Problem, match="migrate --finish"), database.write() as session:
        members.add_member(context, session, "robot", "analyst", owner="ana")
    run("migrate", "--finish", place)
    with database.write() as session:
        assert session.get(Member, "dan").assigned_role == "operator"
        assert sorted(session.scalars(select(TableCurator.member))) == ["carla", "dan"]
        assert members.issue_token(context, session, "ana", scopes=["read"]).token.scopes == "read"
