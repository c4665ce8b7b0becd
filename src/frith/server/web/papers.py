"""A forest's effects, report, certificate and model card, to view and to download."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Query
from fastapi.responses import Response

from frith._csv import table
from frith.forest import Forest
from frith.forest.report import make_card, make_certificate, make_report
from frith.server.auth.caller import HEAVY
from frith.server.web.downloads import IMAGE, download, find
from frith.server.web.page_request import Page

router = APIRouter()
Columns = Annotated[int, Query(ge=1, le=6)]


@router.get("/forests/{forest}/effects.svg", dependencies=HEAVY)
def show_effects(forest: str, page: Page, columns: Columns = 3) -> Response:
    picture = find(page, forest).effects().draw(columns=columns)
    return Response(picture, headers=IMAGE, media_type="image/svg+xml")


@router.get("/forests/{forest}/effects.csv", dependencies=HEAVY)
def download_effects(forest: str, page: Page) -> Response:
    text = table(find(page, forest).effects().to_frame())
    return download(Response(text, media_type="text/csv"), f"{forest}-effects.csv")


@router.get("/forests/{forest}/report.html", dependencies=HEAVY)
def download_report(forest: str, page: Page) -> Response:
    return _paper(page, forest, make_report, "html")


@router.get("/forests/{forest}/certificate.html", dependencies=HEAVY)
def download_certificate(forest: str, page: Page) -> Response:
    return _paper(page, forest, make_certificate, "certificate.html")


@router.get("/forests/{forest}/card.md", dependencies=HEAVY)
def download_card(forest: str, page: Page) -> Response:
    return _paper(page, forest, make_card, "md")


def _paper(page: Page, forest: str, make: Callable[[Forest], str], suffix: str) -> Response:
    kind = "text/markdown" if suffix == "md" else "text/html"
    text = make(find(page, forest).forest())
    return download(Response(text, media_type=kind), f"{forest}.{suffix}")
