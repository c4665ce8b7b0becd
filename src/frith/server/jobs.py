"""The life of a request: accepted and reserved, started and charged, done and shown.

    queued -> running -> done | failed        queued -> cancelled

Accepting reserves; starting turns the reservation into a charge, in the transaction that makes the
job running and before a record is read; cancelling gives a reservation back and never a charge. A
repeat by the same analyst is the same job. A repeat by another is charged to that analyst as if it
were new, and not to the table, because nothing further is released.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select
from sqlalchemy.orm import Session, aliased

from frith.ledger import Receipt
from frith.server.context import Context, stamp
from frith.server.journal import pack, unpack
from frith.server.members import get_member
from frith.server.problems import (
    FAILED,
    FAILED_FREE,
    STOPPED,
    STOPPED_FREE,
    Problem,
    not_found,
)
from frith.server.requests import DRY_RUN, Asked
from frith.server.schema import Job, Journal, Member, Release, RequestKey
from frith.server.spending import open_accounts, quote, require, settle_neighbors
from frith.server.tables import View, see

QUEUED, RUNNING, DONE, REFUSED, CANCELLED = "queued", "running", "done", "failed", "cancelled"
MOST_ATTEMPTS = 5
PAGE = 100  # jobs listed at a time
_QUEUE_WAIT = 10  # seconds before a member with a full queue should ask again


# -- asking ----------------------------------------------------------------------------------------


def accept(
    context: Context,
    session: Session,
    view: View,
    member: Member,
    asked: Asked,
    key: str | None = None,
    batch_account: str | None = None,
) -> Job:
    """Reserve what a request costs and queue it, or return the job that it repeats.

    The ledger is locked before anything is looked up: of two requests at once, one is first.
    """
    context.book(session).lock()
    known = _same_key(session, view, member, key, asked)
    if known is not None:
        return known
    job = _same_body(session, view, member, asked)
    if job is None:
        job = _queue(context, session, view, member, asked, batch_account)
    if key is not None:
        session.add(RequestKey(member=member.name, key=key, job=job.id))
        session.flush()
    return job


def _queue(
    context: Context,
    session: Session,
    view: View,
    member: Member,
    asked: Asked,
    batch_account: str | None,
) -> Job:
    _check_queue(context, session, member)
    job = Job(
        id=context.new_secret(8),
        member=member.name,
        table=view.name,
        version=view.table.version,
        kind=asked.kind,
        body=asked.body,
        body_hash=asked.hash,
        seed=int(context.new_secret(4), 16),
        accounts="[]",
        state=QUEUED,
        passes=0,
        doing="",
        created=context.now(),
        attempts=0,
    )
    if asked.kind != DRY_RUN:
        _reserve(context, session, view, job, asked, batch_account)
    session.add(job)
    session.flush()
    return job


def _same_key(
    session: Session, view: View, member: Member, key: str | None, asked: Asked
) -> Job | None:
    if key is None:
        return None
    found = session.get(RequestKey, (member.name, key))
    job = session.get(Job, found.job) if found is not None else None
    if job is not None and (job.table, job.body_hash) != (view.name, asked.hash):
        raise Problem("conflict", "this idempotency key was used for another request")
    return job


def _same_body(session: Session, view: View, member: Member, asked: Asked) -> Job | None:
    query = (
        _twins(view, asked)
        .where(Job.member == member.name, Job.state.in_((QUEUED, RUNNING, DONE)))
        .order_by(Job.created)
    )
    return session.scalars(query).first()


def _twins(view: View, asked: Asked) -> Any:
    return select(Job).where(
        Job.table == view.name, Job.version == view.table.version, Job.body_hash == asked.hash
    )


def _check_queue(context: Context, session: Session, member: Member) -> None:
    query = select(func.count()).where(Job.member == member.name, Job.state == QUEUED)
    if (session.scalar(query) or 0) >= context.settings.queued_per_member:
        raise Problem(
            "too_many",
            "too many of your jobs are queued; wait for some, or cancel some",
            wait=_QUEUE_WAIT,
        )


def _reserve(
    context: Context,
    session: Session,
    view: View,
    job: Job,
    asked: Asked,
    batch: str | None,
) -> None:
    """Hold the cost on both accounts; a repeat holds all of it on the analyst's, and 0 on the table's.

    The entry of 0 keeps the numbers of receipts alike, which would tell that another has asked this.
    """
    book = context.book(session)
    table, own = open_accounts(context, session, view, job.member, batch)
    price = quote(context, session, view, job.member, asked.budget, batch)
    require(price)
    done = _twins(view, asked).where(Job.state == DONE, Job.release.is_not(None))
    twin = session.scalars(done.order_by(Job.created)).first()
    job.release = twin.release if twin is not None else None
    job.accounts = json.dumps([table, own])
    on_table = price.cost if twin is None else Fraction(0)
    book.reserve(table, job.id, on_table, asked.purpose, view.neighbors)
    book.reserve(own, job.id, price.cost, asked.purpose, view.neighbors)


# -- looking ---------------------------------------------------------------------------------------


def find_job(session: Session, job: str, member: Member) -> Job:
    """A job of this member's; curators see all."""
    found = session.get(Job, job)
    if found is None or not (found.member == member.name or member.is_curator):
        raise not_found("job")
    return found


