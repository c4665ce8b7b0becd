"""Problems as pages, with the same status and message as in the API."""

from __future__ import annotations

from fastapi.responses import HTMLResponse
from starlette.types import Scope

from frith.server.auth.middleware import BEARER
from frith.server.web.render import render_page

_TITLES = {
    400: "This cannot be read",
    403: "This is not open to you",
    404: "There is nothing here",
    405: "This page takes no such request",
    409: "This is not possible now",
    413: "This is too large",
    422: "Something is not right yet",
    429: "One moment",
    501: "This server does not do this",
    503: "The server is busy",
}


def is_page(scope: Scope) -> bool:
    """Whether the request is for a page, not for the API."""
    return not str(scope["path"]).startswith((*BEARER, "/health", "/ready", "/static/"))


def problem_page(scope: Scope, message: str, status: int) -> HTMLResponse:
    signed_in = scope.get("state", {}).get("signed_in")
    title = _TITLES.get(status, "Something went wrong here")
    return render_page(
        "problem.html", status, signed_in, title=title, message=message, status_shown=status
    )
