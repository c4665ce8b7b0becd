"""One budget for all that a process learns: `with frith.budget(epsilon=1)`, or a ledger by FRITH_LEDGER."""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # a database: not needed without a ledger
    from frith.ledger import Ledger

VARIABLE = "FRITH_LEDGER"
"""The environment variable that names a ledger for every fit."""

_blocks: list[tuple[int, Ledger]] = []
"""The open blocks of the process, the innermost last, each with the process that opened it."""


@contextmanager
def budget(
    epsilon: Any, delta: Any = 0, *, records_per_person: int | None = None
) -> Iterator[Ledger]:
    """Charge every fit, update and release inside the block to one budget, in all threads.

    A fit that asks for more than is left is refused before a record is read. A block inside another
    one draws from it: what is charged to the inner is charged to the outer in the same step, as it is
    to the ledger that the variable FRITH_LEDGER names. An estimator that is pickled inside the block,
    as joblib does for its workers, takes the budget along. An estimator's own `ledger=` is charged as
    well. What is spent was spent, also where a fit fails or a process is killed.

    Parameters
    ----------
    epsilon : int, float, str or Fraction
        What the block may spend in all.
    delta : int, float, str or Fraction, default=0
        Above 0 for a budget that is kept in rho, which fits with and without a delta draw from.
    records_per_person : int or None, default=None
        None for fits that protect single records; otherwise the `records` of the domain's `Person`.

    Yields
    ------
    Ledger
        The budget: `spent`, `remaining` and `entries()`, also after the block.

    Examples
    --------
    >>> import frith
    >>> X, y, domain = frith.datasets.load("tic_tac_toe")
    >>> with frith.budget(epsilon=1) as left:
    ...     model = frith.ForestClassifier(domain, epsilon=0.25).fit(X, y)
    >>> print(left.remaining)
    3/4
    """
    from frith.ledger import Ledger

    terms = {"epsilon": epsilon, "delta": delta, "records_per_person": records_per_person}
    outer = ledger_for(None)
    if outer is None:
        ledger = _temporary(terms)
    else:
        account = f"{outer.account}/{secrets.token_hex(4)}"
        Ledger.create(outer.place, account=account, **terms)
        ledger = Ledger(outer.place, account, within=(*outer.within, outer.account))
    block = (os.getpid(), ledger)
    _blocks.append(block)
    try:
        yield ledger
    finally:
        _blocks.remove(block)


def ledger_for(own: str | Path | None, captured: Ledger | None = None) -> Ledger | None:
    """What a fit is charged to: its own ledger, and that of the session it is in.

    `captured` is the session in which the estimator was pickled. It counts where this process has
    opened no block: in a worker, that is.
    """
    if own is None and captured is None and not _blocks and not os.environ.get(VARIABLE):
        return None
    from frith.ledger import Ledger

    session = _named(captured)
    if own is None:
        return session
    ledger = Ledger(own)
    if session is None:
        return ledger
    if str(session) == str(ledger) and ledger.account in (*session.within, session.account):
        return session
    return Ledger(own, also=session)


def _named(captured: Ledger | None) -> Ledger | None:
    """The ledger of the session: of this process's own block, else the captured one, else inherited."""
    from frith.ledger import Ledger

    process, innermost = next(reversed(_blocks), (0, None))
    if innermost is not None and process == os.getpid():
        return innermost
    if captured is not None:
        return captured
    place = os.environ.get(VARIABLE)
    return innermost or (Ledger(place) if place else None)


def _temporary(terms: dict[str, Any]) -> Ledger:
    """A ledger in a file that lives as long as somebody in this process can ask for it."""
    from frith.ledger import Ledger

    folder = tempfile.mkdtemp(prefix="frith-budget-")
    ledger = Ledger.create(Path(folder, "budget.db"), account="budget", **terms)
    weakref.finalize(ledger, shutil.rmtree, folder, ignore_errors=True)
    return ledger
