"""How a request is accepted: its cost is reserved, and its job queued.

A repeat by the same analyst is the same job. A repeat by another is charged to that analyst as if it
were new, and not to the table, because nothing further is released.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from frith.client.kinds import JobKind, JobState, ProblemCode
from frith.privacy.exact import show
from frith.server.auth.acting import tell
from frith.server.budget.accounts import open_accounts, quote, require
from frith.server.budget.checks import check_sale
from frith.server.budget.member_view import View
from frith.server.budget.proposals import propose_job
from frith.server.context import Context
from frith.server.jobs import sizes
from frith.server.jobs.history import may_answer
from frith.server.jobs.requests import JobRequest
from frith.server.problems import Problem, conflict
from frith.server.schema import Job, Member, RequestKey

_REPEAT_BYTES = 1_000
"""What the event and the key of a repeat take; uncounted, repeats could fill the disk for nothing."""
_QUEUE_WAIT = 10  # seconds of Retry-After for a member whose queue is full


def accept(
    context: Context,
    session: Session,
    view: View,
    member: Member,
    asked: JobRequest,
    key: str | None = None,
    batch_account: str | None = None,
    reason: str = "",
) -> Job:
    """Reserve the cost of a request and queue it, or return the job that it repeats.

    If the policy requires approval, it waits, with the `reason` that the analyst gives.

    Locks the ledger before the look-up, so that one of two simultaneous requests is first.
    """
    context.book(session).lock()
    told = {"kind": asked.kind, "epsilon": show(asked.budget.epsilon)}
    told |= {"delta": show(asked.budget.delta)} if asked.budget.delta else {}
    told |= {"reason": reason} if reason else {}
    tell(session, target=view.name, more=told)
    known = _same_key(session, view, member, key, asked)
    if known is not None:
        _check_stored(context, session, member, _REPEAT_BYTES)
        tell(session, after={"job": known.id, "repeats": True})
        return known
    job = _same_body(context, session, view, member, asked)
    if job is None:
        job = _queue(context, session, view, member, asked, batch_account, reason)
        tell(session, after={"job": job.id})
    else:
        _check_stored(context, session, member, _REPEAT_BYTES)
        tell(session, after={"job": job.id, "repeats": True})
    if key is not None:
        session.add(RequestKey(member=member.name, key=key, job=job.id))
        session.flush()
    return job


def _queue(
    context: Context,
    session: Session,
    view: View,
    member: Member,
    asked: JobRequest,
    batch_account: str | None,
    reason: str,
) -> Job:
    _check_queue(context, session, member)
    found = sizes.estimate(session, asked, view.domain)
    sizes.check(context.settings, found)
    waits = asked.kind != JobKind.DRY_RUN and view.policy.needs_approval(asked.budget)
    job = Job(
        id=context.new_secret(8),
        member=member.name,
        table=view.name,
        version=view.table.version,
        kind=asked.kind,
        body=asked.body,
        body_hash=asked.hash,
        seed=int(context.new_secret(4), 16),
        state=JobState.WAITING if waits else JobState.QUEUED,
        passes=0,
        doing="",
        created=context.now(),
        attempts=0,
        stored=found.stored + len(asked.body),
        forest=asked.forest,
        round=asked.round,
    )
    _check_stored(context, session, member, job.stored)
    if asked.kind != JobKind.DRY_RUN:
        _reserve(context, session, view, job, asked, batch_account)
    session.add(job)
    session.flush()
    if waits:
        propose_job(context, session, job, member, reason)
    return job


def _same_key(
    session: Session, view: View, member: Member, key: str | None, asked: JobRequest
) -> Job | None:
    if key is None:
        return None
    found = session.get(RequestKey, (member.name, key))
    job = session.get(Job, found.job) if found is not None else None
    if job is not None and (job.table, job.body_hash) != (view.name, asked.hash):
        raise conflict("this idempotency key was used for another request")
    return job


def _same_body(
    context: Context, session: Session, view: View, member: Member, asked: JobRequest
) -> Job | None:
    query = (
        _same_requests(view, asked)
        .where(Job.member == member.name, may_answer(context))
        .order_by(Job.created)
        .limit(1)
    )
    return session.scalars(query).first()


def _same_requests(view: View, asked: JobRequest) -> Any:
    return select(Job).where(
        Job.table == view.name, Job.version == view.table.version, Job.body_hash == asked.hash
    )


def _check_queue(context: Context, session: Session, member: Member) -> None:
    unfinished = Job.state.in_((JobState.WAITING, JobState.QUEUED))
    query = select(func.count()).where(Job.member == member.name, unfinished)
    if (session.scalar(query) or 0) >= context.settings.queued_per_member:
        raise Problem(
            ProblemCode.TOO_MANY,
            "too many of your jobs are queued; wait for some, or cancel some",
            wait=_QUEUE_WAIT,
        )


def _check_stored(context: Context, session: Session, member: Member, further: int) -> None:
    """Count what a job will store, even if it repeats another's: an answer must not reveal that it does."""
    own = session.get_one(Member, member.name, with_for_update=True)
    most, days = context.settings.stored_per_member, context.settings.dry_run_days
    if own.stored + further > most:
        raise Problem(
            ProblemCode.TOO_MANY,
            f"your results take about {own.stored:,} bytes here, this would take {further:,} more, and "
            f"you may have {most:,}; ask for less, wait until dry runs are forgotten after {days} days, "
            "or ask the curator",
        )
    own.stored += further


def _reserve(
    context: Context,
    session: Session,
    view: View,
    job: Job,
    asked: JobRequest,
    batch: str | None,
) -> None:
    """Reserve the cost on both accounts; for a repeat, all of it on the analyst's and 0 on the table's.

    Write an entry of 0, so that receipt numbers do not reveal that somebody else asked the same.
    """
    book = context.book(session)
    check_sale(context, session, view, job.member, batch)
    table, own = open_accounts(context, session, view, job.member, batch)
    price = quote(context, session, view, job.member, asked.budget, batch)
    require(price)
    done = _same_requests(view, asked).where(Job.state == JobState.DONE, Job.release.is_not(None))
    earlier = session.scalars(done.order_by(Job.created).limit(1)).first()
    job.release = earlier.release if earlier is not None else None
    on_table = price.cost if earlier is None else Fraction(0)
    book.reserve(table, job.id, on_table, asked.purpose, view.neighbors)
    book.reserve(own, job.id, price.cost, asked.purpose, view.neighbors)
