"""The web pages, one file a subject. They show what the API shows.

A handler reads its numbers and a template prints them; no page computes any from records. Budgets come
from the ledger (`server/budget/accounts.py`), and all about a forest from the stored forest (`forest/`).
"""

from fastapi import APIRouter, FastAPI

from frith.server.web.account import router as account
from frith.server.web.curate import router as curate
from frith.server.web.forests import router as forests
from frith.server.web.jobs import router as jobs
from frith.server.web.papers import router as papers
from frith.server.web.render import Files
from frith.server.web.sign_in import router as sign_in
from frith.server.web.sign_in_oidc import router as sign_in_oidc
from frith.server.web.tables import router as tables

__all__ = ["add_pages"]


def add_pages(app: FastAPI) -> None:
    router = APIRouter(include_in_schema=False)
    for part in (sign_in, sign_in_oidc, tables, jobs, forests, papers, account, curate):
        router.include_router(part)
    app.include_router(router)
    app.mount("/static", Files(), name="static")
