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
from frith.server.web.forms import PostedForm
from frith.server.web.page_request import Page, PageRequest

router = APIRouter()


@router.get("/jobs")
def list_jobs(page: Page, before: Before = None) -> HTMLResponse:
    with page.read() as session:
        found = history.list_jobs(session, page.member, before=before, limit=history.PAGE)
        said = [history.describe(page.context, session, job) for job in found]
    return page.show("jobs.html", jobs=said, before=before, older=older_than(found))


def older_than(found: list[Job]) -> str | None:
    """The job before which there may be more."""
    return found[-1].id if len(found) == history.PAGE else None


@router.get("/jobs/{job}")
def show_job(job: str, page: Page) -> HTMLResponse:
    with page.read() as session:
        found = history.find_job(session, job, page.member)
        said = history.describe(page.context, session, found)
        result = _result(page, session, found) if said.state == JobState.DONE else None
    every = page.context.settings.deliver_every
    return page.show("job.html", job=said, result=result, every=every)


@router.get("/jobs/{job}/state")
def job_state(job: str, page: Page) -> JSONResponse:
    """What the page asks for every second."""
    with page.read() as session:
        found = history.find_job(session, job, page.member)
        said = history.describe(page.context, session, found)
        result = _result(page, session, found) if said.state == JobState.DONE else None
    shown = said.model_dump(include={"state", "passes", "doing"})
    return JSONResponse(shown | {"result": result})


@router.post("/jobs/{job}/cancel")
def cancel(form: PostedForm, job: str, page: Page) -> Response:
    with page.write() as session:
        found = history.find_job(session, job, page.member)
        lifecycle.cancel(page.context, session, found, page.member)
        done = "cancelled" if found.state == JobState.CANCELLED else "stopped"
    return page.go("jobs", job, done=done)


def _result(page: PageRequest, session: Session, job: Job) -> str | None:
    """Where to read what a finished job came to."""
    if job.kind != JobKind.SCORE:
        return f"/forests/{job.id}"
    forest: Any = forests.forest_of_score(session, job)
    return None if forest is None else f"/forests/{forest.id}#score-{job.id}"
