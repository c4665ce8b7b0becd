"""Jobs as their owners see them: their state, their progress, their receipt and their release."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_, select, union_all
from sqlalchemy.orm import Session, defer
from sqlalchemy.orm.attributes import set_committed_value

from frith.client.kinds import JobKind, JobState, ProblemCode
from frith.client.responses import JobResponse
from frith.ledger import Receipt
from frith.server.auth import roles
from frith.server.budget import tables
from frith.server.context import Context, stamp
from frith.server.jobs.journal import unpack
from frith.server.jobs.requests import JobRequest
from frith.server.problems import Problem, not_found
from frith.server.schema import Job, Member, Release

PAGE = 100  # jobs listed at a time
_MAX_PARTS = 99  # of a statement; databases have limits
_NEWEST_FIRST = (Job.created.desc(), Job.id.desc())
_SHOWN = 20_000  # characters of a request in a list
_QUESTION = ', "question": '  # what follows in a request's text is left out of a list if it is long


def find_job(session: Session, job: str, member: Member) -> Job:
    """A job of this member; a table's curators see every job on it, auditors see all."""
    found = session.get(Job, job)
    if found is None:
        raise not_found("job")
    if found.member != member.name and not tables.sees_whole(session, member, found.table):
        raise not_found("job")
    return found


def list_jobs(
    session: Session,
    member: Member,
    *where: ColumnElement[bool],
    everyone: bool = False,
    before: str | None = None,
    limit: int,
) -> list[Job]:
    """At most `limit` of the member's jobs, the newest first, or those before one of them.

    Long questions are left out of the requests: a hundred of them would be a hundred megabytes.
    """
    wanted = list(where)
    if before is not None:
        last = find_job(session, before, member)
        is_older = or_(Job.created < last.created, Job.id < last.id)
        wanted += [Job.created <= last.created, is_older]  # the first finds its place
    if not (everyone and member.is_auditor):
        of_tables = roles.curated_by(session, member) if everyone else []
        wanted.append(_newest_of(member, of_tables, wanted, limit))
    start = func.substr(Job.body, 1, _SHOWN)
    query = select(Job, start).options(defer(Job.body)).where(*wanted)
    found = session.execute(query.order_by(*_NEWEST_FIRST).limit(limit)).all()
    for job, text in found:
        shown, is_cut, _ = text.partition(_QUESTION) if len(text) == _SHOWN else (text, "", "")
        if is_cut or len(text) < _SHOWN:
            set_committed_value(job, "body", shown + "}" * bool(is_cut))
    return [job for job, _ in found]


def _newest_of(
    member: Member, tables: Sequence[str], wanted: Sequence[ColumnElement[bool]], limit: int
) -> ColumnElement[bool]:
    """The member's jobs and those on some tables; of each no more than the newest `limit`.

    Each has an index in the order of time. In one condition, with "or" between them, SQLite would read and
    sort them all.
    """
    mine = Job.member == member.name
    if not tables:
        return mine
    size = math.ceil(len(tables) / _MAX_PARTS)
    chunks = [tables[i : i + size] for i in range(0, len(tables), size)]
    newest = [
        select(Job.id).where(*wanted, part).order_by(*_NEWEST_FIRST).limit(limit).subquery()
        for part in (mine, *(Job.table.in_(chunk) for chunk in chunks))
    ]
    return Job.id.in_(union_all(*(select(part.c.id) for part in newest)))


def may_answer(context: Context) -> ColumnElement[bool]:
    """Whether a job has a result or may get one: a failure is no secret once it is shown.

    The lease of a job that has ended lasts until it is shown.
    """
    alive = Job.state.in_((JobState.WAITING, JobState.QUEUED, JobState.RUNNING, JobState.DONE))
    return or_(alive, and_(Job.state == JobState.FAILED, Job.lease > context.now()))


def maker(session: Session, release: str) -> Job:
    """The job that made a release."""
    made = session.get(Release, release)
    job = session.get(Job, made.job) if made is not None else None
    assert job is not None
    return job


