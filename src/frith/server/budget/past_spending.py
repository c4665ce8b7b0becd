"""What was spent on a table, for its curator's page: read from a bounded number of entries.

Nothing is reserved or charged here: see `server/jobs/queue.py` and `server/jobs/lifecycle.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from frith.ledger import Receipt
from frith.ledger.book import account, entry, head
from frith.ledger.entries import FIELDS, actor_in

_LOOKED_AT = 5_000  # of the ledger's last entries
_SEEKS = 640  # in the index, for one chart
_FEWEST, _MOST = 8, 100  # points of a line


@dataclass(frozen=True)
class Spent:
    """What a member had spent in total, from a time on."""

    member: str
    at: float
    amount: Fraction


def recent(session: Session, table: str, limit: int) -> list[Receipt]:
    """The latest entries about a table among the last of the ledger, newest first."""
    first = select(head.c.entry - _LOOKED_AT).scalar_subquery()
    query = (
        select(entry, account.c.unit)
        .join(account, account.c.name == entry.c.account)
        .where(account.c.table == table, entry.c.id > first)
        .order_by(entry.c.id.desc())
        .limit(limit)
    )
    rows = session.connection().execute(query)
    return [
        Receipt.from_json({n: getattr(row, n) for n in FIELDS} | {"actor": actor_in(row.salt)})
        for row in rows
    ]


def spending(session: Session, table: str) -> list[Spent]:
    """What each member had spent on a table, over all periods and batches, as it grew.

    Every entry has a running total. So the chart needs each account's last entry before some points of
    the chain, which the index finds; in a short chain every entry is such a point.
    """
    run = session.connection().execute
    mine = (account.c.table == table, account.c.member.is_not(None))
    owners = dict(run(select(account.c.name, account.c.member).where(*mine)).all())
    end = run(select(head.c.entry)).scalar_one()
    if not owners or not end:
        return []
    n_places = min(_MOST, max(_FEWEST, _SEEKS // len(owners)))
    places = sorted({end - end * i // n_places for i in range(n_places)})
    mark, cut = entry.alias(), entry.alias()
    last = (
        select(func.max(mark.c.id))
        .where(mark.c.account == account.c.name, mark.c.id <= cut.c.id)
        .scalar_subquery()
    )
    marks = select(last.label("id")).select_from(account.join(cut, cut.c.id.in_(places)))
    columns = (entry.c.account, entry.c.at, entry.c.spent)
    query = (
        select(*columns).where(entry.c.id.in_(marks.where(*mine).distinct())).order_by(entry.c.id)
    )
    return _added_up(owners, run(query).all())


def _added_up(owners: dict[str, str], rows: Iterable[Any]) -> list[Spent]:
    """The sum of each member's accounts, each time it grew."""
    accounts, members, found = dict[str, Fraction](), dict[str, Fraction](), list[Spent]()
    for name, at, text in rows:
        spent, member = Fraction(text), owners[name]
        more = spent - accounts.get(name, Fraction(0))
        if more:
            accounts[name] = spent
            members[member] = members.get(member, Fraction(0)) + more
            found.append(Spent(member, datetime.fromisoformat(at).timestamp(), members[member]))
    return found
