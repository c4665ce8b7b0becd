"""The price of a request in words, as forms show it while epsilon moves."""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm import Session

from frith.server import spending
from frith.server.pages import words
from frith.server.pages.visit import Visit
from frith.server.problems import Problem
from frith.server.requests import read_budget
from frith.server.schema import Batch
from frith.server.tables import View


def price(
    visit: Visit,
    session: Session,
    view: View,
    epsilon: str,
    delta: str = "",
    learner: str = "",
    batch: str = "",
) -> dict[str, Any]:
    """Words, and the share of the gauge that it would take; a refusal is an answer too."""
    further = session.get(Batch, (view.name, batch)) if batch else None
    apart = batch if further is not None and further.disjoint else None
    account = (visit.context, session, view, visit.member.name)
    try:
        budget = read_budget(epsilon, delta or "0")
        view.policy.check(learner or None, budget)
    except Problem as problem:
        return {
            "granted": False,
            "text": words.sentence(problem.message),
            "share": 0,
            "meaning": "",
        }
    quote = spending.quote(*account, budget, apart)
    _, own = spending.states(*account, apart)
    granted = quote.refusal is None
    return {
        "granted": granted,
        "text": words.quoted(quote, own) + (" The batch has a budget of its own." if apart else ""),
        "share": float(quote.cost / own.total) if granted and not apart else 0.0,
        "meaning": words.meaning(budget, view.domain.person),
    }
