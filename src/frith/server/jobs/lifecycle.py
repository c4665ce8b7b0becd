"""A job at work: leased, started and charged, then done, failed or cancelled.

    queued -> running -> done | failed        queued -> cancelled

Starting turns the reservation into a charge, in the transaction that makes the job running: after
its source was opened, and before a record is read. A job whose source cannot be opened goes back to
the queue. Cancelling returns a reservation, never a charge.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session, aliased

from frith.client.kinds import JobKind, JobState
from frith.server.auth.acting import tell
from frith.server.auth.members import get_member
from frith.server.auth.roles import curates
from frith.server.budget.accounts import settle_neighbors
from frith.server.budget.checks import doubt_terms
from frith.server.budget.proposals import take_back
from frith.server.budget.tables import get_table, see
from frith.server.budget.terms import Terms, batch_terms, policy_terms
from frith.server.context import Context
from frith.server.jobs import history
from frith.server.jobs.doubts import doubt_job
from frith.server.jobs.history import delivery, is_held_back, shown_state
from frith.server.jobs.journal import unpack
from frith.server.jobs.requests import JobRequest
from frith.server.jobs.sizes import LEAST_STORED
from frith.server.problems import FAILED, FAILED_FREE, REJECTED, STOPPED, STOPPED_FREE, conflict
from frith.server.schema import Batch, Job, Journal, Member, Release

MAX_ATTEMPTS = 5

Reads = tuple[str, bool]
"""What a job reads: a table, and one of its batches or None."""


def reads_of(job: Job) -> Reads | None:
    """What a job reads; None for a dry run, which reads nothing."""
    return None if job.kind == JobKind.DRY_RUN else (job.table, job.kind == JobKind.UPDATE)


class Lost(Exception):
    """Another worker has taken the job over, or it was cancelled."""


def take(
    context: Context, session: Session, worker: str, avoided: Iterable[Reads] = ()
) -> Job | None:
    """Lease a job that no worker has; first a job whose worker fell silent.

    Otherwise dry runs come last, then members with the fewest running jobs come first, then the
    oldest job. A member has at most `running_per_member` running jobs. Jobs that read what is
    `avoided` are left to other workers.
    """
    if _is_resting(context, session, worker):
        return None
    now, others = context.now(), aliased(Job)
    at_work = (
        select(func.count())
        .where(others.member == Job.member, others.lease > now)
        .correlate(Job)
        .scalar_subquery()
    )
    query = select(Job).where(
        Job.state.in_((JobState.QUEUED, JobState.RUNNING)),
        or_(Job.lease.is_(None), Job.lease < now),
        at_work < context.settings.running_per_member,
    )
    for table, of_batch in avoided:
        is_other = or_(Job.table != table, (Job.kind == JobKind.UPDATE) != of_batch)
        query = query.where(or_(is_other, Job.kind == JobKind.DRY_RUN))
    order = (Job.state.desc(), Job.kind == JobKind.DRY_RUN, at_work, Job.created, Job.id)
    query = query.order_by(*order).limit(1)
    job = session.scalars(query.with_for_update(skip_locked=True, of=Job)).first()
    if job is None:
        return None
    job.attempts += 1
    if job.attempts > MAX_ATTEMPTS:
        fail(context, session, job, FAILED)
        return take(context, session, worker, avoided)
    job.worker, job.lease = worker, context.now(seconds=context.settings.lease_seconds)
    return job


def _is_resting(context: Context, session: Session, worker: str) -> bool:
    """Whether the worker must wait until its last job is shown: a new job would reveal its end."""
    if not context.settings.deliver_every:
        return False
    query = select(Job).where(
        Job.worker == worker,
        Job.kind != JobKind.DRY_RUN,
        Job.state.in_((JobState.DONE, JobState.FAILED)),
    )
    last = session.scalars(query.order_by(Job.finished.desc()).limit(1)).first()
    return last is not None and is_held_back(context, last)


def put_back(context: Context, session: Session, job_id: str, worker: str) -> None:
    """Return a job whose source could not be opened to the queue, or fail it after its last attempt."""
    job = mine(session, job_id, worker)
    if job.attempts >= MAX_ATTEMPTS:
        fail(context, session, job, FAILED)
    else:
        job.worker = job.lease = None


def start(
    context: Context, session: Session, job_id: str, worker: str, attributes: Sequence[str]
) -> Job:
    """Make a queued job running and every reservation a charge, in one transaction.

    The analyst's grant must still exist and include all `attributes`. A job that was running already
    is taken over and keeps its charge. Attempts are counted anew: those that failed to open the
    source cost nothing, and must not leave a charged job without a second one.
    """
    job = mine(session, job_id, worker)
    book = context.book(session)
    if job.state == JobState.QUEUED:
        book.lock()
        view = see(session, job.table, get_member(session, job.member))
        view.check_reach(attributes)
        for account in _accounts(context, session, job):
            settle_neighbors(book, account, view)
            book.charge_reserved(account, job.id, view.neighbors)
        job.state, job.started, job.attempts = JobState.RUNNING, context.now(), 1
    else:
        _accounts(context, session, job)
    return job


def _accounts(context: Context, session: Session, job: Job) -> list[str]:
    """The accounts that pay for the job, according to the chain; the job's own row may be wrong."""
    steps = context.book(session).steps([job.id]).get(job.id, [])
    walk, earlier = context.watch.follow(), history.repeated(session, [job]).get(job.id)
    states = context.book(session).find(*(step.account for step in steps)).values()
    doubts = [doubt_terms(walk, terms) for terms in _terms(session, job)]
    doubts += [doubt_job(job, steps, earlier), *map(walk.doubt, states)]
    context.watch.require(job.table, *doubts)
    return [step.account for step in steps]


