"""The application: middleware around the routes, and one place that turns problems into responses."""

from __future__ import annotations

import time
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from frith._version import __version__
from frith.client.documents import first_problem
from frith.client.kinds import ProblemCode
from frith.client.responses import HealthResponse, ReadyResponse
from frith.errors import BudgetExceeded, OtherNeighbors, OutsideWindow
from frith.ledger.database import StoreError
from frith.privacy.exact import show
from frith.server.api import (
    forests,
    jobs,
    ledger,
    log,
    members,
    paid_domains,
    parties,
    proposals,
    quotes,
    tables,
)
from frith.server.api.metrics import Requests
from frith.server.api.metrics import router as metrics
from frith.server.auth.access import route_of
from frith.server.auth.acting import write_refusal
from frith.server.auth.caller import PROBLEMS, actor_of, address_of
from frith.server.auth.limits import BodyLimit, ConcurrencyLimit
from frith.server.auth.middleware import AuthMiddleware, is_public
from frith.server.context import Context
from frith.server.jobs.ready import Readiness
from frith.server.problems import STATUS, Problem, conflict, invalid
from frith.server.settings import Settings
from frith.server.web import add_pages
from frith.server.web.errors import is_page, problem_page

logger = structlog.get_logger("frith.server")
SECURITY = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
}
HSTS = {"strict-transport-security": "max-age=31536000"}
"""Tells browsers to return over TLS only; sent if cookies need TLS too."""
_BEARER = {
    "type": "http",
    "scheme": "bearer",
    "description": "A token of ours, or of the OIDC issuer.",
}
_NOT_READY: dict[int | str, dict[str, Any]] = {
    503: {"model": ReadyResponse, "description": "Something is not in order"}
}
_METHODS = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"}
_DATABASE_WAIT = 5  # seconds
_WRITTEN = (ProblemCode.FORBIDDEN, ProblemCode.NOT_FOUND, ProblemCode.CONFLICT)
"""Refusals that the audit log records even for requests that only read."""
_CODES = {404: ProblemCode.NOT_FOUND, 413: ProblemCode.TOO_LARGE}


def make_app(context: Context) -> FastAPI:
    """The whole server for one context."""
    app = _App(
        title="frith: a private database",
        version=__version__,
        summary="Forests with a privacy guarantee, from tables nobody may see.",
        openapi_url="/v1/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would name the host that the caller claims to have called
    )
    app.state.context, app.state.requests = context, Requests()
    app.state.readiness = Readiness()
    app.state.concurrency = ConcurrencyLimit(context.settings.heavy_reads)
    for part in (
        quotes,
        tables,
        paid_domains,
        forests,
        jobs,
        parties,
        members,
        proposals,
        ledger,
        log,
    ):
        app.include_router(part.router, prefix="/v1", responses=PROBLEMS)
    app.include_router(metrics, responses=PROBLEMS)
    add_pages(app)
    for method in ("GET", "HEAD"):
        about: dict[str, Any] = {"methods": [method], "include_in_schema": method == "GET"}
        app.add_api_route("/health", health, tags=["operations"], **about)
        app.add_api_route("/ready", ready, tags=["operations"], responses=_NOT_READY, **about)
    _handle_problems(app)
    app.add_middleware(BodyLimit, settings=context.settings, is_public=is_public)
    app.add_middleware(AuthMiddleware, context=context, prepare=quotes.PREPARE)
    app.add_middleware(
        ErrorMiddleware,
        context=context,
        requests=app.state.requests,
        settings=context.settings,
    )
    return app


class _App(FastAPI):
    """FastAPI, whose document says which routes take a token: the auth middleware checks it before."""

    def openapi(self) -> dict[str, Any]:
        document = super().openapi()
        document["components"]["securitySchemes"] = {"HTTPBearer": _BEARER}
        for path, operations in document["paths"].items():
            for operation in operations.values():
                if not is_public(path):
                    operation["security"] = [{"HTTPBearer": []}]
        return document


async def health() -> HealthResponse:
    """Answers if the server's process is alive, whatever else is wrong."""
    return HealthResponse()


def ready(request: Request, response: Response) -> ReadyResponse:
    """Whether the server can do its work: 200 if every check passes, else 503."""
    checks = request.app.state.readiness.look(request.app.state.context)
    if not all(checks.values()):
        response.status_code = STATUS[ProblemCode.UNAVAILABLE]
        response.headers["retry-after"] = str(_DATABASE_WAIT)
    return ReadyResponse(ready=all(checks.values()), checks=checks)


