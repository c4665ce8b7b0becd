"""Domains that a table pays for itself."""

from __future__ import annotations

from fastapi import APIRouter

from frith.client import responses
from frith.client.requests import PaidTableRequest
from frith.server.api.tables import get_table
from frith.server.auth.caller import HEAVY, Called
from frith.server.budget.paid_domains import register_paid

router = APIRouter(tags=["tables"])


@router.post("/paid-domains", status_code=201, dependencies=HEAVY)
def buy_domain(asked: PaidTableRequest, caller: Called) -> responses.TableInfo:
    """Register a table whose bounds and values are not public: its domain is bought from its budget.

    For curators. The price is charged before noise is drawn, even if the draft then fails.
    """
    register_paid(caller.context, asked, caller.member.name, caller.act)
    return get_table(asked.name, caller)
