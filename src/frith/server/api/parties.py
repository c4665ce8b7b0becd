"""Several parties: noisy or masked counts of one table, to be added to those of other servers."""

from __future__ import annotations

from fastapi import APIRouter

from frith.client import documents as d
from frith.client.kinds import JobKind
from frith.server.api.tables import Key
from frith.server.auth.caller import Called
from frith.server.budget import tables
from frith.server.budget.amounts import read_budget
from frith.server.jobs import counting, history, queue

router = APIRouter(tags=["parties"])


@router.get("/party")
def get_party(caller: Called) -> d.PartyInfo:
    """This server as one of several parties: its name and its public key."""
    keys = counting.load_keys(caller.context.settings)
    if keys is None:
        return d.PartyInfo(party=None, key=None)
    return d.PartyInfo(party=keys.party, key=keys.public)


@router.post("/tables/{table}/counts", status_code=202)
def ask(table: str, asked: d.CountsRequest, caller: Called, key: Key = None) -> d.JobResponse:
    """Ask for noisy or masked counts. Charged; a repeat returns the stored answer."""
    context, budget = caller.context, read_budget(asked.epsilon, asked.delta)
    round = None if asked.round is None else asked.round.to_json()
    with caller.write() as session:
        view = tables.see(session, table, caller.member)
        view.policy.check("random-decision", budget)  # the learner that asks this question
        request = counting.ask_to_count(
            context.settings, asked.question, asked.domain, round, budget, view.domain
        )
        job = queue.accept(context, session, view, caller.member, request, key)
        counting.check_round(session, job)
        return history.describe(context, session, job)


@router.get("/counts/{job}")
def get_counts(job: str, caller: Called) -> d.CountsResponse:
    """The counts, by the job that made them."""
    context, member = caller.context, caller.member
    with caller.read() as session:
        found = history.find_release(context, session, job, member, JobKind.COUNT)
    return d.CountsResponse(**found)
