"""The application: layers around the routes, and one place that turns problems into answers."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

import structlog
from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

import frith
from frith.errors import BudgetExceeded
from frith.server.context import Context
from frith.server.documents import Healthy
from frith.server.door import Door
from frith.server.limits import BodyLimit
from frith.server.metrics import Requests
from frith.server.metrics import router as metrics
from frith.server.problems import Problem
from frith.server.routes import forests, jobs, ledger, members, tables
from frith.server.routes.caller import PROBLEMS
from frith.store import StoreError

log = structlog.get_logger("frith.server")
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}
_CODES = {404: "not_found", 405: "bad_request", 413: "too_large"}


def make_app(context: Context) -> FastAPI:
    """The whole server for one context."""
    app = FastAPI(
        title="frith: a private database",
        version=frith.__version__,
        summary="Forests with a privacy guarantee, from tables nobody may see.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
    )
    app.state.context, app.state.requests = context, Requests()
    api = APIRouter(prefix="/v1", responses=PROBLEMS)
    for part in (tables, forests, jobs, members, ledger):
        api.include_router(part.router)
    app.include_router(api)
    app.include_router(metrics, responses=PROBLEMS)
    app.add_api_route("/health", health, response_model=Healthy, tags=["operations"])
    _handle_problems(app)
    app.add_middleware(BodyLimit, settings=context.settings)
    app.add_middleware(Door, context=context)
    app.add_middleware(Outermost, requests=app.state.requests)
    return app


async def health() -> Healthy:
    """Whether the server answers."""
    return Healthy(status="ok")


class Outermost:
    """Answers for problems of any layer, security headers, the log line and the metrics."""

    def __init__(self, app: ASGIApp, requests: Requests):
        self._app, self._requests = app, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0

        async def answer(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, answer)
        except (Problem, StoreError) as problem:
            if status:
                raise
            await said(problem)(scope, receive, answer)
        finally:
            self._tell(scope, status, time.monotonic() - began)

    def _tell(self, scope: Scope, status: int, seconds: float) -> None:
        route = getattr(scope.get("route"), "path", "none")
        member = getattr(scope.get("state", {}).get("member"), "name", None)
        self._requests.add(scope["method"], route, status, seconds)
        log.info("request", method=scope["method"], route=route, status=status, member=member)


def said(problem: Exception) -> JSONResponse:
    """The answer for a problem: its code, its message, its status."""
    if isinstance(problem, BudgetExceeded):
        problem = Problem("over_budget", "the budget does not cover this; ask for less")
    if not isinstance(problem, Problem):
        problem = Problem("unavailable", "the server cannot reach its database; try again later")
    headers = {"www-authenticate": "Bearer"} if problem.code == "unauthorized" else {}
    return JSONResponse(problem.to_json(), problem.status, headers)


def _handle_problems(app: FastAPI) -> None:
    Handler = Callable[[Request, Any], Awaitable[JSONResponse]]

    async def known(request: Request, error: Any) -> JSONResponse:
        return said(error)

    async def invalid(request: Request, error: RequestValidationError) -> JSONResponse:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        return said(Problem("invalid", f"{where}: {first['msg']}"))

    async def http(request: Request, error: HTTPException) -> JSONResponse:
        code = _CODES.get(error.status_code, "bad_request")
        problem = Problem(
            code, "there is nothing here" if code == "not_found" else str(error.detail)
        )
        return JSONResponse(problem.to_json(), error.status_code, error.headers)

    async def unforeseen(request: Request, error: Exception) -> JSONResponse:
        log.error("unforeseen", error=type(error).__name__)
        return JSONResponse({"code": "failed", "message": "something went wrong here"}, 500)

    handlers: dict[Any, Handler] = {
        Problem: known,
        StoreError: known,
        BudgetExceeded: known,
        RequestValidationError: invalid,
        HTTPException: http,
        Exception: unforeseen,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
