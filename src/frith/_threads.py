"""The threads that passes over records share: started once, because a step of a fit is a pass."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
_MOST = 256


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """Starts a thread only when none is idle."""
    return ThreadPoolExecutor(_MOST, thread_name_prefix="frith")


if hasattr(os, "register_at_fork"):  # threads do not live on in a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)


def on_threads(threads: int, work: Callable[[], T]) -> list[T]:
    """What `work` returns on so many threads at once, this one among them. It must not call this."""
    if threads == 1:
        return [work()]
    others = [_pool().submit(work) for _ in range(threads - 1)]
    try:
        own = work()
    finally:
        wait(others)
    return [own, *(other.result() for other in others)]


def ahead(threads: int, tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """What tasks return, in their order; so many at a time are done before they are asked for."""
    waiting: deque[Future[T]] = deque()
    try:
        for task in tasks:
            waiting.append(_pool().submit(task))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        wait(waiting)


_limit_lock = threading.Lock()
_limited: list[Any] = []
"""One entry for everybody inside `one_blas_thread`; the first is the limit that holds."""


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one thread, because BLAS's own threads keep cores busy while they wait for more.

    A pass that follows would share its cores with them. The setting is the process's: the first to
    enter makes it, and the last to leave takes it back.
    """
    with _limit_lock:
        limit = None if _limited else _libraries().limit(limits=1, user_api="blas")
        _limited.append(limit)
    try:
        yield
    finally:
        with _limit_lock:
            if len(_limited) > 1:
                _limited.pop()
            else:
                _limited.pop().restore_original_limits()
