"""The audit log as a caller may see it: found by filters, and all of it as JSON lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from fastapi import Depends, Query, Response
from fastapi.responses import StreamingResponse

from frith.client.responses import LogLine
from frith.ledger.log import Filter, Line, find, lines
from frith.server.auth.caller import Caller

PAGE = 100  # lines
Word = Annotated[str, Query(max_length=200)]
Number = Annotated[int | None, Query(ge=1, lt=2**63, description="Entries before this one.")]


def _wanted(
    actor: Word = "",
    action: Word = "",
    target: Word = "",
    outcome: Word = "",
    since: Word = "",
    until: Word = "",
) -> Filter:
    return Filter(*(word.strip() for word in (actor, action, target, outcome, since, until)))


Wanted = Annotated[Filter, Depends(_wanted)]
"""The filters of a search, as parameters of its address."""


def search(
    caller: Caller, wanted: Filter, before: int | None = None, limit: int = PAGE
) -> tuple[list[Line], int | None]:
    """The newest lines that pass the filter, and where to continue."""
    with caller.read() as session:
        return find(caller.context.book(session), wanted, limit, before)


def document(line: Line) -> LogLine:
    """A line as the API shows it."""
    entry, event = line.entry, line.event
    facts = {} if event is None else {n: getattr(event, n) for n in _FACTS}
    return LogLine(
        entry=entry.id,
        at=entry.at,
        actor=entry.actor,
        action=line.what,
        target=line.target,
        outcome=line.outcome,
        amount=None if event is not None else entry.amount,
        unit=None if event is not None else entry.unit,
        purpose=None if event is not None else entry.purpose,
        **facts,
    )


_FACTS = ("role", "address", "request", "via", "before", "after", "more")


def export(caller: Caller, after: int = 0) -> Response:
    """The whole log, oldest first, a JSON object a line, with everything that its hashes cover."""
    first = _page(caller, after)
    return StreamingResponse(_pages(caller, first), media_type="application/jsonl")


def _pages(caller: Caller, page: list[Line]) -> Iterator[str]:
    """Each page is read in its own transaction, which is safe: lines are only ever added."""
    while page:
        yield "".join(line.to_text() + "\n" for line in page)
        page = _page(caller, page[-1].entry.id)


def _page(caller: Caller, after: int) -> list[Line]:
    with caller.read() as session:
        return lines(caller.context.book(session), after)
