"""How likely records were held to have a label, and whether they have it: what scores are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith.domain import Attribute, Domain, Numeric
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest import Forest
from frith.kernels.base import ColumnKernel

QUARTERS = 4
_VOTED_ROWS = 4_096  # records whose probabilities are held at once
_FEW = 16  # cells of a number up to which each is a group of its own


@dataclass(frozen=True, eq=False)
class ScoreCounts(Rebuilt):
    """Records by group, by bin of the probability that a forest gives one label, by whether they have it.

    A probability p is in bin i where edges[i - 1] < p <= edges[i]. The forest is made of releases, and
    bins and groups are public; what a record's bin is follows from that record alone. So a record is
    in one cell, whatever the forest: L1 = 1 and squared L2 = 1. `by` is an attribute, or None for one
    group of all records.
    """

    forest: Forest
    positive: int
    edges: NDArray[np.float64]
    by: int | None = None
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()
    l1: ClassVar[int] = 1
    l2_squared: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", frozen(self.edges, np.float64))
        if self.edges.ndim != 1 or not np.all(np.diff(self.edges) > 0):
            raise FormatError("bins have edges that rise")
        _check(self.domain, self.positive, self.by)

    @property
    def domain(self) -> Domain:
        return self.forest.domain

    @property
    def shape(self) -> tuple[int, int, int]:
        return n_groups(self.domain, self.by), len(self.edges) + 1, 2

    @property
    def attributes(self) -> tuple[int, ...]:
        return tuple(sorted({*self.forest.trees.asked, *(() if self.by is None else (self.by,))}))

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        bins = np.empty(len(batch), dtype=np.int64)
        for start in range(0, len(batch), _VOTED_ROWS):
            rows = slice(start, start + _VOTED_ROWS)
            chances = self.forest.proba_of_codes(batch.codes[rows], threads=1)
            bins[rows] = np.searchsorted(self.edges, chances[:, self.positive])
        _add_cells(batch, bins, self.domain, self.by, self.positive, out)


@dataclass(frozen=True, eq=False)
class BinCounts(Rebuilt):
    """Records by group, by bin of a column that holds bins, by whether they have one label.

    For what was predicted by something else than a forest. `bins` has the bin of each code of the
    attribute. A record has one code, so it is in one cell: L1 = 1 and squared L2 = 1.
    """

    domain: Domain
    attribute: int
    bins: NDArray[np.int64]
    positive: int
    by: int | None = None
    derived: ClassVar[tuple[ColumnKernel, ...]] = ()
    l1: ClassVar[int] = 1
    l2_squared: ClassVar[int] = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", frozen(self.bins, np.int64))
        _check(self.domain, self.positive, self.by, self.attribute)
        size = self.domain.attributes[self.attribute].size
        if self.bins.shape != (size,) or not np.all((self.bins >= 0) & (self.bins < size)):
            raise FormatError("every code of the column has a bin, and there are no more bins")

    @property
    def shape(self) -> tuple[int, int, int]:
        return n_groups(self.domain, self.by), int(self.bins.max()) + 1, 2

    @property
    def attributes(self) -> tuple[int, ...]:
        return tuple(sorted({self.attribute, *(() if self.by is None else (self.by,))}))

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        bins = self.bins[batch.codes[:, self.attribute]]
        _add_cells(batch, bins, self.domain, self.by, self.positive, out)


def n_groups(domain: Domain, by: int | None) -> int:
    """How many groups an attribute divides records into."""
    return 1 if by is None else int(_groups(domain.attributes[by]).max()) + 1


def _groups(attribute: Attribute) -> NDArray[np.int64]:
    """The group of each code: its value; of a fine grid, the quarter of it, and missing apart."""
    codes = np.arange(attribute.size)
    if not isinstance(attribute, Numeric) or attribute.cells <= _FEW:
        return codes
    return codes * QUARTERS // attribute.cells  # the code of missing is the number of cells


def _add_cells(
    batch: Batch,
    bins: NDArray[Any],
    domain: Domain,
    by: int | None,
    positive: int,
    out: NDArray[np.int64],
) -> None:
    groups = 0 if by is None else _groups(domain.attributes[by])[batch.codes[:, by]]
    cells = (groups * out.shape[1] + bins) * 2 + (batch.labels == positive)
    out += np.bincount(cells, minlength=out.size).reshape(out.shape)


def _check(domain: Domain, positive: object, *attributes: object) -> None:
    n_attributes = len(domain.attributes)
    if type(positive) is not int or not 0 <= positive < len(domain.label_values):
        raise FormatError("scores are about a label of the domain")
    for a in attributes:
        if a is not None and (type(a) is not int or not 0 <= a < n_attributes):
            raise FormatError("records are grouped by an attribute of the domain")