class ErrorMiddleware:
    """Turns errors of any layer into responses; adds security headers, a log line and metrics."""

    def __init__(self, app: ASGIApp, context: Context, requests: Requests, settings: Settings):
        self._app, self._context, self._requests = app, context, requests
        self._headers = SECURITY | (HSTS if settings.cookies_need_tls else {})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status = time.monotonic(), 0
        scope.setdefault("state", {})["request"] = self._context.new_secret(8)

        async def respond(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            await self._app(scope, receive, respond)
        except Exception as error:  # noqa: BLE001 - what it says may be private: its name is logged
            if status:
                raise RuntimeError("a response broke off") from None
            response = await run_in_threadpool(_error_response, self._context, scope, error)
            await response(scope, receive, respond)
        finally:
            self._record(scope, status, time.monotonic() - began)

    def _record(self, scope: Scope, status: int, seconds: float) -> None:
        route, method = route_of(scope), scope["method"]
        method = (
            method if method in _METHODS else "other"
        )  # callers could invent any number of them
        member = getattr(scope.get("state", {}).get("member"), "name", None)
        self._requests.add(method, route, status, seconds)
        where = {"address": address_of(scope), "request": scope["state"]["request"]}
        found = scope["state"].get("match")
        target = ""
        if found is not None and status < 400:  # else the caller may have invented it
            target = "/".join(found.names.values())
        logger.info(
            "request",
            method=method,
            route=route,
            status=status,
            member=member,
            target=target,
            **where,
        )


def _error_response(context: Context, scope: Scope, error: Exception) -> Response:
    """The response for any exception."""
    if isinstance(error, Problem | StoreError):
        return _refuse(context, scope, error)
    logger.error("unforeseen", error=type(error).__name__)
    if is_page(scope):
        return problem_page(scope, "something went wrong here", 500)
    return JSONResponse({"code": ProblemCode.FAILED, "message": "something went wrong here"}, 500)


def _refuse(context: Context, scope: Scope, error: Exception) -> Response:
    """Write a refusal to the audit log, then return its response."""
    if isinstance(error, Problem) and error.code in _WRITTEN and "member" in scope["state"]:
        found = scope["state"].get("match")
        action = found.route if found is not None else "none"
        target = "/".join(found.names.values()) if found is not None else ""
        write_refusal(context, actor_of(scope), action, target, error)
    return problem_response(scope, error)


def problem_response(scope: Scope, problem: Exception) -> Response:
    """A problem as JSON or as a page: its code, its message, its status."""
    if isinstance(problem, BudgetExceeded):
        left, cost = show(problem.remaining), show(problem.requested)
        problem = Problem(
            ProblemCode.OVER_BUDGET,
            "the budget does not cover this; ask for less",
            left=left,
            cost=cost,
            unit=problem.unit,
        )
    if isinstance(problem, OutsideWindow):
        problem = invalid(str(problem))
    if isinstance(problem, OtherNeighbors):
        problem = conflict(str(problem))
    if not isinstance(problem, Problem):
        problem = Problem(
            ProblemCode.UNAVAILABLE,
            "the server cannot reach its database; try again later",
            wait=_DATABASE_WAIT,
        )
    if is_page(scope):
        answer: Response = problem_page(scope, problem.message, problem.status)
    else:
        challenge = (
            {"www-authenticate": "Bearer"} if problem.code == ProblemCode.UNAUTHORIZED else {}
        )
        answer = JSONResponse(problem.to_json(), problem.status, challenge)
    answer.headers.update(problem.headers)
    return answer


def _handle_problems(app: FastAPI) -> None:
    def known(request: Request, error: Any) -> Response:
        return _refuse(request.app.state.context, request.scope, error)

    async def unreadable(request: Request, error: Any) -> Response:
        problem = invalid(first_problem(error.errors()))
        return problem_response(request.scope, problem)

    async def http(request: Request, error: Any) -> Response:
        code = _CODES.get(error.status_code, ProblemCode.BAD_REQUEST)
        problem = Problem(
            code, "there is nothing here" if code == ProblemCode.NOT_FOUND else str(error.detail)
        )
        if is_page(request.scope):
            return problem_page(request.scope, problem.message, error.status_code)
        return JSONResponse(problem.to_json(), error.status_code, error.headers)

    for kind in (Problem, StoreError, BudgetExceeded, OutsideWindow, OtherNeighbors):
        app.add_exception_handler(kind, known)
    app.add_exception_handler(RequestValidationError, unreadable)
    app.add_exception_handler(HTTPException, http)
