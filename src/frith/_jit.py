"""One way to compile a kernel: no GIL, no fast math, and a cache only where one can be written.

Threads are Python's, as many as there are cores.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])

LOOPS: list[Any] = []
"""Every compiled function that was imported."""


def compiled(function: F) -> F:
    """`numba.njit` that releases the GIL; a read-only install without a home compiles in memory."""
    try:
        loop = numba.njit(nogil=True, cache=True)(function)
    except RuntimeError:  # numba found no folder it may write its cache to
        loop = numba.njit(nogil=True)(function)
    LOOPS.append(loop)
    return cast(F, loop)


def available_threads() -> int:
    """The cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
