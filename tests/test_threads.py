"""Threads that passes share, and those of linear algebra."""

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from frith._threads import one_blas_thread
from frith.growing import cell_means, posterior


def blas_threads() -> set[int]:
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(limits=2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this machine has one core for linear algebra")
        yield


def test_linear_algebra_has_its_threads_again_when_the_last_one_leaves():
    first, second = one_blas_thread(), one_blas_thread()
    with first:
        second.__enter__()
    assert blas_threads() == {1}  # the second is still inside
    second.__exit__(None, None, None)
    assert blas_threads() == {2}


def test_an_error_inside_gives_the_threads_back():
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert blas_threads() == {2}


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
