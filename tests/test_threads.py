"""Threads that passes share, and those of linear algebra."""

import os
import signal
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from frith import _threads
from frith._threads import one_blas_thread, shared_lock
from frith.growing import cell_means, posterior


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def give_blas(threads: int) -> None:
    """From a thread that ends at once: while it lived, nobody else could change that again."""
    giver = threading.Thread(
        target=threadpool_limits, kwargs={"limits": threads, "user_api": "blas"}
    )
    giver.start()
    giver.join()


@pytest.fixture
def two_threads():
    (before,) = blas_threads()
    give_blas(2)
    if blas_threads() != {2}:
        pytest.skip("linear algebra has no two threads here")
    yield
    give_blas(before)


@pytest.mark.usefixtures("two_threads")
def test_linear_algebra_has_its_threads_again_when_the_last_one_leaves():
    first, second = one_blas_thread(), one_blas_thread()
    with first:
        second.__enter__()
    assert blas_threads() == {1}  # the second is still inside
    last = threading.Thread(target=second.__exit__, args=(None, None, None))
    last.start()
    last.join()
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
def test_an_error_inside_gives_the_threads_back():
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {2}


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("of", ["cholesky", "eigh"])
def test_values_of_cells_are_solved_on_one_thread(monkeypatch, of):
    """Threads that wait for the next matrix take cores from the next pass over the records."""
    solve, seen = getattr(np.linalg, of), []

    def watched(*arguments):
        seen.append(blas_threads())
        return solve(*arguments)

    monkeypatch.setattr(np.linalg, of, watched)
    signs = np.array([[1], [-1]])
    sums, sizes = np.array([1.0, -1.0]), np.array([10.0, 10.0])
    if of == "eigh":
        cell_means.cell_means(sums, sizes, 1.0, [np.outer(signs, signs).astype(float)])
    else:
        posterior.cell_values(sums, sizes, 1.0, posterior.alike_by_answer(signs))
    assert seen
    assert all(threads == {1} for threads in seen)


@pytest.mark.usefixtures("two_threads")
def test_many_threads_may_come_and_go():
    """Whoever is inside has one thread, and afterwards all of them are back."""
    seen, start = [], threading.Barrier(8)

    def work() -> None:
        start.wait()
        for _ in range(50):
            with one_blas_thread():
                seen.append(blas_threads())

    others = [threading.Thread(target=work) for _ in range(8)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert seen == [{1}] * 400
    assert blas_threads() == {2}


def in_a_fork(work) -> int:
    """The exit code of a child that does this; one that waits for ever is ended by a signal."""
    child = os.fork()
    if not child:
        code = 1
        try:
            signal.alarm(20)
            code = 0 if work() else 2
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_fork_finds_no_lock_held_and_nobody_inside():
    def enters_and_leaves() -> bool:
        with one_blas_thread():
            inside = _threads._blas_limit()._inside
        return inside == 1 and not _threads._blas_limit()._inside

    with _threads._blas_limit()._lock:  # as if another thread were about to enter
        assert in_a_fork(enters_and_leaves) == 0
    with one_blas_thread():
        assert in_a_fork(enters_and_leaves) == 0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_lock_of_a_module_is_free_in_a_fork():
    lock = shared_lock()
    with lock:
        assert in_a_fork(lambda: lock.acquire(timeout=10)) == 0
