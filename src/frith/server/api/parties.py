"""Several parties: noisy or masked counts of one table, to be added to those of other servers."""

from __future__ import annotations

from fastapi import APIRouter, Response
from fastapi.responses import StreamingResponse

from frith.client import responses
from frith.client.kinds import JobKind
from frith.client.requests import CountsRequest
from frith.client.responses import CountsResponse, JobResponse
from frith.server.api.tables import Key
from frith.server.auth.caller import HEAVY, Called
from frith.server.budget import tables
from frith.server.budget.amounts import read_budget
from frith.server.jobs import counting, history, queue
from frith.server.jobs.downloads import stored, unpacked, with_fields

router = APIRouter(tags=["parties"])


@router.get("/party")
def get_party(caller: Called) -> responses.PartyInfo:
    """This server as one of several parties: its name and its public key."""
    keys = counting.load_keys(caller.context.settings)
    if keys is None:
        return responses.PartyInfo(party=None, key=None)
    return responses.PartyInfo(party=keys.party, key=keys.public)


@router.post("/tables/{table}/counts", status_code=202)
def ask(table: str, asked: CountsRequest, caller: Called, key: Key = None) -> JobResponse:
    """Ask for noisy or masked counts. Charged; a repeat returns the stored answer."""
    context, budget = caller.context, read_budget(asked.epsilon, asked.delta)
    round = None if asked.round is None else asked.round.to_json()
    with caller.read() as session:
        domain = tables.see(session, table, caller.member).domain
    request = counting.ask_to_count(  # before the transaction: a large question takes a while
        context.settings, asked.question, asked.domain, round, budget, domain
    )
    with caller.act("ask", table) as session:
        view = tables.see(session, table, caller.member)
        view.policy.check("random-decision", budget)  # the learner that asks this question
        view.check_reach(domain.names)
        job = queue.accept(context, session, view, caller.member, request, key, reason=asked.reason)
        counting.check_round(context, session, job)
        return history.describe(context, session, job)


@router.get("/counts/{job}", dependencies=HEAVY, response_model=CountsResponse)
def get_counts(job: str, caller: Called) -> Response:
    """The counts, by the job that made them."""
    context, member = caller.context, caller.member
    with caller.read() as session:
        found = history.find_done(context, session, job, member, JobKind.COUNT)
        receipt = history.own_receipt(context, session, found)
    fields = {"id": found.id, "receipt": None if receipt is None else receipt.to_json()}
    text = with_fields(fields, unpacked(stored(context, found.release)))
    return StreamingResponse(text, media_type="application/json")
