"""A ledger's account in a notebook: what is left, and its last entries."""

from __future__ import annotations

from collections.abc import Sequence

from frith._markup import card, lines, table
from frith.ledger.entries import Receipt
from frith.ledger.state import State
from frith.privacy.exact import readable
from frith.privacy.promise import amounts

_ENTRIES = 20  # the last ones are shown


def ledger_html(state: State, account: str, entries: Sequence[Receipt]) -> str:
    """Amounts are in the account's unit: epsilon, or rho where its budget has a delta."""
    budget = state.budget
    words = [
        f"budget: {amounts(budget.epsilon, budget.delta)}",
        f"left: {state.unit} {readable(state.remaining)}",
    ]
    if state.neighbors is not None:
        words.append(f"neighbors: {state.neighbors}")
    last = entries[-_ENTRIES:]
    rows = [
        (str(e.id), e.at[:16], e.kind.word, e.purpose, readable(e.amount), readable(e.spent))
        for e in last
    ]
    head = ("entry", "time", "kind", "purpose", state.unit, "spent in all")
    if len(entries) > len(last):
        words.append(f"the last {len(last)} of {len(entries):,} entries:")
    return card(f"Ledger, account {account!r}", lines(*words), table(head, rows, (4, 5)))
