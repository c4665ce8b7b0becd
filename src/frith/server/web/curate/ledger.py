"""The ledger: whether its chain holds, its entries, and its export."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from frith.server.auth.caller import HEAVY
from frith.server.budget.export import stream_csv, stream_json
from frith.server.web.page_request import Curating

router = APIRouter(prefix="/curate")
_SHOWN = 100  # entries on a page


@router.get("/ledger", dependencies=HEAVY)
def show_ledger(
    visit: Curating, before: Annotated[int | None, Query(ge=1, lt=2**63)] = None
) -> HTMLResponse:
    """The newest entries and whether the chain holds, or the entries before one."""
    with visit.read() as session:
        book = visit.context.book(session)
        entries = book.latest(_SHOWN, before)
        found = book.verify() if before is None else None
    return visit.show("curate/ledger.html", found=found, entries=entries)


@router.get("/ledger.csv", dependencies=HEAVY)
def export_csv(visit: Curating) -> Response:
    return _download(stream_csv(visit), "ledger.csv")


@router.get("/ledger.json", dependencies=HEAVY)
def export_json(visit: Curating) -> Response:
    return _download(stream_json(visit), "ledger.json")


def _download(answer: Response, name: str) -> Response:
    answer.headers["content-disposition"] = f'attachment; filename="{name}"'
    return answer
