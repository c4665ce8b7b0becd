"""A step before a form spends: what it costs, what it leaves, and a button that says so."""

from __future__ import annotations

from typing import Any

from fastapi.responses import HTMLResponse

from frith.server.web.forms import Form
from frith.server.web.page_request import PageRequest
from frith.server.web.texts import Account

CONFIRMED = "confirmed"
"""The field with the price that somebody has agreed to."""


def is_confirmed(form: Form, price: dict[str, Any]) -> bool:
    """Whether somebody agreed to the price; a request that will be refused needs no agreement."""
    return not price["granted"] or form.text(CONFIRMED) == price["cost"]


def confirm(
    page: PageRequest, form: Form, price: dict[str, Any], account: Account, what: str, back: str
) -> HTMLResponse:
    """The page that asks whether to spend; its form is the one that was sent, with the price."""
    fields = [
        (name, value)
        for name, values in form.fields.items()
        for value in values
        if name not in ("csrf", CONFIRMED)
    ]
    return page.show(
        "confirm.html", fields=[*fields, (CONFIRMED, price["cost"])], price=price, account=account,
        what=what, back=back,
    )  # fmt: skip
