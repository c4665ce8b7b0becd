"""The curator's pages: tables and policies, members and tokens, jobs and the ledger."""

from fastapi import APIRouter

from frith.server.web.curate import ledger, members, overview, register, review

router = APIRouter()
for part in (overview, register, review, members, ledger):
    router.include_router(part.router)
