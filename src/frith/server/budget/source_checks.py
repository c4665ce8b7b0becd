"""Sources of registrations are opened on threads of their own: few, and with a deadline.

A database that accepts a connection and never answers would otherwise block the thread that serves the
request, and forty such requests would block every thread of the server.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import TypeVar

from frith.client.kinds import ProblemCode
from frith.server.problems import Problem, invalid

LIMIT = 4
"""Sources that one process opens at once; one that hangs past its deadline still counts."""
_WAIT = 10  # seconds of Retry-After
_places = threading.BoundedSemaphore(LIMIT)
T = TypeVar("T")


def in_time(check: Callable[[], T], seconds: float) -> T:
    """What `check` returns or raises, or a problem if it takes longer; 0 seconds mean no limit."""
    if not _places.acquire(blocking=False):
        raise Problem(
            ProblemCode.TOO_MANY,
            "the server is opening several other sources; try again later",
            wait=_WAIT,
        )
    found: Future[T] = Future()

    def work() -> None:
        try:
            found.set_result(check())
        except BaseException as error:  # noqa: BLE001 - raised where the result is awaited
            found.set_exception(error)
        finally:
            _places.release()

    threading.Thread(target=work, daemon=True).start()
    try:
        return found.result(seconds or None)
    except TimeoutError:
        raise invalid(f"the source did not answer within {seconds:g} seconds") from None