def repeated(session: Session, jobs: Sequence[Job]) -> dict[str, Job]:
    """The jobs whose releases answer some of these jobs, without those that make their own."""
    wanted = [job.release for job in jobs if job.release is not None]
    query = select(Release.id, Job).join(Job, Release.job == Job.id).where(Release.id.in_(wanted))
    makers = {row[0]: row[1] for row in session.execute(query)} if wanted else {}
    found = {job.id: makers.get(job.release) for job in jobs if job.release is not None}
    return {job: made for job, made in found.items() if made is not None and made.id != job}


def shown_state(context: Context, job: Job) -> JobState:
    """The state to show: with a delivery schedule, a finished job shows as running until it is due."""
    if job.state not in (JobState.DONE, JobState.FAILED) or not is_held_back(context, job):
        return JobState(job.state)
    return JobState.RUNNING


def is_held_back(context: Context, job: Job) -> bool:
    at = delivery(context, job)
    return at is not None and at > context.now()


def delivery(context: Context, job: Job) -> str | None:
    """When the result of a job is shown; None without a delivery schedule."""
    every = context.settings.deliver_every
    if not every or job.finished is None:
        return None
    created, finished = datetime.fromisoformat(job.created), datetime.fromisoformat(job.finished)
    ticks = max(1, math.ceil((finished - created) / timedelta(seconds=every)))
    return stamp(created + timedelta(seconds=ticks * every))


def describe(context: Context, session: Session, job: Job) -> JobResponse:
    """A job as its owner sees it. Passes are public; records and durations are not."""
    return describe_all(context, session, [job])[0]


def describe_all(context: Context, session: Session, jobs: list[Job]) -> list[JobResponse]:
    """Jobs as their owners see them, with all their receipts read at once."""
    receipts = context.book(session).own_receipts([job.id for job in jobs]) if jobs else {}
    return [_described(context, job, receipts.get(job.id)) for job in jobs]


def _described(context: Context, job: Job, receipt: Receipt | None) -> JobResponse:
    state, every = shown_state(context, job), context.settings.deliver_every
    return JobResponse(
        id=job.id,
        kind=JobKind(job.kind),
        table=job.table,
        version=job.version,
        member=job.member,
        state=state,
        passes=0 if every else job.passes,
        doing="" if every or state != JobState.RUNNING else job.doing,
        request=json.loads(job.body),
        created=job.created,
        problem=job.problem if state == JobState.FAILED else None,
        receipt=receipt,
        purpose=JobRequest.read(job.body).purpose,
    )


def own_receipt(context: Context, session: Session, job: Job) -> Receipt | None:
    """The last entry of the analyst's own account about this job."""
    return context.book(session).own_receipts([job.id]).get(job.id)


def find_release(
    context: Context, session: Session, job: str, member: Member, kind: JobKind
) -> dict[str, Any]:
    """What a job of this kind released, with its id and its receipt."""
    found = find_done(context, session, job, member, kind)
    receipt = own_receipt(context, session, found)
    return {"id": found.id, "receipt": receipt} | released(context, session, found)


def find_done(context: Context, session: Session, job: str, member: Member, kind: JobKind) -> Job:
    """A job of this kind whose release is shown."""
    found = find_job(session, job, member)
    if found.kind != kind:
        raise not_found("counts" if kind == JobKind.COUNT else kind)
    require_done(context, found)
    return found


def released(context: Context, session: Session, job: Job) -> Any:
    """The released document of a job; raises `not_ready` if it is not done."""
    require_done(context, job)
    document = session.scalar(select(Release.document).where(Release.id == job.release))
    assert document is not None
    return unpack(document)


def require_done(context: Context, job: Job) -> None:
    state = shown_state(context, job)
    if state != JobState.DONE:
        raise Problem(ProblemCode.NOT_READY, f"the job is {state}", state=state)
