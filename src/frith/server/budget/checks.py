"""Before a sale: checks the rows that it relies on against the chain, and the clock."""

from __future__ import annotations

from sqlalchemy import and_, select
from sqlalchemy.orm import Session

from frith.ledger import Place
from frith.ledger.walk import Walk
from frith.server.budget.member_view import View
from frith.server.budget.terms import Terms, batch_terms, grant_terms, policy_terms
from frith.server.context import Context
from frith.server.problems import conflict
from frith.server.schema import Batch, Grant, RegisteredTable


def check_sale(
    context: Context, session: Session, view: View, member: str, batch: str | None = None
) -> None:
    """Refuse a sale that relies on something that the chain does not state.

    The caller has locked the ledger, so what is committed does not change meanwhile. Everything is
    read again: the table may have been read before the lock.
    """
    walk = context.watch.follow()
    terms = _terms(session, view, member, batch)
    context.watch.require(view.name, *(doubt_terms(walk, each) for each in terms))
    if view.policy.renewal_days is not None:
        context.watch.require_clock()


def check_accounts(context: Context, session: Session, *places: Place) -> None:
    """Refuse accounts that differ from the chain; an account that is not open yet is new."""
    walk = context.watch.follow()
    found = context.book(session).find(*(place.name for place in places))
    doubts = [walk.doubt(found[p.name]) for p in places if p.name in found]
    context.watch.require(places[0].table, *doubts)


def doubt_terms(walk: Walk, terms: Terms) -> str | None:
    """What is wrong with some terms; None if they are the last ones in the chain."""
    if walk.terms.get(terms.subject) == terms.meaning:
        return None
    return f"the {terms.subject} is not the one last written"


def _terms(session: Session, view: View, member: str, batch: str | None) -> list[Terms]:
    granted = and_(Grant.table == RegisteredTable.name, Grant.member == member)
    query = select(RegisteredTable, Grant).outerjoin(Grant, granted)
    seen = (view.table.policy, view.cap)
    query = query.where(RegisteredTable.name == view.name).execution_options(populate_existing=True)
    table, given = session.execute(query).one()
    if (table.policy, None if given is None else given.epsilon) != seen:
        raise conflict("the table's terms have just changed; look at them and ask again")
    terms = [policy_terms(table)] + ([] if given is None else [grant_terms(given)])
    if batch is not None:
        further = session.get(Batch, (view.name, batch), populate_existing=True)
        terms += [] if further is None else [batch_terms(further)]
    return terms