def list_jobs(
    session: Session,
    member: Member,
    *where: ColumnElement[bool],
    everyone: bool = False,
    before: str | None = None,
    most: int,
) -> list[Job]:
    """At most so many of the member's jobs, the newest first, or those before one of them."""
    query = select(Job).where(*where).order_by(Job.created.desc(), Job.id).limit(most)
    if not (everyone and member.is_curator):
        query = query.where(Job.member == member.name)
    if before is not None:
        last = find_job(session, before, member)
        is_older = and_(Job.created == last.created, Job.id > last.id)
        query = query.where(or_(Job.created < last.created, is_older))
    return list(session.scalars(query))


def shown_state(context: Context, job: Job) -> str:
    """The state to show: with a delivery schedule, what is finished is running until its time."""
    if job.state not in (DONE, REFUSED) or not is_held_back(context, job):
        return job.state
    return RUNNING


def is_held_back(context: Context, job: Job) -> bool:
    at = _delivery(context, job)
    return at is not None and at > context.now()


def _delivery(context: Context, job: Job) -> str | None:
    """When what a job came to is shown, where there is a schedule."""
    every = context.settings.deliver_every
    if not every or job.finished is None:
        return None
    created, finished = datetime.fromisoformat(job.created), datetime.fromisoformat(job.finished)
    ticks = max(1, math.ceil((finished - created) / timedelta(seconds=every)))
    return stamp(created + timedelta(seconds=ticks * every))


def describe(context: Context, session: Session, job: Job) -> dict[str, Any]:
    """A job as its owner sees it. Passes are public; records and durations are not."""
    asked, state = Asked.read(job.body), shown_state(context, job)
    every = context.settings.deliver_every
    receipt = own_receipt(context, session, job)
    return {
        "id": job.id,
        "kind": job.kind,
        "table": job.table,
        "version": job.version,
        "member": job.member,
        "state": state,
        "passes": 0 if every else job.passes,
        "doing": "" if every or state != RUNNING else job.doing,
        "request": json.loads(job.body),
        "created": job.created,
        "problem": job.problem if state == REFUSED else None,
        "receipt": receipt.to_json() if receipt is not None else None,
        "purpose": asked.purpose,
    }


def own_receipt(context: Context, session: Session, job: Job) -> Receipt | None:
    """The last entry of the analyst's own account about this job."""
    accounts = json.loads(job.accounts)
    if not accounts:
        return None
    return context.book(session).entries(accounts[-1], request=job.id)[-1]


def released(context: Context, session: Session, job: Job) -> Any:
    """The document of a job that is done, or why there is none."""
    state = shown_state(context, job)
    if state != DONE:
        raise Problem("not_ready", f"the job is {state}", state=state)
    release = session.get(Release, job.release)
    assert release is not None
    return unpack(release.document)


def cancel(context: Context, session: Session, job: Job, by: Member) -> None:
    """End a job that is still queued, and give its reservation back.

    A curator can also stop one that is running; its charge is kept, and its worker finds that out at
    the next pass. The job is locked before the ledger, as by workers, so that neither waits for the
    other.
    """
    session.refresh(job, with_for_update=True)
    if job.state == RUNNING and by.is_curator:
        fail(context, session, job, STOPPED if job.kind != DRY_RUN else STOPPED_FREE)
        return
    if job.state != QUEUED:
        state = shown_state(context, job)
        raise Problem("conflict", f"only a queued job can be cancelled, and this is {state}")
    _give_back(context, session, job)
    job.state, job.finished, job.lease = CANCELLED, context.now(), None


def _give_back(context: Context, session: Session, job: Job) -> None:
    book = context.book(session)
    for account in json.loads(job.accounts):
        book.cancel(account, job.id)


# -- working ---------------------------------------------------------------------------------------


class Lost(Exception):
    """Another worker has taken the job over, or it was cancelled."""


