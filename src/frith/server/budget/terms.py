"""What a table's terms are: its policy, its batches and its grants, as the chain states them.

Every change of a term is an entry of the ledger, which carries its hash. So a row that was edited
behind the server's back differs from the chain, and nothing is sold on it.
"""

from __future__ import annotations

import hashlib
import json
from typing import NamedTuple

from sqlalchemy.orm import Session

from frith.server.context import Context
from frith.server.schema import Batch, Grant, RegisteredTable

WITHDRAWN = "withdrawn"


class Terms(NamedTuple):
    """One of a table's terms: what it is about, and what it means."""

    table: str
    subject: str
    meaning: str


def policy_terms(table: RegisteredTable) -> Terms:
    """What is sold: neither the source nor the person's column may be exchanged for another."""
    terms = _hashed(json.dumps([table.policy, table.domain, table.source]))
    return Terms(table.name, f"policy of {table.name}", terms)


def batch_terms(batch: Batch) -> Terms:
    """Whether a batch has a budget of its own, and where its records are."""
    terms = _hashed(json.dumps([bool(batch.disjoint), batch.source]))
    return Terms(batch.table, f"batch {batch.name} of {batch.table}", terms)


def grant_terms(given: Grant) -> Terms:
    terms = _hashed(json.dumps([given.columns, given.epsilon]))
    return Terms(given.table, f"grant of {given.table} to {given.member}", terms)


def bind(context: Context, session: Session, terms: Terms) -> None:
    """Write the terms into the chain."""
    context.book(session).bind(*terms)


def _hashed(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
