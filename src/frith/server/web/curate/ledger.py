"""The ledger: its verification, its entries and its export."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from frith.server.auth.caller import HEAVY
from frith.server.budget.export import stream_csv, stream_json
from frith.server.web.page_request import CuratorPage

router = APIRouter(prefix="/curate")
_SHOWN = 100  # entries on a page


@router.get("/ledger", dependencies=HEAVY)
def show_ledger(
    page: CuratorPage, before: Annotated[int | None, Query(ge=1, lt=2**63)] = None
) -> HTMLResponse:
    """The newest entries and the verification of the chain, or the entries before one."""
    with page.read() as session:
        book = page.context.book(session)
        entries = book.latest(_SHOWN, before)
        found = book.verify() if before is None else None
    return page.show("curate/ledger.html", found=found, entries=entries)


@router.get("/ledger.csv", dependencies=HEAVY)
def export_csv(page: CuratorPage) -> Response:
    return _download(stream_csv(page), "ledger.csv")


@router.get("/ledger.json", dependencies=HEAVY)
def export_json(page: CuratorPage) -> Response:
    return _download(stream_json(page), "ledger.json")


def _download(answer: Response, name: str) -> Response:
    answer.headers["content-disposition"] = f'attachment; filename="{name}"'
    return answer
