"""A worker takes jobs one by one and supervises the process that opens, charges, trains and stores."""

from __future__ import annotations

import contextlib
import itertools
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import structlog

from frith.client.kinds import JobState, ProblemCode
from frith.curator import Curator, Progress
from frith.engines import Engine
from frith.errors import SourceError
from frith.ledger.database import StoreError
from frith.ledger.witness import WitnessError
from frith.privacy.budget import Budget
from frith.privacy.sources import JournaledSource, default_source
from frith.server.budget.tables import domain_of, get_table
from frith.server.context import Context
from frith.server.jobs import lifecycle, sizes, upkeep, verification
from frith.server.jobs.journal import pack
from frith.server.jobs.requests import JobRequest
from frith.server.jobs.work import Unopened, Work
from frith.server.problems import FAILED, Problem
from frith.server.run.quarantine import Quarantine
from frith.server.watch import ChainState, Known

log = structlog.get_logger("frith.worker")
_SWEEP_EVERY = 60  # times that a worker says that it is there
_COMPARE_SECONDS = 10  # how old a look at the ledger's witness may be when a job is taken
_LOOK_SECONDS = 0.5  # how soon a job that was stopped frees its worker
_STORE_TRIES, _STORE_PAUSE = 30, 1.0  # seconds between tries to store how a job ended
UNOPENED, UNTRIED = 3, 4
"""Exit codes of a job's process: it could not open the source, or it did not try."""
RunCaged = Callable[[str, str, Known, sizes.Limits, threading.Event], int | None]
MakeCurator = Callable[[Engine, Budget, JournaledSource, Progress], Curator]


def open_curator(
    engine: Engine, budget: Budget, journal: JournaledSource, progress: Progress
) -> Curator:
    """A curator whose answers are journaled; the job was charged when it started."""
    return Curator(engine, budget, source=journal, progress=progress)


