"""Everything at a glance, and everybody's jobs."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse
from sqlalchemy.orm import Session

from frith.server.auth import members
from frith.server.auth.caller import Before
from frith.server.budget import accounts, tables
from frith.server.jobs import history
from frith.server.schema import Job
from frith.server.web import texts
from frith.server.web.jobs import older_than
from frith.server.web.page_request import Curating, Visit

router = APIRouter(prefix="/curate")
_LATEST = 8  # jobs shown


@router.get("")
def overview(visit: Curating) -> HTMLResponse:
    context, me = visit.context, visit.member
    with visit.read() as session:
        cards = []
        for view in tables.list_views(session, me):
            whole, _ = accounts.states(context, session, view, me.name)
            grants = tables.list_grants(session, view.name)
            cards.append({"view": view, "account": texts.Account(whole), "grants": grants})
        found = history.list_jobs(session, me, everyone=True, most=_LATEST)
        latest = [history.describe(context, session, job) for job in found]
        people = members.list_members(session)
    return visit.show("curate/overview.html", cards=cards, jobs=latest, members=people)


@router.get("/jobs")
def list_jobs(visit: Curating, before: Before = None) -> HTMLResponse:
    with visit.read() as session:
        found = history.list_jobs(
            session, visit.member, everyone=True, before=before, most=history.PAGE
        )
        said = [_timed(visit, session, job) for job in found]
    return visit.show("curate/jobs.html", jobs=said, before=before, older=older_than(found))


def _timed(visit: Visit, session: Session, job: Job) -> dict[str, Any]:
    """A job with the time that it took, once it is shown as over. For no analyst's page."""
    said = history.describe(visit.context, session, job)
    is_over = said["state"] in (history.DONE, history.REFUSED)
    return said | {"took": texts.took(job.started, job.finished) if is_over else ""}
