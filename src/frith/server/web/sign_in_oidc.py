"""Signing in through the issuer: to it, back from it, and out when it ends a session."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import Any
from urllib.parse import parse_qs, quote

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from starlette.concurrency import run_in_threadpool

from frith.server.auth import login
from frith.server.auth.acting import acting, tell, write_refusal
from frith.server.auth.caller import actor_of, address_of
from frith.server.auth.login import COOKIE as LOGIN_COOKIE
from frith.server.auth.middleware import cookie_of
from frith.server.auth.sessions import holder_of, sign_out
from frith.server.context import Context
from frith.server.problems import Problem, unauthorized
from frith.server.web.render import render_page
from frith.server.web.sign_in import safe_next, set_session

router = APIRouter()
_LOGIN_SECONDS = 600
ISSUER = "(issuer)"
"""The actor for the issuer's decisions: who enters with which role, and whose session ends."""


@router.get(login.START)
def start(request: Request, next: str = "/", silent: bool = False) -> Response:
    """Send the browser to the issuer."""
    context, issuer = _issuer(request)
    begun, place = login.begin(context, issuer, safe_next(next), silent=silent)
    answer = RedirectResponse(place, status_code=303)
    answer.set_cookie(
        LOGIN_COOKIE, begun.to_cookie(), max_age=_LOGIN_SECONDS, httponly=True, samesite="lax",
        secure=context.settings.cookies_need_tls, path=login.START,
    )  # fmt: skip
    return answer


@router.get(login.CALLBACK)
def come_back(request: Request) -> Response:
    """Finish the login that this browser began."""
    context, issuer = _issuer(request)
    begun = login.Begun.from_cookie(cookie_of(request.scope, LOGIN_COOKIE))
    auth, address = request.state.auth, address_of(request.scope)
    auth.begin_login(address)
    answer: Response
    try:
        if begun is None:
            raise unauthorized()
        begun, said = replace(begun, next=safe_next(begun.next)), dict(request.query_params)
        if begun.silent and said.get("error") and login.is_answer(begun, said):
            answer = _end(request, context, begun.next)
            auth.end_login(address)
            return _forget(answer)
        who = login.finish(context, issuer, begun, said)
        cookie = _enter(request, context, who)
    except Problem as problem:
        write_refusal(context, actor_of(request.scope), "sign in", "issuer", problem)
        answer = _sign_in_page(context, problem)
        return _forget(answer)
    auth.end_login(address)
    answer = _go_on(begun.next)
    set_session(answer, context, cookie)
    return _forget(answer)


@router.post(login.LOGOUT)
async def end(request: Request) -> Response:
    """The issuer ends a session: its browser is signed out here at once."""
    try:
        fields = parse_qs((await request.body()).decode("utf-8", "replace"), max_num_fields=10)
    except ValueError:
        raise unauthorized() from None
    text = fields.get("logout_token", [""])[0]
    return await run_in_threadpool(_end_for_issuer, request, text)


def _end_for_issuer(request: Request, text: str) -> Response:
    context, issuer = _issuer(request)
    sid, subject = login.read_logout(issuer, context.settings.oidc_client, text)
    actor = replace(actor_of(request.scope), name=ISSUER)
    with acting(context, actor, "sign out", "") as s:
        names = login.end_sessions(context, s, sid, subject)
        tell(s, target=" ".join(names))
    return Response(status_code=200)


def _enter(request: Request, context: Context, who: login.Identity) -> str:
    """A session for the identity that the issuer states; changes to the member are part of its event."""
    actor = replace(actor_of(request.scope), name=ISSUER)
    seen: dict[str, Any] = {"subject": who.subject, "groups": list(who.groups)}
    with acting(context, actor, "sign in", who.name) as session:
        member = login.settle(context, session, who)
        tell(session, more=seen)
        if member is None:
            tell(session, action="shut out")
        else:
            session.info["actor"] = member.name
            cookie = login.open_session(context, session, member, who)
            sign_out(session, cookie_of(request.scope))
            tell(session, target=member.name)
    if member is None:
        raise Problem(
            unauthorized().code, "you are not a member here, or no longer; ask an operator"
        )
    return cookie


def _end(request: Request, context: Context, next: str) -> Response:
    """Ends the session here after the issuer ended its own."""
    cookie, actor = cookie_of(request.scope), replace(actor_of(request.scope), name=ISSUER)
    with context.database.read() as session:
        member = holder_of(session, cookie)
    if member is not None:
        with acting(context, actor, "sign out", member) as session:
            sign_out(session, cookie)
    return RedirectResponse(f"/sign-in?next={quote(next, safe='/')}", status_code=303)


def _issuer(request: Request) -> tuple[Context, Any]:
    context: Context = request.app.state.context
    issuer = request.state.auth.issuer
    if issuer is None or not login.is_offered(context.settings):
        raise Problem(unauthorized().code, "signing in by an issuer is not set up here")
    return context, issuer


def _sign_in_page(context: Context, problem: Problem) -> HTMLResponse:
    return render_page("sign_in.html", problem.status, next="/", problem=problem, offered=True)


def _go_on(next: str) -> HTMLResponse:
    """A page that redirects by itself: browsers send a strict cookie only from this site."""
    place = html.escape(next, quote=True)
    return HTMLResponse(
        f'<!doctype html><html lang="en"><meta http-equiv="refresh" content="0;url={place}">'
        f'<title>Signed in · frith</title><p>You are signed in. <a href="{place}">Go on</a>.</p></html>'
    )


def _forget(answer: Response) -> Response:
    answer.delete_cookie(LOGIN_COOKIE, path=login.START, httponly=True, samesite="lax")
    return answer
