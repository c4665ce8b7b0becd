"""Who curates which table."""

from __future__ import annotations

from sqlalchemy import delete, select
from sqlalchemy.orm import Session

from frith.server.auth.members import get_member
from frith.server.context import Context
from frith.server.problems import conflict, invalid, no_table
from frith.server.schema import Grant, Member, RegisteredTable, TableCurator


def curates(session: Session, member: Member, table: str) -> bool:
    return member.may_curate and session.get(TableCurator, (table, member.name)) is not None


def curated_by(session: Session, member: Member) -> list[str]:
    """The tables that a member curates."""
    if not member.may_curate:
        return []
    query = select(TableCurator.table).where(TableCurator.member == member.name)
    return list(session.scalars(query.order_by(TableCurator.table)))


def curators_of(session: Session, table: str) -> list[str]:
    query = select(TableCurator.member).where(TableCurator.table == table)
    return list(session.scalars(query.order_by(TableCurator.member)))


def add_curator(context: Context, session: Session, table: str, member: str) -> None:
    """Let a member curate a table; they no longer need a grant for it."""
    if session.get(RegisteredTable, table) is None:
        raise no_table()
    found = get_member(session, member)
    if not found.may_curate or found.disabled is not None:
        raise invalid(f"{member} is {found.role} here; a table's curator has the role curator")
    if session.get(Grant, (table, member)) is not None:
        raise conflict(f"{member} has a grant for this table; withdraw it first")
    session.merge(TableCurator(table=table, member=member, created=context.now()))
    session.flush()


def remove_curator(session: Session, table: str, member: str) -> None:
    """Stop a member from curating a table; the last curator stays, or nobody could change anything."""
    if session.get(TableCurator, (table, member)) is None:
        raise no_table()
    if curators_of(session, table) == [member]:
        raise conflict(f"{member} is the only curator of this table; name another one first")
    session.execute(
        delete(TableCurator).where(TableCurator.table == table, TableCurator.member == member)
    )
