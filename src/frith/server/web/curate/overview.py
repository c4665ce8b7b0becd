"""All tables with their budgets, and everybody's jobs."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from frith.client.kinds import JobState
from frith.server.auth import members
from frith.server.auth.caller import Before
from frith.server.budget import accounts, tables
from frith.server.budget.alerts import find_near
from frith.server.jobs import history
from frith.server.web import texts
from frith.server.web.jobs import older_than
from frith.server.web.page_request import Page

router = APIRouter(prefix="/curate")
_LATEST = 8  # jobs shown


@router.get("")
def overview(page: Page) -> HTMLResponse:
    context, me = page.context, page.member
    with page.read() as session:
        cards, views = [], tables.list_views(session, me)
        near = find_near(context, session, [view.table for view in views])
        for view in views:
            whole, _ = accounts.states(context, session, view, me.name)
            grants = tables.list_grants(session, view.name)
            cards.append({"view": view, "account": texts.Account(whole), "grants": grants})
        found = history.list_jobs(session, me, everyone=True, limit=_LATEST)
        latest = history.describe_all(context, session, found)
        people = members.list_members(session)
    return page.show("curate/overview.html", cards=cards, jobs=latest, members=people, near=near)


@router.get("/jobs")
def list_jobs(page: Page, before: Before = None) -> HTMLResponse:
    with page.read() as session:
        found = history.list_jobs(
            session, page.member, everyone=True, before=before, limit=history.PAGE
        )
        shown = history.describe_all(page.context, session, found)
    took = {
        job.id: texts.took(job.started, job.finished)
        for job, document in zip(found, shown, strict=True)
        if document.state in (JobState.DONE, JobState.FAILED)  # as shown, not as stored
    }
    older = older_than(found)
    return page.show("curate/jobs.html", jobs=shown, took=took, before=before, older=older)
