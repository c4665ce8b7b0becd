"""Notices to the holder of the records: what a fit saw that would surprise whoever declared the domain.

A notice is no release: it comes after the charge, is never kept with a forest, and goes to the standard
error stream of the process that holds the records, not through `warnings` or a log, which others capture,
store or turn into errors. Workers say nothing. Nothing here raises, whatever the records hold.
"""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections.abc import Callable, Sequence

_TITLE = "frith: about your records, for you alone; saved output is a publication:"
_NEXT = "`frith check`, in Python frith.check(table, domain), counts it; fit(..., notices=False) is silent."


def tell(find: Callable[[], Sequence[str]]) -> None:
    """Write what `find` finds to stderr, or do nothing."""
    try:
        if _is_worker():
            return
        notices = find()
        if notices:
            lines = [_TITLE, *(f"  - {notice}" for notice in notices), f"  {_NEXT}"]
            sys.stderr.write("\n".join(lines) + "\n")
            sys.stderr.flush()
    except Exception:  # noqa: BLE001 - an error here would be an answer about a record
        pass


def _is_worker() -> bool:
    """Whether this is a process or a thread that another one started, as joblib's are."""
    in_main = threading.current_thread() is threading.main_thread()
    return not in_main or multiprocessing.current_process().name != "MainProcess"
