"""A real server in a process of its own, for tests and benchmarks: started, asked, killed, restarted."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import httpx2

from frith.server.auth import members
from frith.server.context import Context, open_context
from frith.server.run import sample
from frith.server.settings import Settings

CURATOR, ANALYST = sample.CURATOR, sample.ANALYST
_START_SECONDS = 300
_HELD: list[socket.socket] = []


def free_port() -> int:
    """A port that nobody else is given until this process ends.

    A socket that is bound and does not listen keeps it: whoever names the port can still listen there,
    and whoever asks the system for any free port gets another one.
    """
    holder = socket.socket()
    holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    holder.bind(("127.0.0.1", 0))
    _HELD.append(holder)
    return int(holder.getsockname()[1])


def _sample_in(folder: Path) -> str:
    """The setting `connections`, as a variable holds it."""
    return json.dumps({sample.CONNECTION: {"kind": "folder", "root": str(folder.absolute())}})


class Client(httpx2.Client):
    """A bare client, so that nothing of ours stands between a test and the server."""

    def get_until_done(self, job: str, seconds: float = 300) -> dict[str, Any]:
        """Ask about a job until it has ended, ever less often."""
        until, pause = time.monotonic() + seconds, 0.05
        while time.monotonic() < until:
            found = self.get(f"/v1/jobs/{job}").json()
            if found["state"] in ("done", "failed", "cancelled"):
                return found
            time.sleep(pause)
            pause = min(0.3, 1.2 * pause)
        raise TimeoutError(f"job {job} is not done")


class ServerProcess:
    """`frith serve` on a database, with the sample table; everything it says is kept in a file."""

    def __init__(self, folder: Path, database: str | None = None, *, epsilon: str = "1",
                 **settings: Any):  # fmt: skip
        self.folder, self.port = folder, free_port()
        self.settings = {"port": self.port, "database": database or str(folder / "server.db"),
                         "requests_per_second": 100_000, "queued_per_member": 100_000,
                         "connections": _sample_in(folder)} | settings  # fmt: skip
        context = self.context()
        self.sample = sample.fill(context, folder, epsilon)
        context.database.close()
        self.table, self.log = self.sample.table, folder / "server.log"
        self.process: subprocess.Popen[bytes] | None = None

    def context(self) -> Context:
        """The same state, in this process."""
        return open_context(Settings(**self.settings))

    def new_analyst(self, name: str, context: Context) -> str:
        """A further analyst with a grant, and their token."""
        from frith.server.budget import tables

        with context.database.write() as session:
            members.add_member(context, session, name, "analyst")
            tables.grant(context, session, self.table, name)
            return members.issue_token(context, session, name).text

    def beside(self, **settings: Any) -> ServerProcess:
        """Another replica on the same database; it is not started yet."""
        other = copy.copy(self)
        other.port, other.process = free_port(), None
        other.settings = self.settings | {"port": other.port} | settings
        other.log = self.folder / f"server-{other.port}.log"
        return other

    def start(self) -> ServerProcess:
        environment = os.environ | {
            f"FRITH_{name.upper()}": str(value) for name, value in self.settings.items()
        }
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "frith", "serve"],
                env=environment,
                stderr=log,
                stdout=log,
                start_new_session=True,
            )
        try:
            self.wait()
        except RuntimeError:
            self.kill()
            raise
        return self

    def wait(self) -> None:
        """Until it answers; one that does not in time is killed."""
        until = time.monotonic() + _START_SECONDS
        with httpx2.Client(timeout=2) as client:  # one for all: each loads what TLS needs
            while time.monotonic() < until:
                try:
                    if client.get(f"{self.url}/health").status_code == 200:
                        return
                except httpx2.HTTPError:
                    time.sleep(0.05)
        self.kill()
        raise RuntimeError(f"the server did not start: {self.log.read_text()[-2000:]}")

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def client(self, token: str) -> Client:
        headers = {"Authorization": f"Bearer {token}"}
        return Client(base_url=self.url, headers=headers, timeout=60)

    def workers(self) -> list[int]:
        """The processes that the server has started."""
        assert self.process is not None
        return _started_by(self.process.pid)

    def jobs(self) -> list[int]:
        """The processes of the jobs that run now: a worker's warm process forks them."""
        warm = [pid for worker in self.workers() for pid in _started_by(worker)]
        return [pid for parent in warm for pid in _started_by(parent)]

    def kill_jobs(self) -> int:
        """`kill -9` of the processes of jobs alone; how many there were."""
        found = self.jobs()
        for pid in found:
            _kill(pid)
        return len(found)

    def kill(self, *, workers_only: bool = False) -> None:
        """`kill -9`, of the server and its workers or of the workers alone."""
        assert self.process is not None
        for pid in self.workers():
            _kill(pid)
        if not workers_only:
            self.process.kill()
            self.process.wait()

    def stop(self) -> int:
        """Ask it to stop, and wait until it has."""
        assert self.process is not None
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(300)

    def __enter__(self) -> ServerProcess:
        return self.start()

    def __exit__(self, *error: object) -> None:
        if self.process is not None and self.process.poll() is None:
            self.kill()

    def said(self) -> list[dict[str, Any]]:
        """Its log, as far as it is lines of JSON."""
        found = []
        for line in self.log.read_text().splitlines():
            with contextlib.suppress(ValueError):  # what libraries say, or half a line
                found.append(json.loads(line))
        return [one for one in found if isinstance(one, dict)]


def _started_by(pid: int) -> list[int]:
    listing = subprocess.run(
        ["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True
    )
    return [int(pid) for pid in listing.stdout.split()]


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
