"""Every route of the application, and a request for each that would be granted."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass
from typing import Any

from fastapi.routing import iter_route_contexts

from frith.server.auth.login import CALLBACK, LOGOUT, START

OUTSIDE = {"/health", "/ready", "/sign-in", START, CALLBACK, LOGOUT}
FORM = {"content-type": "application/x-www-form-urlencoded"}


@dataclass(frozen=True, order=True)
class Route:
    method: str
    path: str

    @property
    def is_page(self) -> bool:
        return not self.path.startswith(("/v1", "/metrics", "/health", "/ready"))

    @property
    def names(self) -> list[str]:
        """The parameters in the path."""
        return re.findall(r"{(\w+)}", self.path)

    def at(self, **values: str) -> str:
        return re.sub(r"{(\w+)}", lambda m: values[m[1]], self.path)

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def routes_of(app: Any) -> list[Route]:
    """All of them, pages too; static files are mounted and have none."""
    found = {
        Route(method, context.path)
        for context in iter_route_contexts(app.routes)
        for method in getattr(context, "methods", None) or ()
        if method != "HEAD"
    }
    return sorted(found)


def api_of(app: Any) -> list[Route]:
    return [r for r in routes_of(app) if not r.is_page and r.path not in OUTSIDE]


def pages_of(app: Any) -> list[Route]:
    return [r for r in routes_of(app) if r.is_page and r.path not in OUTSIDE]


BODIES: dict[str, dict[str, Any]] = {
    "POST /v1/tables": {
        "name": "fresh",
        "connection": "sample",
        "table": "nowhere.csv",
        "domain": "[label]",
        "policy": {"epsilon": "1"},
    },
    "POST /v1/paid-domains": {
        "name": "fresh",
        "connection": "sample",
        "table": "nowhere.csv",
        "label": "y",
        "columns": {"x": "number", "y": ["a", "b"]},
        "epsilon": "1",
        "policy": {"epsilon": "2"},
    },
    "PUT /v1/tables/{table}/policy": {"epsilon": "40"},
    "POST /v1/tables/{table}/version": {},
    "POST /v1/tables/{table}/batches": {
        "name": "fresh",
        "connection": "sample",
        "table": "nowhere.csv",
    },
    "PUT /v1/tables/{table}/grants/{member}": {},
    "POST /v1/tables/{table}/quotes": {"epsilon": "0.1"},
    "POST /v1/tables/{table}/forests": {"epsilon": "0.1"},
    "POST /v1/tables/{table}/dry-runs": {"epsilon": "0.1"},
    "POST /v1/tables/{table}/counts": {
        "epsilon": "0.1",
        "question": {"kind": "records"},
        "domain": "0" * 64,
    },
    "POST /v1/forests/{forest}/predictions": {"records": [{}]},
    "POST /v1/forests/{forest}/quotes": {"epsilon": "0.1"},
    "POST /v1/forests/{forest}/rules": {"epsilon": "0.1"},
    "POST /v1/forests/{forest}/scores": {"epsilon": "0.1"},
    "POST /v1/forests/{forest}/updates": {"epsilon": "0.1", "batch": "later"},
    "POST /v1/jobs/{job}/cancel": {},
    "POST /v1/tables/{table}/proposals": {"policy": {"epsilon": "50"}, "reason": "a study"},
    "POST /v1/members": {"name": "fresh"},
    "PUT /v1/members/{member}": {"disabled": False},
    "POST /v1/members/{member}/tokens": {},
}
"""A good body for each route of the API that takes one."""


def call(client: Any, route: Route, path: str | None = None, **more: Any) -> Any:
    """Ask a route for something, with a good body where it takes one."""
    if str(route) in BODIES:
        more.setdefault("json", BODIES[str(route)])
    return client.request(route.method, path or route.path, follow_redirects=False, **more)


@dataclass
class Answer:
    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes


def raw(
    app: Any,
    path: str,
    method: str = "GET",
    headers: dict[str, str] | None = None,
    chunks: Any = (b"",),
    client: tuple[str, int] = ("192.0.2.1", 1),
) -> Answer:
    """Call the application without a client that tidies the path; a chunk of None never comes."""

    async def run() -> Answer:
        messages, left = [], list(chunks)

        async def receive() -> dict[str, Any]:
            chunk = left.pop(0) if left else None
            if chunk is None:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": chunk, "more_body": bool(left)}

        async def send(message: dict[str, Any]) -> None:
            messages.append(message)

        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "headers": [(k.lower().encode(), v.encode()) for k, v in (headers or {}).items()],
            "client": client,
            "server": ("frith.test", 80),
            "state": {},
        }
        await app(scope, receive, send)
        body = b"".join(m.get("body", b"") for m in messages[1:])
        return Answer(messages[0]["status"], messages[0]["headers"], body)

    return asyncio.run(run())
