"""The worker processes that a server runs itself, and starts again when they die.

A worker reads its settings from standard input, where no process list shows a password. When that
stream ends, the server is gone: the worker finishes its job and stops.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import structlog

from frith.ledger.database import Database
from frith.server.context import Context
from frith.server.run.cage import Cage
from frith.server.run.logs import set_up_logs
from frith.server.run.shutdown import Shutdown
from frith.server.run.worker import Worker
from frith.server.settings import Settings

log = structlog.get_logger("frith.server")
_WATCH_SECONDS = 0.5
_POLL_SECONDS = 0.05
_GRACE_SECONDS = 20


class WorkerPool:
    """Inside its `with` block, keeps `workers` processes running."""

    def __init__(self, settings: Settings, shutdown: Shutdown):
        self._settings, self._shutdown = settings, shutdown
        self._workers: list[subprocess.Popen[bytes]] = []
        self._stopping = threading.Event()
        self._watch = threading.Thread(target=self._keep_running, daemon=True)

    def __enter__(self) -> WorkerPool:
        self._workers = [self._start() for _ in range(self._settings.workers)]
        self._watch.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Give jobs some time to finish; the next start takes over those that need longer."""
        self._stopping.set()
        self._watch.join()
        for worker in self._workers:
            worker.stdin.close()  # type: ignore[union-attr]
        until = time.monotonic() + _GRACE_SECONDS
        while self._some_run() and time.monotonic() < until and not self._shutdown.forced:
            time.sleep(_POLL_SECONDS)
        for worker in self._workers:
            worker.kill()
            worker.wait()

    def _some_run(self) -> bool:
        return any(worker.poll() is None for worker in self._workers)

    def _keep_running(self) -> None:
        while not self._stopping.wait(_WATCH_SECONDS):
            for i, worker in enumerate(self._workers):
                if worker.poll() is not None:
                    log.warning("worker died", code=worker.returncode)
                    self._workers[i] = self._start()

    def _start(self) -> subprocess.Popen[bytes]:
        worker = subprocess.Popen(
            [sys.executable, "-m", "frith.server.run.pool"], stdin=subprocess.PIPE, close_fds=True
        )
        assert worker.stdin is not None
        worker.stdin.write(self._settings.model_dump_json().encode() + b"\n")
        worker.stdin.flush()
        return worker


def run_worker(settings: Settings, is_over: Callable[[], bool]) -> None:
    """Run the jobs of the server with these settings until `is_over`."""
    database = Database(settings.database)
    database.check()
    context = Context(database, settings)
    context.watch.follow()  # now, because a charge would do it while others wait for the ledger
    Worker(context, cage=Cage(settings).run).run(is_over)
    database.close()


def _until_end(stream: Any, stop: threading.Event) -> None:
    while stream.read(1):
        pass
    stop.set()


def main() -> None:
    """One worker process of the pool."""
    import signal

    for number in (signal.SIGTERM, signal.SIGINT):  # the server handles them and tells us
        signal.signal(number, signal.SIG_IGN)
    settings = Settings.model_validate_json(sys.stdin.buffer.readline())
    set_up_logs()
    stop = threading.Event()
    threading.Thread(target=_until_end, args=(sys.stdin.buffer, stop), daemon=True).start()
    run_worker(settings, stop.is_set)


if __name__ == "__main__":
    main()
