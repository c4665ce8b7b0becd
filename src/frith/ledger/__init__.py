"""The ledger: what may be spent on a table and what was, append-only and chained by hashes."""

from frith.ledger.book import Book
from frith.ledger.entries import Receipt, as_csv
from frith.ledger.ledger import Ledger
from frith.ledger.place import Place
from frith.ledger.state import State
from frith.ledger.walk import Fault, Verification

__all__ = ["Book", "Fault", "Ledger", "Place", "Receipt", "State", "Verification", "as_csv"]
