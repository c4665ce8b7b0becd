"""What waits for a second person: raises of budgets, and requests that the policy wants approved."""

from __future__ import annotations

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.client.kinds import ProposalState
from frith.server.budget import proposals
from frith.server.jobs import history
from frith.server.jobs.lifecycle import settle
from frith.server.schema import Job
from frith.server.web.forms import PostedForm
from frith.server.web.page_request import Page, PageRequest

router = APIRouter(prefix="/curate/proposals")


@router.get("")
def list_proposals(page: Page) -> HTMLResponse:
    with page.read() as session:
        found = [proposals.document(p) for p in proposals.list_proposals(session, page.member)]
        jobs = [session.get_one(Job, p.job) for p in found if p.job is not None]
        said = {j.id: j for j in history.describe_all(page.context, session, jobs)}
    waiting = [p for p in found if p.state == ProposalState.OPEN]
    decided = [p for p in found if p.state != ProposalState.OPEN]
    return page.show("curate/proposals.html", waiting=waiting, decided=decided, jobs=said)


@router.post("/{proposal}/approve")
def approve(form: PostedForm, proposal: str, page: Page) -> Response:
    return _decide(page, proposal, True)


@router.post("/{proposal}/reject")
def reject(form: PostedForm, proposal: str, page: Page) -> Response:
    return _decide(page, proposal, False)


def _decide(page: PageRequest, proposal: str, approve: bool) -> Response:
    with page.act("approve" if approve else "reject", proposal, lock=False) as session:
        proposals.decide(page.context, session, proposal, page.member, approve, settle)
    return page.go("curate", "proposals", done="approved" if approve else "rejected")
