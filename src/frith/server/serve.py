"""Running a server: the database brought up to date, workers beside it, uvicorn in front."""

from __future__ import annotations

import contextlib
from typing import Any

import uvicorn

from frith.server.app import make_app
from frith.server.connections import allow_many_files, patient_for
from frith.server.context import Context
from frith.server.crew import Crew
from frith.server.settings import Settings
from frith.store import Database

_BACKLOG = 2_048
_GRACE_SECONDS = 10


def open_context(settings: Settings) -> Context:
    """The server's state; its tables are made or brought up to date."""
    database = Database(settings.database)
    database.upgrade()
    return Context(database, settings)


def serve(context: Context) -> None:
    """Answer until told to stop; then finish what is being answered, and the workers' jobs."""
    settings = context.settings
    allow_many_files()
    with Crew(settings), contextlib.suppress(KeyboardInterrupt):  # uvicorn's, once it has stopped
        uvicorn.run(
            make_app(context),
            http=patient_for(settings.body_seconds),
            ws="none",
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            backlog=_BACKLOG,
            timeout_graceful_shutdown=_GRACE_SECONDS,
            **_tls(settings),
        )
    context.database.close()


def _tls(settings: Settings) -> dict[str, Any]:
    if not settings.tls_certificate:
        return {}
    return {"ssl_certfile": settings.tls_certificate, "ssl_keyfile": settings.tls_key or None}


def address(settings: Settings) -> str:
    scheme = "https" if settings.tls_certificate else "http"
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return f"{scheme}://{host}:{settings.port}"
