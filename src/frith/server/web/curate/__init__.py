"""The curator's pages: tables and policies, members and tokens, jobs and the ledger."""

from fastapi import APIRouter

from frith.server.web.curate import (
    ledger,
    log,
    members,
    overview,
    proposals,
    register,
    review,
)

router = APIRouter()
for part in (overview, register, review, members, proposals, ledger, log):
    router.include_router(part.router)