def _terms(session: Session, job: Job) -> list[Terms]:
    """The terms that the chain must hold for the source that the job reads."""
    found = [policy_terms(get_table(session, job.table))]
    if job.kind == JobKind.UPDATE:
        batch = session.get_one(Batch, (job.table, JobRequest.read(job.body).details["batch"]))
        found.append(batch_terms(batch))
    return found


def advance(
    context: Context,
    session: Session,
    job_id: str,
    worker: str,
    doing: str,
    fresh: bytes | None,
    passes: int,
) -> None:
    """Store the answers so far, packed, and only then show that the next pass has begun.

    A rerun repeats passes that were shown before; the number shown never falls.
    """
    job = mine(session, job_id, worker)
    if fresh is not None:
        query = select(func.count()).where(Journal.job == job_id)
        number = session.scalar(query) or 0
        session.add(Journal(job=job_id, number=number, answers=fresh))
    job.passes, job.doing = max(job.passes, passes), doing


def answers(session: Session, job_id: str) -> list[Any]:
    """The answers that earlier attempts stored, in order."""
    query = select(Journal).where(Journal.job == job_id).order_by(Journal.number)
    return [answer for row in session.scalars(query) for answer in unpack(row.answers)]


def finish(
    context: Context, session: Session, job_id: str, worker: str, packed: bytes | None
) -> None:
    """Store the packed release and mark the job done; a repeat shows the passes of what it repeats.

    Packing takes seconds for a large forest, so it is done before the transaction.
    """
    job = mine(session, job_id, worker)
    if job.release is not None:
        job.passes = history.maker(session, job.release).passes
    else:
        assert packed is not None
        job.release = context.new_secret(8)
        session.add(
            Release(
                id=job.release,
                job=job.id,
                document=packed,
                hash=hashlib.sha256(packed).hexdigest(),
                created=context.now(),
            )
        )
    for row in session.scalars(select(Journal).where(Journal.job == job_id)):
        session.delete(row)
    _end(context, job, JobState.DONE)


def cancel(context: Context, session: Session, job: Job, by: Member) -> None:
    """Cancel a queued job and its reservation, or stop a running one, whose charge is kept.

    The worker of a stopped job kills its process. With a delivery schedule only curators stop
    running jobs: whether there is still something to stop would reveal how far a job is. Locks the
    job before the ledger, as workers do, so that there is no deadlock.
    """
    session.refresh(job, with_for_update=True)
    context.book(session).lock()
    tell(session, before={"state": shown_state(context, job), "table": job.table})
    may_stop = curates(session, by, job.table) or not context.settings.deliver_every
    if job.state == JobState.RUNNING and may_stop:
        fail(context, session, job, STOPPED if job.kind != JobKind.DRY_RUN else STOPPED_FREE)
        return
    if job.state not in (JobState.WAITING, JobState.QUEUED):
        state = shown_state(context, job)
        raise conflict(f"only a job that has not ended can be cancelled, and this is {state}")
    _cancel_reservations(context, session, job)
    take_back(context, session, job, by)
    give_back_room(session, job)
    job.state, job.finished, job.lease = JobState.CANCELLED, context.now(), None


def fail(context: Context, session: Session, job: Job, problem: str) -> None:
    """End a job without a release: its reservation is cancelled, but a charge is kept."""
    is_unpaid = job.state in (JobState.WAITING, JobState.QUEUED)
    if problem == FAILED and (is_unpaid or job.kind == JobKind.DRY_RUN):
        problem = FAILED_FREE
    if is_unpaid:
        _cancel_reservations(context, session, job)
    job.problem = problem
    _end(context, job, JobState.FAILED)


def settle(context: Context, session: Session, job: Job, approve: bool) -> None:
    """Queue a job that waited for approval, or end it: nothing was charged yet.

    The caller has locked the job. One that waits no longer is left alone.
    """
    if job.state != JobState.WAITING:
        if approve:
            state = shown_state(context, job)
            raise conflict(f"the request waits no longer; it is {state}, so reject this")
        return
    if approve:
        job.state = JobState.QUEUED
    else:
        fail(context, session, job, REJECTED)


def give_back_room(session: Session, job: Job, *, all_of_it: bool = False) -> None:
    """Subtract what a job will not store after all from what its member stores.

    Its request and its entries stay and count, unless it is forgotten: otherwise somebody who asks and
    cancels could fill the disk for nothing.
    """
    kept = 0 if all_of_it else min(job.stored, LEAST_STORED + len(job.body))
    own = session.get_one(Member, job.member, with_for_update=True)
    own.stored, job.stored = max(0, own.stored - job.stored + kept), kept


def _cancel_reservations(context: Context, session: Session, job: Job) -> None:
    book = context.book(session)
    for step in book.steps([job.id]).get(job.id, []):
        book.cancel(step.account, job.id)


def _end(context: Context, job: Job, state: str) -> None:
    """Keep the lease until the job is shown: another job that starts would reveal its end."""
    job.state, job.finished = state, context.now()
    job.lease = delivery(context, job)


def mine(session: Session, job_id: str, worker: str, *, to_change: bool = True) -> Job:
    """The job, if this worker still has its lease; raises `Lost` otherwise."""
    job = session.get(Job, job_id, with_for_update=to_change)
    if job is None or job.worker != worker or job.state not in (JobState.QUEUED, JobState.RUNNING):
        raise Lost
    return job


def renew(context: Context, session: Session, job_id: str, worker: str) -> None:
    mine(session, job_id, worker).lease = context.now(seconds=context.settings.lease_seconds)
