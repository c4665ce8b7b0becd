"""The ledger: whether its chain holds, its entries, and its export."""

from __future__ import annotations

import json

from fastapi import APIRouter
from fastapi.responses import HTMLResponse, Response

from frith.ledger import as_csv
from frith.server.pages.visit import Curating
from frith.server.routes.ledger import entries_of

router = APIRouter(prefix="/curate")
_SHOWN = 100  # entries listed, the newest


@router.get("/ledger")
def show_ledger(visit: Curating) -> HTMLResponse:
    with visit.read() as session:
        found = visit.context.book(session).verify()
    entries = entries_of(visit)
    return visit.show(
        "curate/ledger.html", found=found, entries=entries[::-1][:_SHOWN], n_entries=len(entries)
    )


@router.get("/ledger.csv")
def export_csv(visit: Curating) -> Response:
    return _download(as_csv(entries_of(visit)), "text/csv", "ledger.csv")


@router.get("/ledger.json")
def export_json(visit: Curating) -> Response:
    text = json.dumps([entry.to_json() for entry in entries_of(visit)], indent=1)
    return _download(text + "\n", "application/json", "ledger.json")


def _download(text: str, kind: str, name: str) -> Response:
    headers = {"content-disposition": f'attachment; filename="{name}"'}
    return Response(text, media_type=kind, headers=headers)
