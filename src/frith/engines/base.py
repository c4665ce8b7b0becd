"""The interface of an engine: exact sums over one table, on the curator's side."""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping

import numpy as np
from numpy.typing import NDArray

from frith._jit import available_threads
from frith._threads import on_threads
from frith.domain import Domain
from frith.domain.columns import Columns
from frith.domain.encoding import Batch
from frith.kernels.base import ColumnKernel, Kernel, add_batch

Task = Callable[[], Batch]
"""Makes one encoded batch; called on a worker thread."""

Raw = Callable[[], Iterator[tuple[Columns, int]]]
"""Reads raw records part by part: their columns and their number."""


class Engine(ABC):
    """Exact sums over one table. Adds no noise and holds no budget.

    Sums are integers, so the answer is the same for any batching, number of threads and order of
    records. `assumptions` state what must be true of the source for a guarantee to hold; `types` are
    the types of the declared columns when the engine was opened, if the source states any.

    Opening looks at names, types, footers and a CSV file's header line, all of them public, and
    never at a record, a count or a statistic: a charge comes between opening and the first pass.
    """

    assumptions: tuple[str, ...] = ()
    types: Mapping[str, str] = {}

    def __init__(self, domain: Domain, threads: int | None = None):
        self.domain = domain
        self.threads = max(1, threads or available_threads())

    @abstractmethod
    def aggregate(self, kernel: Kernel) -> NDArray[np.int64]:
        """`kernel.add(batch, out)` over all batches; zeros of `kernel.shape` if there are none."""

    def derive(self, column: ColumnKernel) -> None:  # noqa: B027 - an engine may have no room
        """Keep a derived column for later passes if there is room; other engines recompute it."""

    def peek(self) -> Raw | None:
        """How to read the raw records for their holder; None if that is costly. Reads nothing yet."""
        return None


class LocalEngine(Engine):
    """Records that pass through this process, counted on its threads."""

    @abstractmethod
    def tasks(self, attributes: tuple[int, ...]) -> Iterator[Task]:
        """The table's batches, with at least these attributes encoded."""

    def aggregate(self, kernel: Kernel) -> NDArray[np.int64]:
        tasks = self.tasks(needed_attributes(kernel))
        first = list(itertools.islice(tasks, 2))
        threads = self.threads if len(first) > 1 else 1  # one batch needs no others
        tasks, lock = itertools.chain(first, tasks), threading.Lock()

        def work() -> NDArray[np.int64]:
            out = np.zeros(kernel.shape, dtype=np.int64)
            while True:
                with lock:
                    task = next(tasks, None)
                if task is None:
                    return out
                add_batch(kernel, task(), out)

        return np.sum(on_threads(threads, work), axis=0, dtype=np.int64)


OTHER_TYPES = "its columns are not of the types that it was registered with"


def differ(found: Mapping[str, str], fixed: Mapping[str, str] | None) -> bool:
    """Whether a column has another type than the one that was fixed for it."""
    return fixed is not None and any(fixed.get(name) != kind for name, kind in found.items())


def needed_attributes(kernel: Kernel) -> tuple[int, ...]:
    """The attributes that a pass must encode for the kernel and its derived columns."""
    derived = (a for column in kernel.derived for a in column.attributes)
    return tuple(sorted({*kernel.attributes, *derived}))
