"""Signing in with a token, and out again."""

from __future__ import annotations

import re
from typing import Annotated

from fastapi import APIRouter, Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from frith.client.kinds import ProblemCode
from frith.server.auth.acting import acting
from frith.server.auth.caller import actor_of, address_of
from frith.server.auth.login import is_offered
from frith.server.auth.members import check_token, credential_of
from frith.server.auth.middleware import cookie_of
from frith.server.auth.sessions import COOKIE, sign_in, sign_out
from frith.server.context import Context
from frith.server.problems import Problem
from frith.server.web.forms import Form, PostedForm, read_form
from frith.server.web.page_request import Page
from frith.server.web.render import render_page

router = APIRouter()
_LOCAL = re.compile(r"/(?!/)[!-\[\]-~]*\Z")  # printable, no backslash, one slash first


def safe_next(path: str) -> str:
    """The path if it is on this server, else the start page.

    >>> [safe_next(p) for p in ("/jobs", "//evil.example", "/\\\\evil.example", "https://evil.example")]
    ['/jobs', '/', '/', '/']
    """
    return path if _LOCAL.match(path) else "/"


@router.get("/sign-in")
def ask(request: Request, next: str = "/") -> HTMLResponse:
    offered = is_offered(request.app.state.context.settings)
    return render_page("sign_in.html", next=safe_next(next), problem=None, offered=offered)


@router.post("/sign-in")
def enter(request: Request, form: Annotated[Form, Depends(read_form)]) -> Response:
    """Start a session, or show the form again with the problem."""
    target = safe_next(form.text("next", "/"))
    try:
        cookie = _sign_in(request, form.text("token"))
    except Problem as problem:
        offered = is_offered(request.app.state.context.settings)
        return render_page(
            "sign_in.html", problem.status, next=target, problem=problem, offered=offered
        )
    answer = RedirectResponse(target, status_code=303)
    set_session(answer, request.app.state.context, cookie)
    return answer


def set_session(answer: Response, context: Context, cookie: str) -> None:
    """Give the browser the cookie of its session."""
    secure = context.settings.cookies_need_tls
    answer.set_cookie(COOKIE, cookie, httponly=True, samesite="strict", secure=secure, path="/")


def _sign_in(request: Request, token: str) -> str:
    """The cookie of a new session; the browser's earlier session ends."""
    context, auth, address = (
        request.app.state.context,
        request.state.auth,
        address_of(request.scope),
    )
    auth.allow_guess(address, token)
    try:
        with context.database.read() as session:
            credential = credential_of(*check_token(context, session, token))
        auth.allow_sign_in(credential.member.name)
        request.state.credential = credential
        with acting(context, actor_of(request.scope), "sign in", credential.member.name) as session:
            cookie = sign_in(context, session, token)
            sign_out(session, cookie_of(request.scope))
    except Problem as problem:
        if problem.code != ProblemCode.TOO_MANY:
            auth.count_guess(address, token, right=False)
            auth.write_wrong(request.scope, token, problem)
        raise
    auth.count_guess(address, token, right=True)
    return cookie


@router.post("/sign-out")
def leave(form: PostedForm, page: Page) -> Response:
    with page.act("sign out", page.member.name) as session:
        sign_out(session, cookie_of(page.request.scope))
    answer = RedirectResponse("/sign-in", status_code=303)
    answer.delete_cookie(COOKIE, path="/", httponly=True, samesite="strict")
    return answer
