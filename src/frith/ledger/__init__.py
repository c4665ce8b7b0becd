"""The ledger: what may be spent on a table and what was, append-only and chained by hashes."""

from frith.ledger.book import Book, Receipt, State, Verification, as_csv
from frith.ledger.ledger import Ledger

__all__ = ["Book", "Ledger", "Receipt", "State", "Verification", "as_csv"]
