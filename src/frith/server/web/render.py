"""Templates, in which every value is escaped, and static files."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

from frith.forest.importance import importance_words
from frith.forest.nodes import percent
from frith.privacy.promise import promise
from frith.server.auth.sessions import SignedIn
from frith.server.web import charts, texts

STATIC = Path(__file__).parent / "static"
_HEADERS = {"referrer-policy": "same-origin"}
"""Browsers that send no referrer send no Origin header with a form either, so keep it within this site."""


def render_page(
    template: str, status: int = 200, signed_in: SignedIn | None = None, **values: Any
) -> HTMLResponse:
    """A page for the signed-in member, or for somebody who is not signed in yet."""
    common = {
        "me": signed_in.member if signed_in else None,
        "csrf": signed_in.csrf if signed_in else "",
        "path": "",
        "notice": None,
    }
    text = _environment.get_template(template).render(common | values)
    problem = values.get("problem")
    return HTMLResponse(text, status, _HEADERS | (problem.headers if problem else {}))


class Files(StaticFiles):
    """Static files. Their URLs carry a hash of the content, so browsers may cache them."""

    def __init__(self) -> None:
        super().__init__(directory=STATIC)

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers["cache-control"] = "public, max-age=86400"
        return response


def static(name: str) -> str:
    return f"/static/{name}?v={_HASHES[name]}"


def _make_environment() -> Environment:
    made = Environment(
        loader=PackageLoader("frith.server.web"),
        autoescape=True,
        auto_reload=False,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= {
        "amount": texts.amount_text,
        "when": texts.when,
        "sentence": texts.sentence,
        "figure": texts.figure,
    }
    made.globals |= {"static": static, "charts": charts, "texts": texts}
    made.globals |= {"percent": percent, "importance_words": importance_words, "promise": promise}
    return made


_HASHES = {
    file.name: hashlib.sha256(file.read_bytes()).hexdigest()[:12] for file in STATIC.iterdir()
}
_environment = _make_environment()
