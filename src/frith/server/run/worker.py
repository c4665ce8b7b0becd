"""A worker takes jobs one by one: it opens the source, charges, trains and stores, in its own process."""

from __future__ import annotations

import contextlib
import itertools
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import structlog

from frith.client.kinds import JobState
from frith.curator import Curator, Progress
from frith.engines import Engine
from frith.errors import SourceError
from frith.ledger.database import StoreError
from frith.privacy.budget import Budget
from frith.privacy.sources import JournaledSource, OpenDPSource
from frith.server.context import Context
from frith.server.jobs import lifecycle
from frith.server.jobs.work import Unopened, Work
from frith.server.problems import FAILED, Problem
from frith.server.run.quarantine import Quarantine

log = structlog.get_logger("frith.worker")
MakeCurator = Callable[[Engine, Budget, JournaledSource, Progress], Curator]


def open_curator(
    engine: Engine, budget: Budget, journal: JournaledSource, progress: Progress
) -> Curator:
    """A curator whose answers are journaled; the job was charged when it started."""
    return Curator(engine, budget, source=journal, progress=progress)


class Worker:
    """Runs the jobs of a server. Only tests pass another `make_curator`; no setting can."""

    def __init__(self, context: Context, make_curator: MakeCurator = open_curator):
        self.context, self.name = context, context.new_secret(6)
        self._make_curator = make_curator
        self._quarantine = Quarantine(context)

    def run(self, is_over: Callable[[], bool], idle_seconds: float = 0.2) -> None:
        """Work until `is_over`; a job that has begun is finished first."""
        log.info("worker started", worker=self.name)
        while not is_over():
            try:
                busy = self.work_once()
            except StoreError:
                log.warning("the database cannot be used; trying again")
                busy = False
            if not busy:
                time.sleep(idle_seconds)
        log.info("worker stopped", worker=self.name)

    def work_once(self) -> bool:
        """Do one job; False if there was none."""
        with self.context.database.write() as session:
            job = lifecycle.take(self.context, session, self.name, self._quarantine)
            job_id = None if job is None else job.id
        if job_id is None:
            return False
        with contextlib.suppress(lifecycle.Lost), self._heartbeat(job_id):
            self._do(job_id)
        return True

    def _do(self, job_id: str) -> None:
        try:
            document = self._work(job_id)
            with self.context.database.write() as session:
                lifecycle.finish(self.context, session, job_id, self.name, document)
            log.info("job done", job=job_id)
        except (lifecycle.Lost, StoreError):
            raise
        except Problem as problem:
            self._fail(job_id, problem.message)
        except Unopened:
            with self.context.database.write() as session:
                lifecycle.put_back(self.context, session, job_id, self.name)
        except Exception as error:  # noqa: BLE001 - one generic failure, whatever it was
            why = {"why": str(error)} if isinstance(error, SourceError) else {}
            log.error("job failed", job=job_id, error=type(error).__name__, **why)
            self._fail(job_id, FAILED)

    def _work(self, job_id: str) -> Any:
        """The document that the job releases; None if it repeats an earlier release."""
        with self.context.database.read() as session:
            job = lifecycle.mine(session, job_id, self.name, to_change=False)
            is_new = job.state == JobState.QUEUED
            repeats = job.release is not None
            work = Work(session, job, self.context.settings)
        if repeats:
            self._start(job_id, work)
            return None
        if is_new:
            work.rehearse()
        with self._opened(job_id, work) as engine:
            stored = self._start(job_id, work)
            log.info("job started", job=job_id, kind=work.asked.kind)
            return work.run(self._curator(job_id, engine, work.asked.budget, stored))

    @contextlib.contextmanager
    def _opened(self, job_id: str, work: Work) -> Iterator[Engine]:
        """The source of the job; one that cannot be opened is left alone for a while."""
        with contextlib.ExitStack() as until:
            try:
                engine = until.enter_context(work.opened())
            except Unopened as fault:
                noted = self._quarantine.add(work.reads)
                log.warning(
                    "source quarantined by this worker", worker=self.name, job=job_id,
                    table=work.reads[0], why=str(fault), **noted,
                )  # fmt: skip
                raise
            self._quarantine.lift(work.reads)
            yield engine

    def _start(self, job_id: str, work: Work) -> list[Any]:
        """Charge the job, and return what earlier attempts stored."""
        with self.context.database.write() as session:
            lifecycle.start(self.context, session, job_id, self.name, work.domain.names)
            return lifecycle.answers(session, job_id)

    def _curator(
        self, job_id: str, engine: Engine, budget: Budget, stored: Sequence[Any]
    ) -> Curator:
        journal = JournaledSource(OpenDPSource(), stored)
        passes = itertools.count(1)

        def begin(purpose: str) -> None:
            with self.context.database.write() as session:
                fresh, number = journal.take_fresh(), next(passes)
                lifecycle.advance(self.context, session, job_id, self.name, purpose, fresh, number)

        return self._make_curator(engine, budget, journal, begin)

    def _fail(self, job_id: str, message: str) -> None:
        with self.context.database.write() as session:
            lifecycle.fail(
                self.context, session, lifecycle.mine(session, job_id, self.name), message
            )

    @contextlib.contextmanager
    def _heartbeat(self, job_id: str) -> Iterator[None]:
        """Renew the lease while the job runs."""
        done = threading.Event()

        def beat() -> None:
            while not done.wait(self.context.settings.lease_seconds / 4):
                with (
                    contextlib.suppress(StoreError, lifecycle.Lost),
                    self.context.database.write() as session,
                ):
                    lifecycle.renew(self.context, session, job_id, self.name)

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()
