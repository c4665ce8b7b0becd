"""Jobs: the history, and one job while it runs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse, Response
from sqlalchemy.orm import Session

from frith.client.kinds import JobKind, JobState
from frith.server.auth.caller import Before
from frith.server.jobs import forests, history, lifecycle
from frith.server.schema import Job
from frith.server.web.forms import Posted
from frith.server.web.page_request import Visit, Visited

router = APIRouter()


@router.get("/jobs")
def list_jobs(visit: Visited, before: Before = None) -> HTMLResponse:
    with visit.read() as session:
        found = history.list_jobs(session, visit.member, before=before, limit=history.PAGE)
        said = [history.describe(visit.context, session, job) for job in found]
    return visit.show("jobs.html", jobs=said, before=before, older=older_than(found))


def older_than(found: list[Job]) -> str | None:
    """The job before which there may be more."""
    return found[-1].id if len(found) == history.PAGE else None


@router.get("/jobs/{job}")
def show_job(job: str, visit: Visited) -> HTMLResponse:
    with visit.read() as session:
        found = history.find_job(session, job, visit.member)
        said = history.describe(visit.context, session, found)
        result = _result(visit, session, found) if said.state == JobState.DONE else None
    every = visit.context.settings.deliver_every
    return visit.show("job.html", job=said, result=result, every=every)


@router.get("/jobs/{job}/state")
def job_state(job: str, visit: Visited) -> JSONResponse:
    """What the page asks for every second."""
    with visit.read() as session:
        found = history.find_job(session, job, visit.member)
        said = history.describe(visit.context, session, found)
        result = _result(visit, session, found) if said.state == JobState.DONE else None
    shown = said.model_dump(include={"state", "passes", "doing"})
    return JSONResponse(shown | {"result": result})


@router.post("/jobs/{job}/cancel")
def cancel(sent: Posted, job: str, visit: Visited) -> Response:
    with visit.write() as session:
        found = history.find_job(session, job, visit.member)
        lifecycle.cancel(visit.context, session, found, visit.member)
        done = "cancelled" if found.state == JobState.CANCELLED else "stopped"
    return visit.go("jobs", job, done=done)


def _result(visit: Visit, session: Session, job: Job) -> str | None:
    """Where to read what a finished job came to."""
    if job.kind != JobKind.SCORE:
        return f"/forests/{job.id}"
    forest: Any = forests.forest_of_score(session, job)
    return None if forest is None else f"/forests/{forest.id}#score-{job.id}"
