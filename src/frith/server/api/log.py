"""The audit log: who did what, to what, from where. For operators and auditors."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from frith.client.responses import LogResponse
from frith.server.auth.caller import HEAVY, Called
from frith.server.budget import log

router = APIRouter(tags=["audit log"])


@router.get("/log", dependencies=HEAVY)
def search(
    caller: Called,
    wanted: log.Wanted,
    before: log.Number = None,
    limit: Annotated[int, Query(ge=1, le=log.PAGE)] = log.PAGE,
) -> LogResponse:
    """The newest entries and events that match, and the entry to continue before."""
    found, older = log.search(caller, wanted, before, limit)
    return LogResponse(lines=[log.document(line) for line in found], before=older)


@router.get(
    "/log.jsonl",
    dependencies=HEAVY,
    response_class=Response,
    responses={200: {"content": {"application/jsonl": {"schema": {"type": "string"}}}}},
)
def export(
    caller: Called,
    after: Annotated[int, Query(ge=0, lt=2**63, description="The last entry you have.")] = 0,
) -> Response:
    """The whole log as JSON lines, which `frith ledger review` verifies without the database."""
    return log.export(caller, after)
