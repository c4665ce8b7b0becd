"""Quotes of forests: asked for often, so token, grant and accounts are read in one transaction."""

from __future__ import annotations

from fastapi import APIRouter
from sqlalchemy.orm import Session

from frith.client import responses
from frith.client.kinds import JobKind
from frith.client.requests import ForestRequest
from frith.ledger import State
from frith.server.api.tables import read_request
from frith.server.auth.caller import Called
from frith.server.budget import accounts, tables
from frith.server.budget.amounts import read_budget
from frith.server.budget.member_view import View
from frith.server.context import Context
from frith.server.jobs import sizes
from frith.server.problems import Problem
from frith.server.schema import Member

router = APIRouter(tags=["tables"])
Prepared = tuple[View, tuple[State, State]]


def prepare(context: Context, session: Session, member: Member, table: str) -> Prepared | Problem:
    """The table and the accounts that a quote is about."""
    try:
        view = tables.see(session, table, member)
        return view, accounts.states(context, session, view, member.name)
    except Problem as problem:
        return problem


PREPARE = {"POST /v1/tables/{table}/quotes": prepare}


@router.post("/tables/{table}/quotes")
async def quote(table: str, asked: ForestRequest, caller: Called) -> responses.Quote:
    """What a forest would cost and what would be left. Free, and from public facts alone."""
    budget = read_budget(asked.epsilon, asked.delta)
    if isinstance(caller.prepared, Problem):
        raise caller.prepared
    view, states = caller.prepared
    request = read_request(JobKind.TRAIN, asked, budget, view)
    found = sizes.estimate(None, request, view.domain)
    sizes.check(caller.context.settings, found)
    price = accounts.price(caller.context, view, states, budget)
    return price.model_copy(update={"estimate": found})