def take(context: Context, session: Session, worker: str) -> Job | None:
    """Lease a job that nobody works on; one whose worker fell silent comes first.

    Of the others, members with the fewest jobs at work go before, dry runs come last, and then the
    oldest is taken. A member has at most `running_per_member` at work.
    """
    if _rests(context, session, worker):
        return None
    now, others = context.now(), aliased(Job)
    at_work = (
        select(func.count())
        .where(others.member == Job.member, others.lease > now)
        .correlate(Job)
        .scalar_subquery()
    )
    query = select(Job).where(
        Job.state.in_((QUEUED, RUNNING)),
        or_(Job.lease.is_(None), Job.lease < now),
        at_work < context.settings.running_per_member,
    )
    order = (Job.state.desc(), Job.kind == DRY_RUN, at_work, Job.created, Job.id)
    query = query.order_by(*order).limit(1)
    job = session.scalars(query.with_for_update(skip_locked=True, of=Job)).first()
    if job is None:
        return None
    job.attempts += 1
    if job.attempts > MOST_ATTEMPTS:
        fail(context, session, job, FAILED)
        return take(context, session, worker)
    job.worker, job.lease = worker, context.now(seconds=context.settings.lease_seconds)
    return job


def _rests(context: Context, session: Session, worker: str) -> bool:
    """Whether a worker waits for its last job to be shown: starting another would tell of its end."""
    if not context.settings.deliver_every:
        return False
    query = select(Job).where(
        Job.worker == worker, Job.kind != DRY_RUN, Job.state.in_((DONE, REFUSED))
    )
    last = session.scalars(query.order_by(Job.finished.desc()).limit(1)).first()
    return last is not None and is_held_back(context, last)


def start(
    context: Context, session: Session, job_id: str, worker: str, attributes: Sequence[str]
) -> Job:
    """Queued becomes running and every reservation a charge, in one transaction.

    The analyst's grant must still be there and reach all `attributes`. A job that was running
    already is being taken over: it keeps the charge that it has.
    """
    job = mine(session, job_id, worker)
    if job.state == QUEUED:
        view = see(session, job.table, get_member(session, job.member))
        view.check_reach(attributes)
        book = context.book(session)
        for account in json.loads(job.accounts):
            settle_neighbors(book, account, view)
            book.charge_reserved(account, job.id, view.neighbors)
        job.state, job.started = RUNNING, context.now()
    return job


def advance(
    context: Context,
    session: Session,
    job_id: str,
    worker: str,
    doing: str,
    fresh: list[Any],
    passes: int,
) -> None:
    """Store the answers so far, and only then show that a further pass has begun.

    A rerun goes through passes that were shown before; the number does not fall back.
    """
    job = mine(session, job_id, worker)
    if fresh:
        query = select(func.count()).where(Journal.job == job_id)
        number = session.scalar(query) or 0
        session.add(Journal(job=job_id, number=number, answers=pack(fresh)))
    job.passes, job.doing = max(job.passes, passes), doing


def answers(session: Session, job_id: str) -> list[Any]:
    """The answers that an earlier attempt has stored, in order."""
    query = select(Journal).where(Journal.job == job_id).order_by(Journal.number)
    return [answer for row in session.scalars(query) for answer in unpack(row.answers)]


def finish(context: Context, session: Session, job_id: str, worker: str, document: Any) -> None:
    """Store the release, and with it that the job is done; a repeat looks like what it repeats."""
    job = mine(session, job_id, worker)
    if job.release is not None:
        job.passes = maker(session, job.release).passes
    else:
        packed = pack(document)
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
    _end(context, job, DONE)


def maker(session: Session, release: str) -> Job:
    """The job that made a release."""
    made = session.get(Release, release)
    job = session.get(Job, made.job) if made is not None else None
    assert job is not None
    return job


def fail(context: Context, session: Session, job: Job, problem: str) -> None:
    """End a job without a release: a reservation goes back, a charge is kept."""
    if problem == FAILED and (job.state == QUEUED or job.kind == DRY_RUN):
        problem = FAILED_FREE
    if job.state == QUEUED:
        _give_back(context, session, job)
    job.problem = problem
    _end(context, job, REFUSED)


def _end(context: Context, job: Job, state: str) -> None:
    """A job counts as at work until it is shown, or others that start would tell that it has ended."""
    job.state, job.finished = state, context.now()
    job.lease = _delivery(context, job)


def mine(session: Session, job_id: str, worker: str, *, to_change: bool = True) -> Job:
    """The job, if this worker still has it."""
    job = session.get(Job, job_id, with_for_update=to_change)
    if job is None or job.worker != worker or job.state not in (QUEUED, RUNNING):
        raise Lost
    return job


def renew(context: Context, session: Session, job_id: str, worker: str) -> None:
    mine(session, job_id, worker).lease = context.now(seconds=context.settings.lease_seconds)
