"""Questions of a boosted forest: sums of how wrong the trees so far are, for two labels.

A record's score is the log-odds of the second label that earlier releases give it, in fixed point:
`POINT` units to one. Its probability is read from a table, `UNIT` to one, so that every sum is of
integers and every bound below holds exactly.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith._cached import cached_property
from frith._jit import compiled
from frith._threads import shared_lock
from frith.domain import Domain
from frith.domain.encoding import Batch
from frith.errors import FormatError
from frith.forest.leaf_tables import leaves_of
from frith.forest.trees import Trees
from frith.kernels.base import ColumnKernel
from frith.kernels.layout import Layout
from frith.kernels.pairs import PairedBins, paired_bins

Adder = Callable[[int, int, NDArray[np.int64]], None]
_one_at_a_time = shared_lock()
_NOTHING = np.empty(0, dtype=np.int32)
UNIT = 2**14
POINT = 2**16
_SHIFT = 8  # scores are rounded to POINT / 2**8 before the table is read
_REACH = 16 * POINT  # scores beyond are as sure as they get
_STEPS = np.arange((2 * _REACH >> _SHIFT) + 1) - (_REACH >> _SHIFT)
SIGMOID: NDArray[np.int32] = frozen(
    np.round(UNIT / (1 + np.exp(-(_STEPS << _SHIFT) / POINT))), np.int32
)
"""The probability of the second label by rounded score: non-decreasing, from 0 to UNIT."""


@compiled
def _place(score):  # type: ignore[no-untyped-def]
    """Where a score is in the table: the nearest entry, the same distance for either sign."""
    size = min(int(abs(np.int64(score))), _REACH)
    steps = (size + (1 << (_SHIFT - 1))) >> _SHIFT
    return (_REACH >> _SHIFT) + (steps if score >= 0 else -steps)


@functools.lru_cache(maxsize=1024)  # every part of a pass asks
def probability_of(score: int) -> int:
    """What the table holds for a score."""
    return int(SIGMOID[_place(score)])


@dataclass(frozen=True, eq=False)
class ScoreColumn(Rebuilt):
    """The score of every record: what its leaf in one more tree says, on top of an earlier column.

    A function of the record and of releases alone. `values` has one number a leaf, or one for
    every label.
    """

    tree: Trees
    values: NDArray[np.int32]
    before: ScoreColumn | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", frozen(self.values, np.int32))
        if self.values.ndim not in (1, 2) or len(self.values) != len(self.tree.leaves):
            raise FormatError("a column of scores has one row for each leaf of its tree")
        if self.before is not None and self.before.values.shape[1:] != self.values.shape[1:]:
            raise FormatError("a column of scores adds to one of the same shape")

    def check(self, domain: Domain, n_scores: int | None) -> None:
        """Raise unless every tree below is one of the domain, with so many scores a leaf."""
        if self.values.shape[1:] != (() if n_scores is None else (n_scores,)):
            raise FormatError("a column of scores has another number of scores than is asked for")
        column: ScoreColumn | None = self
        while column is not None and column.__dict__.get("_legal_for") is not domain:
            if type(column) is not ScoreColumn or type(column.tree) is not Trees:
                raise FormatError("a column of scores stands on others like it, and on their trees")
            if column.tree.n_trees != 1:
                raise FormatError("a column of scores adds one tree at a time")
            column.tree.check(domain)
            object.__setattr__(column, "_legal_for", domain)
            column = column.before

    @cached_property
    def attributes(self) -> tuple[int, ...]:
        earlier = self.before.attributes if self.before else ()
        return tuple(sorted({*self.tree.asked, *earlier}))

    def compute(self, batch: Batch) -> NDArray[np.int32]:
        missing: list[ScoreColumn] = [self]
        while missing[-1].before is not None and missing[-1].before not in batch.derived:
            missing.append(missing[-1].before)
        known = missing[-1].before
        if known is None:
            scores = np.zeros((len(batch), *self.values.shape[1:]), dtype=np.int32)
        else:
            scores = batch.derived[known] if batch.in_place else batch.derived[known].copy()
        paired = next((p for p in batch.derived if isinstance(p, PairedBins)), None)
        for column in reversed(missing):
            found = None if paired is None else column.by_pair(paired)
            if paired is None or found is None:
                column.add_to(batch.codes, scores)
            else:
                pair, added = found
                _add_by_place(batch.derived[paired], pair, added, scores)
        return scores

    def by_pair(self, paired: PairedBins) -> tuple[int, NDArray[np.int32]] | None:
        """`paired.scores_of` this column, looked for once."""
        with _one_at_a_time:  # threads of a pass come to it together
            if self.__dict__.get("_by_pair", (None, None))[0] is not paired:
                found = paired.scores_of(self.tree, self.values)
                object.__setattr__(self, "_by_pair", (paired, found))
            by_pair: tuple[int, NDArray[np.int32]] | None = self.__dict__["_by_pair"][1]
            return by_pair

    def add_to(self, codes: NDArray[Any], scores: NDArray[np.int32]) -> None:
        """Add what the tree says of each encoded record."""
        add = _add_scores if scores.ndim == 1 else _add_rows
        add(leaves_of(self.tree, codes), self.values, scores)


@compiled
def _add_by_place(places, pair, added, out):  # type: ignore[no-untyped-def]
    for i in range(len(out)):
        out[i] += added[places[i, pair]]


@compiled
def _add_scores(leaves, values, out):  # type: ignore[no-untyped-def]
    for i in range(len(leaves)):
        out[i] += values[leaves[i]]


@compiled
def _add_rows(leaves, values, out):  # type: ignore[no-untyped-def]
    for i in range(len(leaves)):
        for k in range(out.shape[1]):
            out[i, k] += values[leaves[i], k]


@dataclass(frozen=True, eq=False)
class BinSums(Rebuilt):
    """Sums in every bin of every attribute; a record adds at most `max_gradient`, in L1, to one bin each."""

    layout: Layout
    column: ScoreColumn

    @property
    def domain(self) -> Domain:
        return self.layout.domain

    @property
    def max_gradient(self) -> int:
        return UNIT

    @property
    def attributes(self) -> tuple[int, ...]:
        return tuple(range(len(self.layout.domain.attributes)))

    @property
    def derived(self) -> tuple[ColumnKernel, ...]:
        return (self.column,)

    @property
    def l1(self) -> int:
        return len(self.attributes) * self.max_gradient

    @property
    def l2_squared(self) -> int:
        return len(self.attributes) * self.max_gradient**2


@dataclass(frozen=True, eq=False)
class GradientSums(BinSums):
    """In every bin of every attribute, the sum of y - p of its records, clipped to +-`max_gradient`.

    That is +-`clip`, or less where p, read from a non-decreasing table at a score of at most `reach`
    either way, cannot be so far off.
    """

    reach: int
    clip: int

    def __post_init__(self) -> None:
        _check_labels(self.domain)
        self.column.check(self.domain, None)

    @property
    def shape(self) -> tuple[int]:
        return (self.layout.n_bins,)

    @property
    def max_gradient(self) -> int:
        widest = max(UNIT - probability_of(-self.reach), probability_of(self.reach))
        return max(1, min(self.clip, widest))

    @cached_property
    def helpers(self) -> tuple[PairedBins, ...]:
        """Columns that make it faster where an engine keeps them."""
        paired = paired_bins(self.layout)
        return () if paired is None else (paired,)

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        for paired in self.helpers:
            if paired in batch.derived:
                _sum_pairs(
                    0, len(batch), 0, _NOTHING, batch.derived[paired], batch.labels,
                    batch.derived[self.column], SIGMOID, self.max_gradient, self.layout.starts,
                    paired.arrays, out,
                )  # fmt: skip
                return
        lookup, begins = self.layout.lookup
        _sum_gradients(
            batch.codes, batch.labels, batch.derived[self.column], SIGMOID, self.max_gradient,
            lookup, begins, out,
        )  # fmt: skip

    def adder(
        self, labels: NDArray[Any], kept: Mapping[Any, NDArray[Any]], is_pending: bool
    ) -> Adder | None:
        """What adds the records from one row to another by one compiled loop; None if it takes more.

        `kept` are the derived columns of all records. With `is_pending`, the scores are those before
        the last tree, which the loop brings up to date where they are.
        """
        paired = next((p for p in self.helpers if p in kept), None)
        before = self.column.before if is_pending else self.column
        if paired is None or before not in kept:
            return None
        found = self.column.by_pair(paired) if is_pending else (0, _NOTHING)
        if found is None:
            return None
        places, scores, most = kept[paired], kept[before], self.max_gradient
        (pair, added), starts, tables = found, self.layout.starts, paired.arrays

        def add(start: int, stop: int, out: NDArray[np.int64]) -> None:
            _sum_pairs(
                start, stop, pair, added, places, labels, scores, SIGMOID, most, starts, tables, out
            )

        return add


@dataclass(frozen=True, eq=False)
class Cells(Rebuilt):
    """Sums in every leaf of one tree that no record moves by more than UNIT, in L1."""

    tree: Trees
    column: ScoreColumn
    domain: Domain

    def check_tree(self, n_scores: int | None) -> None:
        """Raise unless this is one tree of the domain, over a column of such scores."""
        self.tree.check(self.domain)
        if self.tree.n_trees != 1:
            raise FormatError("cells are those of one tree")
        self.column.check(self.domain, n_scores)

    @property
    def attributes(self) -> tuple[int, ...]:
        return self.tree.asked

    @property
    def derived(self) -> tuple[ColumnKernel, ...]:
        return (self.column,)

    @property
    def l1(self) -> int:
        return UNIT

    @property
    def l2_squared(self) -> int:
        return UNIT**2


@dataclass(frozen=True, eq=False)
class CellSums(Cells):
    """In every leaf of one tree, the sums of y - p and of p (1 - p) over its records.

    A record is in one leaf. With q the probability of its own label, it moves the two sums by at
    most (1 - q) + q (1 - q) = 1 - q^2 <= 1 together: the curvature is free. In squared L2,
    (1 - q)^2 (1 + q^2) <= 1. In units: p (1 - p) is rounded down, so both bounds hold in integers.
    """

    def __post_init__(self) -> None:
        _check_labels(self.domain)
        self.check_tree(None)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.tree.leaves), 2

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        leaves = leaves_of(self.tree, batch.codes)
        _sum_cells(leaves, batch.labels, batch.derived[self.column], SIGMOID, out)


def _check_labels(domain: Domain) -> None:
    if domain.n_labels != 2:
        raise FormatError(f"these sums are for two labels, and the domain has {domain.n_labels}")


@compiled
def _sum_gradients(codes, labels, scores, table, max_gradient, lookup, begins, out):  # type: ignore[no-untyped-def]
    """By code in 32 bits, which `block` records cannot fill, and then by bin."""
    of_codes = np.zeros(len(lookup), dtype=np.int32)
    block = (2**31 - 1) // max_gradient
    for start in range(0, len(codes), block):
        of_codes[:] = 0
        for i in range(start, min(start + block, len(codes))):
            g = np.int64(labels[i]) * UNIT - table[_place(scores[i])]
            g = np.int32(min(max(g, -max_gradient), max_gradient))
            for a in range(codes.shape[1]):
                of_codes[np.uint64(begins[a]) + np.uint64(codes[i, a])] += g
        for code in range(len(lookup)):
            out[lookup[code]] += of_codes[code]


@compiled
def _sum_pairs(  # type: ignore[no-untyped-def]
    first_row, end, pair, added, places, labels, scores, table, max_gradient, starts, tables, out
):
    """By pairs of bins in 32 bits, which `block` records cannot fill, and then by bin.

    Before that, every record's score gets what is added for its place in a pair, if anything is.
    """
    adds = len(added) > 0
    last = len(tables) - 1
    rows = starts[tables[last, 0] + 1] - starts[tables[last, 0]]
    cells = np.empty(tables[last, 3] + rows * tables[last, 2], dtype=np.int32)
    begins = tables[:, 3].astype(np.uint64)
    block = (2**31 - 1) // max_gradient
    for start in range(first_row, end, block):
        cells[:] = 0
        for i in range(start, min(start + block, end)):
            if adds:
                scores[i] += added[places[i, pair]]
            g = np.int64(labels[i]) * UNIT - table[_place(scores[i])]
            g = np.int32(min(max(g, -max_gradient), max_gradient))
            for p in range(places.shape[1]):
                cells[begins[p] + np.uint64(places[i, p])] += g
        for p in range(len(tables)):
            first, second, width, cell = tables[p]
            for row in range(starts[first], starts[first + 1]):
                for k in range(width):
                    out[row] += cells[cell]
                    if second >= 0:
                        out[starts[second] + k] += cells[cell]
                    cell += 1


@compiled
def _sum_cells(leaves, labels, scores, table, out):  # type: ignore[no-untyped-def]
    for i in range(len(leaves)):
        p = np.int64(table[_place(scores[i])])
        out[leaves[i], 0] += np.int64(labels[i]) * UNIT - p
        out[leaves[i], 1] += p * (UNIT - p) // UNIT