class Worker:
    """Runs the jobs of a server, each in a `cage`; without one, in this process.

    The process in a cage is a worker without one, of the same `name`. Only tests pass another
    `make_curator`; no setting can.
    """

    def __init__(
        self,
        context: Context,
        make_curator: MakeCurator = open_curator,
        *,
        cage: RunCaged | None = None,
        name: str | None = None,
    ):
        self.context, self.name = context, name or context.new_secret(6)
        self._make_curator, self._cage = make_curator, cage
        self._quarantine = Quarantine(context)
        self._compared = -math.inf

    def run(self, is_over: Callable[[], bool], idle_seconds: float = 0.2) -> None:
        """Work until `is_over`; a job that has begun is finished first."""
        log.info("worker started", worker=self.name)
        with self._upkeep():
            while not is_over():
                try:
                    busy = self.work_once()
                except WitnessError:
                    log.warning("the witness cannot be used; no job is started; trying again")
                    busy = False
                except StoreError:
                    log.warning("the database cannot be used; trying again")
                    busy = False
                if not busy:
                    time.sleep(idle_seconds)
        log.info("worker stopped", worker=self.name)

    def work_once(self) -> bool:
        """Do one job; False if there was none.

        Takes none while the ledger's witness does not answer, so that no job is charged for nothing.
        """
        self._compare()
        with self.context.database.write() as session:
            job = lifecycle.take(self.context, session, self.name, self._quarantine)
            if job is None:
                return False
            job_id, reads = job.id, lifecycle.reads_of(job)
        with contextlib.suppress(lifecycle.Lost), self._heartbeat(job_id) as lost:
            if self._cage is None:
                self._note(reads, self.do(job_id))
            else:
                self._supervise(self._cage, job_id, reads, lost)
        return True

    def _compare(self) -> None:
        """Compare the ledger with its witness now and then; raises while that is impossible."""
        watch = self.context.watch
        if not watch.sees_witness or time.monotonic() - self._compared >= _COMPARE_SECONDS:
            watch.compare()
            self._compared = time.monotonic()

    def _note(self, reads: lifecycle.Reads | None, opened: bool | None) -> None:
        """Leave a source that could not be opened alone for a while; one not tried stays as it is."""
        if reads is None or opened is None:
            return
        if opened:
            self._quarantine.lift(reads)
        else:
            noted = self._quarantine.add(reads)
            log.warning(
                "source quarantined by this worker", worker=self.name, table=reads[0], **noted
            )

    def _supervise(
        self, run_caged: RunCaged, job_id: str, reads: lifecycle.Reads | None, lost: threading.Event
    ) -> None:
        """Do the job in a process of its own, and fail it if it was killed at a limit.

        If its process dies or cannot be started, the job is taken again when its lease ends.
        """
        try:
            if self.context.watch.state is ChainState.BROKEN:  # it may work again
                verification.look(self.context)
            known = self.context.watch.known()
            code = run_caged(self.name, job_id, known, self._limits(job_id), lost)
        except (lifecycle.Lost, StoreError):
            raise
        except sizes.OverLimit as limit:
            log.error("job killed", job=job_id, limit=str(limit))
            self._fail(job_id, FAILED)
        except Exception as error:  # noqa: BLE001 - no job may end its worker
            log.error("job not started", job=job_id, error=type(error).__name__)
        else:
            if code in (0, UNOPENED, UNTRIED):
                self._note(reads, {0: True, UNOPENED: False}.get(code))
            elif not lost.is_set():
                log.warning("job's process died", job=job_id, code=code)

    def _limits(self, job_id: str) -> sizes.Limits:
        with self.context.database.read() as session:
            job = lifecycle.mine(session, job_id, self.name, to_change=False)
            asked, table = JobRequest.read(job.body), get_table(session, job.table)
            return sizes.limits(self.context.settings, session, asked, domain_of(table))

    def do(self, job_id: str) -> bool | None:
        """Do a job that this worker has leased, and store how it ended.

        Returns whether its source could be opened; None for a job that is refused or repeats another.
        """
        try:
            packed = self._work(job_id)
            self._finish(job_id, packed)
            log.info("job done", job=job_id)
            return None if packed is None else True
        except (lifecycle.Lost, StoreError):
            raise
        except Problem as problem:
            self._fail(job_id, problem.message)
            return None
        except Unopened as fault:
            log.warning("source not opened", job=job_id, why=str(fault))
            with self.context.database.write() as session:
                lifecycle.put_back(self.context, session, job_id, self.name)
            return False
        except Exception as error:  # noqa: BLE001 - one generic failure, whatever it was
            why = {"why": str(error)} if isinstance(error, SourceError) else {}
            log.error("job failed", job=job_id, error=type(error).__name__, **why)
            self._fail(job_id, FAILED)
        return True

    def _finish(self, job_id: str, packed: bytes | None) -> None:
        """Store how a job ended, if need be when the database is back: an anchored answer is drawn once."""
        for tries_left in reversed(range(_STORE_TRIES)):
            try:
                with self.context.database.write() as session:
                    lifecycle.finish(self.context, session, job_id, self.name, packed)
                return
            except StoreError:
                if not tries_left:
                    raise
                log.warning("the database cannot be used; storing the job again", job=job_id)
                time.sleep(_STORE_PAUSE)

    def _work(self, job_id: str) -> bytes | None:
        """What the job releases, packed; None if it repeats an earlier release."""
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
        elif not work.is_dry and self.context.watch.has_ended(job_id):
            log.error("job has stored an answer that the database lacks", job=job_id)
            raise Problem(ProblemCode.FAILED, FAILED)  # another draw would be a second answer
        with work.opened() as engine:
            stored = self._start(job_id, work)
            log.info("job started", job=job_id, kind=work.asked.kind)
            document = work.run(self._curator(job_id, engine, work.asked.budget, stored))
        packed = pack(document)
        if not work.is_dry:
            self.context.watch.anchor(ended=job_id)
        return packed

    def _start(self, job_id: str, work: Work) -> list[Any]:
        """Charge the job, and return what earlier attempts stored.

        The charge is anchored before a record is read: no copy of the database that lacks it passes.
        """
        with self.context.database.write() as session:
            lifecycle.start(self.context, session, job_id, self.name, work.domain.names)
            stored = lifecycle.answers(session, job_id)
        if not work.is_dry:
            self.context.watch.anchor()
        return stored

    def _curator(
        self, job_id: str, engine: Engine, budget: Budget, stored: Sequence[Any]
    ) -> Curator:
        journal = JournaledSource(default_source(), stored)
        passes = itertools.count(1)

        def begin(purpose: str) -> None:
            fresh, number = journal.take_fresh(), next(passes)
            packed = pack(fresh) if fresh else None
            with self.context.database.write() as session:
                lifecycle.advance(self.context, session, job_id, self.name, purpose, packed, number)

        return self._make_curator(engine, budget, journal, begin)

    def _fail(self, job_id: str, message: str) -> None:
        with self.context.database.write() as session:
            lifecycle.fail(
                self.context, session, lifecycle.mine(session, job_id, self.name), message
            )

    @contextlib.contextmanager
    def _upkeep(self) -> Iterator[None]:
        """Meanwhile, report that this worker is alive, and delete what is old."""
        done = threading.Event()

        def keep_up() -> None:
            for number in itertools.count():
                with contextlib.suppress(StoreError):
                    upkeep.mark_seen(self.context, self.name)
                    if number % _SWEEP_EVERY == 0:
                        upkeep.sweep(self.context)
                if done.wait(upkeep.SEEN_SECONDS):
                    return

        thread = threading.Thread(target=keep_up, daemon=True)
        thread.start()
        try:
            yield
        finally:
            done.set()
            thread.join()

    @contextlib.contextmanager
    def _heartbeat(self, job_id: str) -> Iterator[threading.Event]:
        """Renew the lease while the job runs; the event is set once the job is no longer ours."""
        done, lost = threading.Event(), threading.Event()
        every = self.context.settings.lease_seconds / 4

        def beat() -> None:
            renewed = time.monotonic()
            while not done.wait(min(every, _LOOK_SECONDS)) and not lost.is_set():
                try:
                    if time.monotonic() - renewed >= every:
                        with self.context.database.write() as session:
                            lifecycle.renew(self.context, session, job_id, self.name)
                        renewed = time.monotonic()
                    else:
                        with self.context.database.read() as session:
                            lifecycle.mine(session, job_id, self.name, to_change=False)
                except lifecycle.Lost:
                    lost.set()
                except StoreError:
                    continue

        thread = threading.Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield lost
        finally:
            done.set()
            thread.join()
