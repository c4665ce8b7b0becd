"""Everything at a glance, and everybody's jobs."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from frith.server import jobs, members, spending, tables
from frith.server.pages import words
from frith.server.pages.jobs import older_than
from frith.server.pages.visit import Curating
from frith.server.routes.jobs import Before

router = APIRouter(prefix="/curate")
_LATEST = 8  # jobs shown


@router.get("")
def overview(visit: Curating) -> HTMLResponse:
    context, me = visit.context, visit.member
    with visit.read() as session:
        cards = []
        for view in tables.list_views(session, me):
            whole, _ = spending.states(context, session, view, me.name)
            grants = tables.list_grants(session, view.name)
            cards.append({"view": view, "account": words.Account(whole), "grants": grants})
        found = jobs.list_jobs(session, me, everyone=True, most=_LATEST)
        latest = [jobs.describe(context, session, job) for job in found]
        people = members.list_members(session)
    return visit.show("curate/overview.html", cards=cards, jobs=latest, members=people)


@router.get("/jobs")
def list_jobs(visit: Curating, before: Before = None) -> HTMLResponse:
    with visit.read() as session:
        found = jobs.list_jobs(session, visit.member, everyone=True, before=before, most=jobs.PAGE)
        said = [jobs.describe(visit.context, session, job) for job in found]
    return visit.show("curate/jobs.html", jobs=said, before=before, older=older_than(found))
