"""What a kernel is: a sum over records that knows how far one record can move it."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.domain.encoding import Batch

MAX_CELLS = 2**24
"""The public cap on the cells of one question, checked before anything is charged."""
MAX_RECORDS = 2**48
"""Every guarantee assumes fewer records than this. No sum of integers then leaves 64 bits: no
kernel adds as much as 2^15 of a record to one cell."""


class ColumnKernel(Protocol):
    """An integer for every record, from its codes alone."""

    @property
    def attributes(self) -> tuple[int, ...]: ...

    def compute(self, batch: Batch) -> NDArray[Any]: ...


class Kernel(Protocol):
    """A sum over records."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The public shape of the answer."""
        ...

    @property
    def attributes(self) -> tuple[int, ...]:
        """The attributes it reads, so that engines read no others."""
        ...

    @property
    def derived(self) -> tuple[ColumnKernel, ...]:
        """The derived columns it reads."""
        ...

    @property
    def l1(self) -> int:
        """The most one record changes the answer in L1."""
        ...

    @property
    def l2_squared(self) -> int:
        """The most one record changes the answer in squared L2."""
        ...

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        """Add the batch's records to `out` in place."""
        ...


def add_batch(kernel: Kernel, batch: Batch, out: NDArray[np.int64]) -> None:
    """Add one batch to `out`, after computing the derived columns that it does not have yet."""
    for column in kernel.derived:
        if column not in batch.derived:
            batch.derived[column] = column.compute(batch)
    kernel.add(batch, out)
