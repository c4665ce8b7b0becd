"""The ledger: analysts read their own entries, curators those of their tables, auditors all."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from frith.client.documents import ReceiptDocument
from frith.client.responses import VerificationResponse
from frith.server.auth.caller import HEAVY, Called
from frith.server.budget import export
from frith.server.jobs import verification

router = APIRouter(tags=["ledger"])


@router.get("/ledger")
def list_entries(
    caller: Called,
    after: Annotated[
        int, Query(ge=0, lt=2**63, description="The id of the last entry that you have.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=export.PAGE)] = export.PAGE,
) -> list[ReceiptDocument]:
    """Reservations, charges and cancellations, oldest first; a page of fewer than `limit` is the last."""
    return export.page_for(caller, after, limit)


@router.get(
    "/ledger.csv",
    dependencies=HEAVY,
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def export_csv(caller: Called) -> Response:
    """All your entries as CSV."""
    return export.stream_csv(caller)


@router.get("/ledger/verification", dependencies=HEAVY)
def verify(caller: Called) -> VerificationResponse:
    """Verify the chain of hashes and what is stored beside it, and read requests again.

    For operators and auditors. A finding stops sales until it is resolved.
    """
    found = verification.look(caller.context)
    return VerificationResponse(
        entries=found.entries,
        head=found.head,
        holds=found.holds,
        problems=list(found.problems),
        flagged=list(found.flagged),
    )
