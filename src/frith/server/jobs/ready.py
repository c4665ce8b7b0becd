"""Whether this server can do its work: more than that its process is alive."""

from __future__ import annotations

import shutil
import threading
import time

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from frith.ledger.book import entry, head
from frith.ledger.database import StoreError
from frith.server.context import Context
from frith.server.jobs.upkeep import SEEN_SECONDS
from frith.server.schema import SeenWorker
from frith.server.watch import ChainState

_SEEN_LATELY = 3 * SEEN_SECONDS
_KEPT_SECONDS = 1.0


class Readiness:
    """The last result, kept for a second: anybody may ask, and each look costs a few queries."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: tuple[Context, float, dict[str, bool]] | None = None

    def look(self, context: Context) -> dict[str, bool]:
        """Whether the database answers, a worker was seen lately, and disk and ledger are in order."""
        with self._lock:
            if self._found is None or not self._is_fresh(context):
                self._found = (context, time.monotonic(), _look(context))
            return self._found[2]

    def _is_fresh(self, context: Context) -> bool:
        assert self._found is not None
        seen, at, _ = self._found
        return seen is context and time.monotonic() - at < _KEPT_SECONDS


def _look(context: Context) -> dict[str, bool]:
    try:
        with context.database.read() as session:
            found = {"workers": _workers(context, session), "ledger": _ledger(context, session)}
    except StoreError:
        found = {"database": False, "workers": False, "ledger": False}
    witness = {} if context.anchors is None else {"witness": context.watch.sees_witness}
    return {"database": True, **found, "disk": _disk(context), **witness}


def _workers(context: Context, session: Session) -> bool:
    last = session.scalar(select(func.max(SeenWorker.seen)))
    return last is not None and last > context.now(seconds=-_SEEN_LATELY)


def _disk(context: Context) -> bool:
    """Whether a SQLite database has room to grow; a PostgreSQL server's disk cannot be seen from here."""
    file = context.database.file
    if file is None:
        return True
    return shutil.disk_usage(file.absolute().parent).free >= context.settings.least_disk_bytes


def _ledger(context: Context, session: Session) -> bool:
    """Whether no verification found anything and the chain's head is its last entry; reads a few rows."""
    connection = session.connection()
    newest = select(entry.c.id, entry.c.hash).order_by(entry.c.id.desc()).limit(1)
    last = connection.execute(newest).first()
    said = connection.execute(select(head.c.entry, head.c.hash)).first()
    is_last = last is None or said == last
    return is_last and context.watch.state is not ChainState.BROKEN
