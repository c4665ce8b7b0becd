"""Every job in a process of its own, with a deadline and a limit on memory.

The process is forked from a warm one, opens its own connections and the source, and charges, trains,
journals and stores by itself. The worker supervises: it keeps the lease, and kills the process at a
limit or when the job is no longer the worker's. If a job's process dies by itself, another worker
takes the job when its lease ends, as if the worker had died. When the worker dies, so does its job's
process.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
from multiprocessing import forkserver
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from typing import Any

import structlog

from frith.ledger.database import Database, StoreError
from frith.server.budget.apart import follow_parent, used_bytes
from frith.server.context import Context
from frith.server.jobs.lifecycle import Lost
from frith.server.jobs.sizes import Limits, OverLimit
from frith.server.run.logs import set_up_logs
from frith.server.run.worker import UNOPENED, UNTRIED, Worker
from frith.server.settings import Settings
from frith.server.watch import Known

log = structlog.get_logger("frith.worker")
_LOOK_SECONDS = 0.05
_LAST_SECONDS = 0.5  # for a process that has stored its job's end and is about to exit
_FORKSERVER_DIED = 255
_NICENESS = 5  # of a job: requests to a server on the same machine go first, and jobs do not starve


class Cage:
    """Runs jobs in processes of their own, forked from one that this starts and warms up."""

    def __init__(self, settings: Settings):
        self._settings = settings.model_dump_json()
        forks = "forkserver" in multiprocessing.get_all_start_methods()
        self._processes: Any = multiprocessing.get_context("forkserver" if forks else "spawn")
        if forks:
            self._processes.set_forkserver_preload(["frith.server.run.warm"])
            forkserver.ensure_running()

    def run(
        self, worker: str, job_id: str, known: Known, limits: Limits, lost: threading.Event
    ) -> int | None:
        """Run a job until it ends or is `lost`; the exit code of its process.

        Raises `OverLimit` if it was killed at a limit.
        """
        process = self._processes.Process(
            target=run_job, args=(self._settings, worker, job_id, known)
        )
        process.start()
        try:
            _watch(process, limits, lost)
        finally:
            code = _end(process)
        return code


def _watch(process: BaseProcess, limits: Limits, lost: threading.Event) -> None:
    until = time.monotonic() + limits.seconds
    while not wait([process.sentinel], _LOOK_SECONDS):
        if lost.is_set():
            wait([process.sentinel], _LAST_SECONDS)
            return
        if time.monotonic() > until:
            raise OverLimit("time")
        if used_bytes(process.pid) > limits.bytes:
            raise OverLimit("memory")


def _end(process: BaseProcess) -> int | None:
    """Make sure that the process is gone, even if the forkserver that would report it has died."""
    if process.exitcode is None:
        process.kill()
    process.join()
    code = process.exitcode
    if code == _FORKSERVER_DIED and process.pid is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    process.close()
    return code


def run_job(settings: str, worker: str, job_id: str, known: Known) -> None:
    """The whole life of a job's process. It does not repeat its worker's checks of the ledger."""
    for number in (signal.SIGTERM, signal.SIGINT):  # the worker ends this process
        signal.signal(number, signal.SIG_IGN)
    if hasattr(os, "nice"):
        os.nice(_NICENESS)
    threading.Thread(target=follow_parent, daemon=True).start()
    set_up_logs()
    read = Settings.model_validate_json(settings)
    context = Context(Database(read.database), read)
    context.watch.go_on_from(known)
    try:
        opened = None
        with contextlib.suppress(Lost):
            opened = Worker(context, name=worker).do(job_id)
        if not opened:
            raise SystemExit(UNTRIED if opened is None else UNOPENED)
    except StoreError:
        log.warning("the database cannot be used; trying again", job=job_id)
        raise SystemExit(1) from None
