"""The threads that passes over records share: started once, because a step of a fit is a pass."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import TypeVar

from threadpoolctl import ThreadpoolController

T = TypeVar("T")
_MOST = 256


@functools.cache
def _pool() -> ThreadPoolExecutor:
    """Starts a thread only when none is idle."""
    return ThreadPoolExecutor(_MOST, thread_name_prefix="frith")


def in_every_child(renew: Callable[[], object]) -> None:
    """Do this after a fork: threads do not live on there, and what they held stays locked."""
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=renew)


def shared_lock() -> threading.Lock:
    """A lock of a module, free in every forked process."""
    lock = threading.Lock()
    in_every_child(lock._at_fork_reinit)  # type: ignore[attr-defined]
    return lock


in_every_child(_pool.cache_clear)


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


@functools.cache
def _libraries() -> ThreadpoolController:
    return ThreadpoolController()


class _BlasLimit:
    """Linear algebra on one thread while anybody is inside.

    The setting is the process's. One thread of its own makes it and takes it back, because libraries
    let only the thread that made a limit end it, and whoever leaves last is seldom the one who came first.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._keeper = ThreadPoolExecutor(1, thread_name_prefix="frith-blas")
        self._limit = contextlib.ExitStack()

    def _make(self) -> None:
        self._limit.enter_context(_libraries().limit(limits=1, user_api="blas"))

    def enter(self) -> None:
        with self._lock:
            if not self._inside:
                self._keeper.submit(self._make).result()
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if not self._inside:
                self._keeper.submit(self._limit.close).result()


_blas_limit = functools.cache(_BlasLimit)
in_every_child(_blas_limit.cache_clear)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one thread, because BLAS's own threads keep cores busy while they wait for more.

    A pass that follows would share its cores with them.
    """
    limit = _blas_limit()
    limit.enter()
    try:
        yield
    finally:
        limit.leave()
