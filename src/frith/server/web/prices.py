"""The price of a request in words, which forms show while epsilon changes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sqlalchemy.orm import Session

from frith.privacy.budget import Budget
from frith.privacy.exact import show
from frith.server.budget import accounts
from frith.server.budget.amounts import read_budget
from frith.server.budget.member_view import View
from frith.server.problems import Problem
from frith.server.web import texts
from frith.server.web.page_request import PageRequest


def price(
    page: PageRequest,
    session: Session,
    view: View,
    epsilon: str,
    delta: str,
    check: Callable[[Budget], str | None],
) -> dict[str, Any]:
    """The price in words, and the share of the gauge that the request would take, or the refusal.

    `check` raises what asking would raise, and returns the batch if it has its own accounts.
    """
    account = (page.context, session, view, page.member.name)
    try:
        budget = read_budget(epsilon, delta or "0")
        apart = check(budget)
    except Problem as problem:
        return {
            "granted": False,
            "text": texts.sentence(problem.message),
            "share": 0,
            "cost": "",
            "meaning": "",
        }
    quote = accounts.quote(*account, budget, apart)
    _, own = accounts.states(*account, apart)
    granted = quote.refusal is None
    return {
        "granted": granted,
        "text": texts.quoted(quote, own) + (" The batch has a budget of its own." if apart else ""),
        "share": float(quote.cost / own.total) if granted and not apart else 0.0,
        "cost": show(quote.cost),
        "meaning": texts.meaning(budget, view.domain.person),
    }
