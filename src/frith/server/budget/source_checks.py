"""Sources of registrations are opened on threads of their own: few, and with a deadline.

A database that accepts a connection and never answers would otherwise block the thread that serves the
request, and forty such requests would block every thread of the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from frith.server.budget.places import Places
from frith.server.problems import invalid

LIMIT = 4
"""Sources that one process opens at once; one that hangs past its deadline still counts."""
_places = Places(LIMIT, "the server is opening several other sources; try again later")
T = TypeVar("T")


def in_time(check: Callable[[], T], seconds: float, by: str | None = None) -> T:
    """What `check` returns or raises, or a problem if it takes longer; 0 seconds mean no limit.

    `by` is the member who wants it, and has half of the places at most.
    """
    give_back = _places.take(by)
    found: Future[T] = Future()

    def work() -> None:
        try:
            found.set_result(check())
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            found.set_exception(error)
        finally:
            give_back()

    threading.Thread(target=work, daemon=True).start()
    try:
        return found.result(seconds or None)
    except TimeoutError:
        raise invalid(f"the source did not answer within {seconds:g} seconds") from None
