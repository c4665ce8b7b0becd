"""Jobs: their progress and their results."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query

from frith.client.documents import NAME
from frith.client.kinds import JobKind
from frith.client.responses import JobResponse, ScoreResponse
from frith.server.auth.caller import Before, Called
from frith.server.jobs import history, lifecycle
from frith.server.schema import Job

router = APIRouter(tags=["jobs"])
Limit = Annotated[int, Query(ge=1, le=history.PAGE, description="Fewer than this are the last.")]


@router.get("/jobs")
def list_jobs(
    caller: Called,
    table: Annotated[str | None, Query(pattern=NAME, max_length=63)] = None,
    before: Before = None,
    limit: Limit = history.PAGE,
) -> list[JobResponse]:
    """Your jobs, the newest first, one page at a time; curators see everybody's on their tables."""
    where = [] if table is None else [Job.table == table]
    with caller.read() as session:
        found = history.list_jobs(
            session, caller.member, *where, everyone=True, before=before, limit=limit
        )
        return history.describe_all(caller.context, session, found)


@router.get("/jobs/{job}")
def get_job(job: str, caller: Called) -> JobResponse:
    """How far a job is: its state, and the passes over the records that it has begun."""
    with caller.read() as session:
        found = history.find_job(session, job, caller.member)
        return history.describe(caller.context, session, found)


@router.post("/jobs/{job}/cancel")
def cancel(job: str, caller: Called) -> JobResponse:
    """Cancel a queued job and its reservation, or stop a running one; then its charge is kept.

    On a server with a delivery schedule only curators can stop a running job.
    """
    with caller.act("cancel", job, lock=False) as session:
        found = history.find_job(session, job, caller.member)
        lifecycle.cancel(caller.context, session, found, caller.member)
        return history.describe(caller.context, session, found)


@router.get("/scores/{job}")
def get_score(job: str, caller: Called) -> ScoreResponse:
    """A private score, by the job that made it."""
    context, member = caller.context, caller.member
    with caller.read() as session:
        found = history.find_release(context, session, job, member, JobKind.SCORE)
    return ScoreResponse(**found)
