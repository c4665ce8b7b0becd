"""Tables whose budget is nearly used up: for their curators' pages, the metrics and a webhook."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from frith.ledger.state import State
from frith.server.budget.accounts import account_of
from frith.server.budget.member_view import View
from frith.server.budget.tables import domain_of, policy_of
from frith.server.context import Context
from frith.server.schema import Bookmark, RegisteredTable

_MARK = "alert "
"""The prefix of bookmarks that name accounts whose alert was sent."""


@dataclass(frozen=True)
class Alert:
    """A table's account that is nearly used up, and the share spent or reserved."""

    table: str
    account: str
    used: Fraction

    @property
    def text(self) -> str:
        return f"{float(self.used):.0%} of the budget of {self.table} is spent or reserved"

    def to_json(self) -> dict[str, Any]:
        return {
            "alert": "budget",
            "table": self.table,
            "account": self.account,
            "message": self.text,
        }


def used_of(state: State) -> Fraction:
    """The part of an account's budget that is spent or reserved."""
    return (state.spent + state.held) / state.total if state.total else Fraction(1)


def is_near(context: Context, state: State) -> bool:
    """Whether an account has reached the share at which the operator wants an alert."""
    percent = context.settings.alert_percent
    return bool(percent) and used_of(state) * 100 >= percent


def find_near(context: Context, session: Session, tables: Iterable[RegisteredTable]) -> list[Alert]:
    """An alert for each of these tables whose account of this period is nearly used up."""
    views = [View(table, domain_of(table), policy_of(table)) for table in tables]
    names = {account_of(context, view).name: view.name for view in views}
    found = context.book(session).find(*names)
    return [
        Alert(names[name], name, used_of(state))
        for name, state in sorted(found.items())
        if is_near(context, state)
    ]


def told(session: Session) -> set[str]:
    """The accounts whose alerts were sent and still held at that time."""
    query = select(Bookmark.name).where(Bookmark.name.startswith(_MARK))
    return {name.removeprefix(_MARK) for name in session.scalars(query)}


def note_told(session: Session, sent: Iterable[Alert], ended: Iterable[str]) -> None:
    """Note what was sent, and forget accounts whose alert no longer holds: it may come again."""
    for account in ended:
        session.execute(delete(Bookmark).where(Bookmark.name == _MARK + account))
    for alert in sent:
        session.merge(Bookmark(name=_MARK + alert.account, value=alert.table))
