"""The end of a rolling upgrade: from then on no earlier frith runs beside this one.

Until then the server hands out nothing that an earlier frith would ignore, such as a token's scopes. A
database that began with this frith has nothing to wait for.
"""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from frith.client.kinds import Role
from frith.ledger.database import HEAD
from frith.server.auth.acting import tell
from frith.server.context import Context
from frith.server.problems import conflict
from frith.server.schema import Bookmark, Member, RegisteredTable, TableCurator

_FINISHED = "upgraded"


def check_finished(session: Session, what: str) -> None:
    """Refuse what an earlier frith, which may still run on the same database, would ignore."""
    if session.get(Bookmark, _FINISHED) is None:
        raise conflict(
            f"an earlier frith may still run on this database, and would not keep to {what}; when none "
            "does, the operator runs `frith migrate --finish`"
        )


def finish(context: Context, session: Session) -> None:
    """Take over what an earlier frith wrote meanwhile, and allow what it would have ignored.

    Members whom it added keep the role it gave them. Its tables get all operators as curators, as all
    earlier ones did.
    """
    members = list(session.scalars(select(Member).order_by(Member.name)))
    for member in members:
        member.role = member.role  # derived for earlier members; stored from now on
    curated = select(TableCurator.table)
    orphans = select(RegisteredTable.name).where(RegisteredTable.name.not_in(curated))
    found = sorted(session.scalars(orphans))
    operators = [m.name for m in members if m.role == Role.OPERATOR and m.disabled is None]
    for table in found:
        for name in operators:
            session.add(TableCurator(table=table, member=name, created=context.now()))
    session.merge(Bookmark(name=_FINISHED, value=HEAD))
    tell(session, after={"version": HEAD, "tables": found, "curators": operators if found else []})
