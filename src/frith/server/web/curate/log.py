"""The audit log's page: filters, lines and the export; and what was done on one table."""

from __future__ import annotations

from dataclasses import replace
from urllib.parse import urlencode

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.ledger.log import Filter
from frith.server.auth.caller import HEAVY
from frith.server.budget import log
from frith.server.web.page_request import Page, PageRequest

router = APIRouter(prefix="/curate")
FILTERS = tuple(Filter.__dataclass_fields__)


@router.get("/log", dependencies=HEAVY)
def show_log(page: Page, wanted: log.Wanted, before: log.Number = None) -> HTMLResponse:
    return _log_page(page, wanted, before, "/curate/log")


@router.get("/log.jsonl", dependencies=HEAVY)
def export(page: Page) -> Response:
    answer = log.export(page)
    answer.headers["content-disposition"] = 'attachment; filename="frith-log.jsonl"'
    return answer


@router.get("/tables/{table}/log", dependencies=HEAVY)
def show_table_log(
    table: str, page: Page, wanted: log.Wanted, before: log.Number = None
) -> HTMLResponse:
    """What was done on one table, for its curators."""
    here = replace(wanted, table=table)
    return _log_page(page, here, before, f"/curate/tables/{table}/log", table)


def _log_page(
    page: PageRequest, wanted: Filter, before: int | None, place: str, table: str | None = None
) -> HTMLResponse:
    found, older = log.search(page, wanted, before)
    asked = {n: getattr(wanted, n) for n in FILTERS if getattr(wanted, n)}
    if table is not None:
        asked.pop("table")
    link = None if older is None else f"{place}?{urlencode(asked | {'before': older})}"
    return page.show(
        "curate/log.html", lines=found, wanted=wanted, place=place, table=table, older=link,
        newest=before is None,
    )  # fmt: skip
