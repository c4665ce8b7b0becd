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


_at_forks: Callable[..., None] = getattr(os, "register_at_fork", lambda **_: None)
"""A forked process has none of the other threads, and what they held stays locked there."""


def shared_lock() -> threading.Lock:
    """A lock of a module, free in every forked process."""
    lock = threading.Lock()
    _at_forks(after_in_child=lock._at_fork_reinit)  # type: ignore[attr-defined]
    return lock


_at_forks(after_in_child=_pool.cache_clear)


def _submit(work: Callable[[], T]) -> Future[T]:
    """What `work` will return. It is done at once if the pool has ended, as it does with the main thread."""
    try:
        return _pool().submit(work)
    except RuntimeError as error:
        if "shutdown" not in str(error):
            raise  # no thread could be started, but the work waits for one
    done: Future[T] = Future()
    done.set_result(work())
    return done


def on_threads(threads: int, work: Callable[[], T]) -> list[T]:
    """What `work` returns on so many threads at once, this one among them. It must not call this."""
    others: list[Future[T]] = []
    try:
        for _ in range(threads - 1):
            others.append(_submit(work))
        own = work()
    finally:
        wait(others)
    return [own, *(other.result() for other in others)]


def ahead(threads: int, tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """What tasks return, in their order; so many at a time are done before they are asked for."""
    waiting: deque[Future[T]] = deque()
    try:
        for task in tasks:
            waiting.append(_submit(task))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        wait(waiting)


class _BlasLimit:
    """Linear algebra on one thread while anybody is inside; it buys speed only, so it never fails.

    The setting is the process's. Each change has a short thread of its own: a library lets nobody else
    change a limit while the thread that made it lives, whoever leaves last is seldom the one who came
    first, and no interrupt reaches that thread.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()  # held by those short threads, and during a fork
        self._inside: set[object] = set()
        self._last: threading.Thread | None = None  # that made a change
        self._libraries: Any = None
        self._limit: Any = None  # it knows what was before
        _at_forks(
            before=self._lock.acquire,
            after_in_parent=self._lock.release,
            after_in_child=self._renew,
        )

    def enter(self, who: object) -> None:
        self._inside.add(who)
        self._update()

    def leave(self, who: object) -> None:
        self._inside.discard(who)
        self._update()

    def _renew(self) -> None:
        """Nobody is inside in a forked process, and what its parent had limited is as before."""
        self._lock.release()
        self._inside.clear()
        if self._limit is not None:
            self._update()

    def _update(self) -> None:
        with contextlib.suppress(RuntimeError):  # no thread can be started
            changes = threading.Thread(target=self._change, name="frith-blas")
            changes.start()
            changes.join()

    def _change(self) -> None:
        with self._lock, contextlib.suppress(Exception):
            if self._last is not None:
                self._last.join()
            self._last = threading.current_thread()
            if self._inside and self._limit is None:
                self._libraries = self._libraries or ThreadpoolController()
                self._limit = self._libraries.limit(limits=1, user_api="blas")
            elif not self._inside and self._limit is not None:
                limit, self._limit = self._limit, None
                limit.restore_original_limits()


_blas_limit = _BlasLimit()


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Linear algebra on one thread, because BLAS's own threads keep cores busy while they wait for more.

    A pass that follows would share its cores with them.
    """
    who = object()
    try:
        _blas_limit.enter(who)
        yield
    finally:
        _blas_limit.leave(who)
