"""A ledger's chain written anew, as somebody could who has its file and knows how it is hashed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlalchemy import text

from frith.ledger import Book, Receipt
from frith.ledger.database import Database
from frith.ledger.entries import HASHED, after, hash_of

_OFF = {
    True: (
        "DROP TRIGGER IF EXISTS entry_is_kept_update",
        "DROP TRIGGER IF EXISTS entry_is_kept_delete",
    ),
    False: ("DROP TRIGGER IF EXISTS entry_is_kept ON entry",),
}


def tamper(database: Database, *statements: str) -> None:
    """Run statements as somebody would who has the file: without the triggers."""
    with database.write() as session:
        for statement in (*_OFF[database.is_sqlite], *statements):
            session.execute(text(statement))


def rewrite_chain(database: Database, change: Callable[[Receipt], Receipt]) -> None:
    """Change entries, and work out sums and hashes again so that the chain holds."""
    tamper(database)
    sums: dict[str, tuple[Fraction, Fraction]] = {}
    previous = ""
    update = text("UPDATE entry SET amount = :a, spent = :s, held = :h, purpose = :p, at = :t, hash = :x"
                  " WHERE id = :i")  # fmt: skip
    with database.write() as session:
        book = Book(session.connection())
        salts = dict(session.connection().execute(text("SELECT id, salt FROM entry")).all())
        for e in map(change, book.page(10**9)):
            before = sums.get(e.account, (Fraction(0), Fraction(0)))
            spent, held = sums[e.account] = after(e.kind, e.request, e.amount, *before)
            e = replace(e, spent=spent, held=held)
            fields = tuple(getattr(e, name) for name in HASHED)
            previous = hash_of(previous, salts[e.id], fields)
            row = {"a": str(e.amount), "s": str(spent), "h": str(held), "p": e.purpose, "t": e.at}
            session.execute(update, row | {"x": previous, "i": e.id})
        session.execute(text("UPDATE ledger_head SET hash = :x"), {"x": previous})
