"""The ledger: analysts read their own entries, curators all of them."""

from __future__ import annotations

from fastapi import APIRouter, Response

from frith.ledger import Receipt, as_csv
from frith.server import documents as d
from frith.server.routes.caller import Called, Caller

router = APIRouter(tags=["ledger"])


@router.get("/ledger")
def list_entries(caller: Called) -> list[d.EntrySaid]:
    """Every reservation, charge and release, oldest first."""
    return [d.EntrySaid(**entry.to_json()) for entry in entries_of(caller)]


@router.get(
    "/ledger.csv",
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def export(caller: Called) -> Response:
    """The same as CSV."""
    return Response(as_csv(entries_of(caller)), media_type="text/csv")


@router.get("/ledger/verification")
def verify(caller: Called) -> d.VerificationSaid:
    """Follow the chain of hashes from its first entry. For curators."""
    caller.must_be_curator()
    with caller.read() as session:
        found = caller.context.book(session).verify()
    return d.VerificationSaid(
        entries=found.entries, head=found.head, holds=found.holds, problems=list(found.problems)
    )


def entries_of(caller: Caller) -> list[Receipt]:
    """What the caller may see."""
    with caller.read() as session:
        entries = caller.context.book(session).entries()
    own = f"/{caller.member.name}"
    return [e for e in entries if caller.member.is_curator or e.account.endswith(own)]


def entry_said(receipt: Receipt | None) -> d.EntrySaid | None:
    return None if receipt is None else d.EntrySaid(**receipt.to_json())
