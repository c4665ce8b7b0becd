"""Jobs: the history, and the progress of one job."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, JSONResponse, Response

from frith.client.kinds import JobKind, JobState
from frith.client.responses import JobResponse
from frith.server.auth.caller import Before
from frith.server.auth.roles import curates
from frith.server.jobs import forests, history, lifecycle
from frith.server.schema import Job
from frith.server.web.forms import PostedForm
from frith.server.web.page_request import Page, PageRequest

router = APIRouter()


@router.get("/jobs")
def list_jobs(page: Page, before: Before = None) -> HTMLResponse:
    with page.read() as session:
        found = history.list_jobs(session, page.member, before=before, limit=history.PAGE)
        said = history.describe_all(page.context, session, found)
    return page.show("jobs.html", jobs=said, before=before, older=older_than(found))


def older_than(found: list[Job]) -> str | None:
    """The id from which the next page continues; None on the last page."""
    return found[-1].id if len(found) == history.PAGE else None


@router.get("/jobs/{job}")
def show_job(job: str, page: Page) -> HTMLResponse:
    document, result = _look(page, job)
    every = page.context.settings.deliver_every
    with page.read() as session:
        is_curator = curates(session, page.member, document.table)
    return page.show("job.html", job=document, result=result, every=every, is_curator=is_curator)


@router.get("/jobs/{job}/state")
def job_state(job: str, page: Page) -> JSONResponse:
    """The progress, which the page's script polls every second."""
    document, result = _look(page, job)
    shown = document.model_dump(include={"state", "passes", "doing"})
    return JSONResponse(shown | {"result": result})


@router.post("/jobs/{job}/cancel")
def cancel(form: PostedForm, job: str, page: Page) -> Response:
    with page.act("cancel", job, lock=False) as session:
        found = history.find_job(session, job, page.member)
        lifecycle.cancel(page.context, session, found, page.member)
        done = "cancelled" if found.state == JobState.CANCELLED else "stopped"
    return page.go("jobs", job, done=done)


def _look(page: PageRequest, job: str) -> tuple[JobResponse, str | None]:
    """A job, and the page that shows its result if it is done."""
    with page.read() as session:
        found = history.find_job(session, job, page.member)
        document = history.describe(page.context, session, found)
        if document.state != JobState.DONE:
            return document, None
        if document.kind != JobKind.SCORE:
            return document, f"/forests/{job}"
        forest = forests.forest_of_score(session, found)
    return document, None if forest is None else f"/forests/{forest.id}#score-{job}"
