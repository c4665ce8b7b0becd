"""The ledger's entries as a caller may see them: by pages, and all of them as CSV or JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import chain

from fastapi import Response
from fastapi.responses import StreamingResponse

from frith.ledger import Receipt, as_csv
from frith.server.auth.caller import Caller
from frith.server.auth.roles import curated_by

PAGE = 1_000  # entries


def stream_csv(caller: Caller) -> Response:
    """The caller's entries as CSV."""
    pages = _pages(caller)
    first = as_csv(next(pages, []))
    return _streamed(first, (as_csv(page, header=False) for page in pages), "text/csv")


def stream_json(caller: Caller) -> Response:
    """The caller's entries as a JSON list, one entry a line."""
    pages = _pages(caller)
    first = _lines(next(pages, []))
    rest = (",\n" + _lines(page) for page in pages)
    return _streamed("[\n" + first, chain(rest, ["\n]\n"]), "application/json")


def page_for(caller: Caller, after: int, limit: int) -> list[Receipt]:
    """At most `limit` entries that the caller may see, after one entry."""
    with caller.read() as session:
        book = caller.context.book(session)
        if caller.member.sees_everything:
            return book.page(limit, after)
        tables = curated_by(session, caller.member)
        return book.page(limit, after, book.accounts(member=caller.member.name, tables=tables))


def _pages(caller: Caller) -> Iterator[list[Receipt]]:
    """All pages, each read in its own transaction, which is safe: entries are only ever added."""
    after = 0
    while page := page_for(caller, after, PAGE):
        yield page
        after = page[-1].id


def _lines(page: list[Receipt]) -> str:
    return ",\n".join(json.dumps(entry.to_json()) for entry in page)


def _streamed(first: str, rest: Iterator[str], kind: str) -> Response:
    """A streamed response. Its first part exists already, so that an early failure gets a status."""
    return StreamingResponse(chain([first], rest), media_type=kind)
