"""Threads that passes share, and those of linear algebra."""

import contextlib
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pyarrow as pa
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from frith import Categorical, Domain, Numeric, _threads
from frith._cached import cached_property
from frith._threads import on_threads, one_blas_thread, shared_lock
from frith.domain.encoding import encode_records
from frith.engines import MemoryEngine, memory
from frith.growing import cell_means, posterior
from frith.kernels import RecordCount


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


forks = pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")


@contextlib.contextmanager
def meanwhile(work, *, until: threading.Event):
    """Another thread does this, which sets the event, and then what follows is done beside it."""
    other = threading.Thread(target=work)
    other.start()
    assert until.wait(20)
    yield
    other.join()


def enters_and_leaves() -> bool:
    before = blas_threads()
    with one_blas_thread():
        inside = blas_threads()
    return (before, inside, blas_threads()) == ({2}, {1}, {2})


@forks
@pytest.mark.usefixtures("two_threads")
def test_a_fork_finds_nobody_inside():
    """Linear algebra has all its threads there, whoever was inside."""
    with one_blas_thread():
        assert in_a_fork(enters_and_leaves) == 0
    inside, leave = threading.Event(), threading.Event()

    def stays() -> None:
        with one_blas_thread():
            inside.set()
            leave.wait()

    with meanwhile(stays, until=inside):
        assert blas_threads() == {1}
        assert in_a_fork(enters_and_leaves) == 0
        assert blas_threads() == {1}  # in this process the other one is still inside
        leave.set()
    assert blas_threads() == {2}


@forks
@pytest.mark.usefixtures("two_threads")
def test_forks_while_threads_come_and_go():
    begun, stop = threading.Event(), threading.Event()

    def comes_and_goes() -> None:
        while not stop.is_set():
            with one_blas_thread():
                begun.set()

    with meanwhile(comes_and_goes, until=begun), meanwhile(comes_and_goes, until=begun):
        codes = [in_a_fork(enters_and_leaves) for _ in range(10)]
        stop.set()
    assert codes == [0] * 10
    assert blas_threads() == {2}


@forks
@pytest.mark.usefixtures("two_threads")
def test_threads_that_come_first_share_one_limit():
    """They come first in a fork; of two limits the second would take one thread for what was before."""

    def come_first() -> bool:
        sys.setswitchinterval(1e-6)
        start = threading.Barrier(8)

        def work() -> None:
            start.wait()
            with one_blas_thread():
                pass

        others = [threading.Thread(target=work) for _ in range(8)]
        for other in others:
            other.start()
        for other in others:
            other.join()
        return blas_threads() == {2}

    assert [in_a_fork(come_first) for _ in range(10)] == [0] * 10


@pytest.mark.usefixtures("two_threads")
def test_an_interrupt_on_the_way_in_gives_the_threads_back():
    """At each line in turn, until the way in has no more lines."""
    line, reached = 0, False

    def interrupts(frame, event, _):
        nonlocal left
        if frame.f_code.co_filename != _threads.__file__:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                sys.settrace(None)
                raise KeyboardInterrupt
        return interrupts

    while not reached:
        line, tracer = line + 1, sys.gettrace()
        left = line
        try:
            sys.settrace(interrupts)
            with one_blas_thread():
                sys.settrace(tracer)
                reached = True
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(tracer)
        assert blas_threads() == {2}, line
    assert line > 3


def test_a_limit_that_cannot_be_made_is_no_error(monkeypatch):
    """It buys speed only, and by then the fit is charged."""
    monkeypatch.setattr(threading.Thread, "start", fails)
    with one_blas_thread():
        pass
    monkeypatch.undo()
    monkeypatch.setattr(_threads, "ThreadpoolController", fails)
    monkeypatch.setattr(_threads._blas_limit, "_libraries", None)
    with one_blas_thread():
        pass


def fails(*_):
    raise RuntimeError("can't start new thread")


def test_a_thread_that_outlives_the_main_one_does_its_work():
    code = """
import threading
from frith._threads import ahead, on_threads, one_blas_thread

def late():
    threading.main_thread().join()
    with one_blas_thread():
        rest = iter(range(100))
        print(sum(on_threads(4, lambda: sum(rest))), list(ahead(2, [lambda: 1, lambda: 2])))

on_threads(2, lambda: None)  # its threads wait for more
threading.Thread(target=late).start()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ("4950 [1, 2]\n", "")


def test_work_that_no_thread_could_be_started_for_is_an_error(monkeypatch):
    """The pool keeps it for its next thread: nobody may do it a second time."""
    monkeypatch.setattr(_threads._pool(), "submit", fails)
    with pytest.raises(RuntimeError, match="start new thread"):
        on_threads(2, lambda: None)


@forks
def test_a_lock_of_a_module_is_free_in_a_fork():
    lock = shared_lock()
    with lock:
        assert in_a_fork(lambda: lock.acquire(timeout=10)) == 0


@forks
def test_a_table_that_another_thread_encodes_holds_up_no_fork(monkeypatch):
    """It did on Python 3.11: there a cached property of the standard library has one lock for all."""
    encodes, go = threading.Event(), threading.Event()

    def slow(*arguments, **options):
        if threading.current_thread() is not threading.main_thread():
            encodes.set()
            go.wait()
        return encode_records(*arguments, **options)

    def count() -> bool:
        table = {"age": [20, 30, 40], "label": ["a", "b", "a"]}
        domain = Domain([Numeric("age", 0, 100)], Categorical("label", ("a", "b")))
        return MemoryEngine(pa.table(table), domain).aggregate(RecordCount()).tolist() == [3]

    assert count()  # loads what it needs
    monkeypatch.setattr(memory, "encode_records", slow)
    with meanwhile(count, until=encodes):
        assert in_a_fork(count) == 0
        go.set()


def test_threads_that_compute_a_property_at_once_get_the_same_object():
    both = threading.Barrier(2, timeout=10)

    class Thing:
        @cached_property
        def part(self) -> object:
            both.wait()
            return object()

    thing, got = Thing(), []
    others = [threading.Thread(target=lambda: got.append(thing.part)) for _ in range(2)]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert got == [thing.part] * 2
