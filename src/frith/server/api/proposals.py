"""Proposals: raises of a budget and requests that wait, until somebody else approves or rejects them."""

from __future__ import annotations

from fastapi import APIRouter

from frith.client import responses
from frith.client.requests import RaiseRequest
from frith.server.auth.caller import Called, Caller
from frith.server.budget import proposals
from frith.server.jobs.lifecycle import settle

router = APIRouter(tags=["proposals"])


@router.get("/proposals")
def list_proposals(caller: Called) -> list[responses.Proposal]:
    """Open and decided proposals: your own, and those about your tables."""
    with caller.read() as session:
        return [proposals.document(p) for p in proposals.list_proposals(session, caller.member)]


@router.post("/tables/{table}/proposals", status_code=201)
def propose(table: str, asked: RaiseRequest, caller: Called) -> responses.Proposal:
    """Propose a policy with a larger budget; another person approves it. For its curators."""
    with caller.act("propose raise", table) as session:
        made = proposals.propose_raise(
            caller.context, session, table, caller.member, asked.policy, asked.reason
        )
        return proposals.document(made)


@router.post("/proposals/{proposal}/approve")
def approve(proposal: str, caller: Called) -> responses.Proposal:
    """Approve what somebody else proposed. For operators and the table's curators."""
    return _decide(proposal, caller, True)


@router.post("/proposals/{proposal}/reject")
def reject(proposal: str, caller: Called) -> responses.Proposal:
    """Reject what was proposed, or take back what you proposed yourself."""
    return _decide(proposal, caller, False)


def _decide(proposal: str, caller: Caller, approve: bool) -> responses.Proposal:
    with caller.act("approve" if approve else "reject", proposal, lock=False) as session:
        found = proposals.decide(caller.context, session, proposal, caller.member, approve, settle)
        return proposals.document(found)
