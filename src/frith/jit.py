"""One way to compile a kernel: no GIL, no fast math, and a cache only where one can be written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """`numba.njit` that releases the GIL; a read-only install without a home compiles in memory."""
    try:
        return cast(F, numba.njit(nogil=True, cache=True)(function))
    except RuntimeError:  # numba found no folder it may write its cache to
        return cast(F, numba.njit(nogil=True)(function))
