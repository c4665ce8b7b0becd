"""A request for a page by a signed-in member: rendering and redirecting."""

from __future__ import annotations

from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, Request
from fastapi.responses import HTMLResponse, RedirectResponse

from frith.server.auth.caller import Caller, check_match
from frith.server.web.render import render_page

NOTICES = {
    "registered": "The table is registered. Grant it to an analyst next.",
    "policy": "The policy is saved.",
    "proposed": "The raise is proposed. Another curator of the table or an operator approves it.",
    "approved": "Approved, and done.",
    "rejected": "Rejected. Nothing was changed or charged.",
    "version": "The version is raised: repeated requests are now new requests.",
    "batch": "The batch is registered.",
    "granted": "The grant is saved.",
    "withdrawn": "The grant is withdrawn. What was spent under it stays spent.",
    "member": "The member is added. Create a token for them next.",
    "revoked": "The token is revoked, and so is everything that was made with it.",
    "stopped": "The job is stopped; its charge is kept.",
    "disabled": "They are disabled, and all their tokens are revoked, with all that was made with them.",
    "curator": "The table has another curator.",
    "no-curator": "They no longer curate the table.",
    "enabled": "They may sign in again, with new tokens.",
    "cancelled": "The job and its reservation are cancelled.",
}
"""What the next page says after a form was accepted; the URL carries only the key."""


class PageRequest(Caller):
    """A caller in a browser."""

    def __init__(self, request: Request):
        super().__init__(request)
        self.request, self.signed_in = request, request.state.signed_in

    def show(self, template: str, status: int = 200, **values: Any) -> HTMLResponse:
        notice = NOTICES.get(self.request.query_params.get("done", ""))
        common = {"path": self.request.url.path, "notice": notice}
        return render_page(template, status, self.signed_in, **common | values)

    def go(self, *parts: str, done: str | None = None, at: str = "") -> RedirectResponse:
        """Redirect to another page, so that a reload does not submit the form again."""
        path = "/" + "/".join(quote(part, safe="") for part in parts)
        query = f"?done={done}" if done else ""
        return RedirectResponse(path + query + (f"#{at}" if at else ""), status_code=303)


async def _visit(request: Request) -> PageRequest:
    check_match(request)
    return PageRequest(request)


Page = Annotated[PageRequest, Depends(_visit)]
