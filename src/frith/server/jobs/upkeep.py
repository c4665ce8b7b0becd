"""Upkeep besides jobs: workers report in, and old rows are deleted.

Every worker sweeps now and then; a sweep right after another's finds nothing. Releases of charged jobs
stay, because a repeated request is answered with them, and so does the ledger.
"""

from __future__ import annotations

from sqlalchemy import delete, exists, func, or_, select
from sqlalchemy.orm import Session, aliased

from frith.client.kinds import JobKind, JobState
from frith.server.context import Context
from frith.server.jobs.history import is_held_back
from frith.server.jobs.lifecycle import give_back_room
from frith.server.jobs.sizes import LEAST_STORED
from frith.server.schema import (
    BrowserSession,
    Job,
    Journal,
    Release,
    RequestKey,
    SeenWorker,
)

SEEN_SECONDS = 10
"""Seconds between two reports of a worker."""
_FORGOTTEN_DAYS = 1  # after which a worker that was not seen is not listed
_AT_ONCE = 200  # jobs in one transaction, so that nobody waits for long
_ENDED = (JobState.DONE, JobState.FAILED, JobState.CANCELLED)


def mark_seen(context: Context, worker: str) -> None:
    with context.database.write() as session:
        session.merge(SeenWorker(name=worker, seen=context.now()))


def sweep(context: Context) -> None:
    """Delete what is older than its setting allows."""
    settings = context.settings
    with context.database.write() as session:
        session.execute(delete(BrowserSession).where(BrowserSession.expires <= context.now()))
        session.execute(
            delete(SeenWorker).where(SeenWorker.seen < context.now(days=-_FORGOTTEN_DAYS))
        )
        old = select(Job.id).where(Job.finished < context.now(days=-settings.key_days))
        session.execute(delete(RequestKey).where(RequestKey.job.in_(old)))
        ended = select(Job.id).where(Job.state.in_(_ENDED))
        session.execute(delete(Journal).where(Journal.job.in_(ended)))
        _give_back_failed(context, session)
        _forget_dry_runs(context, session)


def _give_back_failed(context: Context, session: Session) -> None:
    """Free what failed jobs would have stored, but not before their failure is shown."""
    too_much = Job.stored > LEAST_STORED + func.length(Job.body)
    query = select(Job).where(Job.state == JobState.FAILED, too_much).limit(_AT_ONCE)
    for job in session.scalars(query.with_for_update(skip_locked=True)):
        if not is_held_back(context, job):
            give_back_room(session, job)


def _forget_dry_runs(context: Context, session: Session) -> None:
    """Delete old dry runs with their forests, but not while a score of their member may need one."""
    score = aliased(Job)
    needed = exists().where(
        score.member == Job.member,
        score.kind == JobKind.SCORE,
        or_(score.state == JobState.QUEUED, score.state == JobState.RUNNING),
    )
    old = Job.finished < context.now(days=-context.settings.dry_run_days)
    query = select(Job).where(Job.kind == JobKind.DRY_RUN, Job.state.in_(_ENDED), old, ~needed)
    for job in session.scalars(query.limit(_AT_ONCE).with_for_update(skip_locked=True)).all():
        give_back_room(session, job, all_of_it=True)
        for table in (RequestKey, Release, Journal):
            session.execute(delete(table).where(table.job == job.id))
        session.delete(job)
