"""The ledger: its verification, its entries and its export."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import HTMLResponse, Response

from frith.server.auth.caller import HEAVY
from frith.server.budget.export import stream_csv, stream_json
from frith.server.jobs import verification
from frith.server.web.page_request import Page

router = APIRouter(prefix="/curate")
_SHOWN = 100  # entries on a page


@router.get("/ledger", dependencies=HEAVY)
def show_ledger(
    page: Page,
    before: Annotated[int | None, Query(ge=1, lt=2**63)] = None,
    check: bool = False,
) -> HTMLResponse:
    """The newest entries and the last verification, or a new one, or the entries before one."""
    watch = page.context.watch
    if check or (before is None and watch.last is None):
        verification.look(page.context)
    with page.read() as session:
        entries = page.context.book(session).latest(_SHOWN, before)
    found = watch.last if before is None else None
    return page.show("curate/ledger.html", found=found, at=watch.at, entries=entries)


@router.get("/ledger.csv", dependencies=HEAVY)
def export_csv(page: Page) -> Response:
    return _download(stream_csv(page), "ledger.csv")


@router.get("/ledger.json", dependencies=HEAVY)
def export_json(page: Page) -> Response:
    return _download(stream_json(page), "ledger.json")


def _download(answer: Response, name: str) -> Response:
    answer.headers["content-disposition"] = f'attachment; filename="{name}"'
    return answer
