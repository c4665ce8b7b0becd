"""The ledger: analysts read their own entries, curators all of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain
from typing import Annotated

from fastapi import APIRouter, Query, Response
from fastapi.responses import StreamingResponse

from frith.ledger import Receipt, as_csv
from frith.server import documents as d
from frith.server import verification
from frith.server.routes.caller import HEAVY, Called, Caller
from frith.server.spending import member_of

router = APIRouter(tags=["ledger"])
_PAGE = 1_000  # entries


@router.get("/ledger")
def list_entries(
    caller: Called,
    after: Annotated[
        int, Query(ge=0, lt=2**63, description="The id of the last entry that you have.")
    ] = 0,
    limit: Annotated[int, Query(ge=1, le=_PAGE)] = _PAGE,
) -> list[d.EntrySaid]:
    """Reservations, charges and releases, oldest first, a page at a time; fewer than `limit` are the last."""
    return [d.EntrySaid(**entry.to_json()) for entry in _page(caller, after, limit)]


@router.get(
    "/ledger.csv",
    dependencies=HEAVY,
    response_class=Response,
    responses={200: {"content": {"text/csv": {"schema": {"type": "string"}}}}},
)
def export(caller: Called) -> Response:
    """All of them as CSV."""
    return stream_csv(caller)


@router.get("/ledger/verification", dependencies=HEAVY)
def verify(caller: Called) -> d.VerificationSaid:
    """Follow the chain of hashes, and read stored requests again. For curators."""
    caller.must_be_curator()
    with caller.read() as session:
        found = verification.verify(session, caller.context.book(session))
    return d.VerificationSaid(
        entries=found.entries,
        head=found.head,
        holds=found.holds,
        problems=list(found.problems),
        flagged=list(found.flagged),
    )


def stream_csv(caller: Caller) -> Response:
    """What the caller may see, as a table."""
    pages = _pages(caller)
    first = as_csv(next(pages, []))
    return _streamed(first, (as_csv(page, header=False) for page in pages), "text/csv")


def stream_json(caller: Caller) -> Response:
    """What the caller may see, as a list, an entry a line."""
    pages = _pages(caller)
    first = _lines(next(pages, []))
    rest = (",\n" + _lines(page) for page in pages)
    return _streamed("[\n" + first, chain(rest, ["\n]\n"]), "application/json")


def entry_said(receipt: Receipt | None) -> d.EntrySaid | None:
    return None if receipt is None else d.EntrySaid(**receipt.to_json())


def _page(caller: Caller, after: int, most: int) -> list[Receipt]:
    """What the caller may see after an entry."""
    with caller.read() as session:
        book = caller.context.book(session)
        if caller.member.is_curator:
            return book.page(most, after)
        own = [name for name in book.accounts() if member_of(name) == caller.member.name]
        return book.page(most, after, own)


def _pages(caller: Caller) -> Iterator[list[Receipt]]:
    """All of it, each page as of its own time: entries are only ever added."""
    after = 0
    while page := _page(caller, after, _PAGE):
        yield page
        after = page[-1].id


def _lines(page: list[Receipt]) -> str:
    return ",\n".join(json.dumps(entry.to_json()) for entry in page)


def _streamed(first: str, rest: Iterator[str], kind: str) -> Response:
    """An answer in parts; the first is there already, so what fails before it can be said."""
    return StreamingResponse(chain([first], rest), media_type=kind)
