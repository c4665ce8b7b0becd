"""Bins of attributes two by two, so that one addition to a table of a pair does for both.

The sums of an attribute's bins are those of the rows, or of the columns, of its pair's table. An engine
that keeps a record's places between passes (memory) adds half as often.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from frith._cached import cached_property
from frith._jit import compiled
from frith._threads import shared_lock
from frith.domain.encoding import Batch
from frith.forest.leaf_tables import leaves_of
from frith.forest.trees import Trees
from frith.kernels.layout import Layout

_one_at_a_time = shared_lock()
_MAX_CELLS = 2**16  # a place in a pair's table has 16 bits, and all tables fit a core's cache


class Table(NamedTuple):
    """A pair: two attributes (the second -1 if one is left over), its second's bins, its first cell."""

    first: int
    second: int
    width: int
    begin: int


def paired_bins(layout: Layout) -> PairedBins | None:
    """One for each layout; None if it has too many bins."""
    with _one_at_a_time:
        if "_paired" not in layout.__dict__:
            object.__setattr__(layout, "_paired", PairedBins(layout))
        paired: PairedBins = layout.__dict__["_paired"]
        return paired if paired.tables else None


@dataclass(frozen=True)
class PairedBins:
    """The place of every record in the table of each pair of attributes: records x pairs."""

    layout: Layout

    @property
    def attributes(self) -> tuple[int, ...]:
        return tuple(range(len(self.layout.domain.attributes)))

    @cached_property
    def tables(self) -> list[Table]:
        """The attribute of fewest bins with that of most, and so on; empty if they are too many."""
        sizes = np.diff(self.layout.starts).tolist()
        order = sorted(range(len(sizes)), key=sizes.__getitem__)
        tables, cells = [], 0
        while order:
            first = order.pop(0)
            second = order.pop() if order else -1
            width = sizes[second] if second >= 0 else 1
            tables.append(Table(first, second, width, cells))
            cells += sizes[first] * width
        return tables if cells <= _MAX_CELLS else []

    def compute(self, batch: Batch) -> NDArray[np.uint16]:
        places = np.empty((len(batch), len(self.tables)), dtype=np.uint16)
        within, begins = self._lookup
        _place_pairs(batch.codes, within, begins, self.arrays, places)
        return places

    def scores_of(
        self, tree: Trees, values: NDArray[np.int32]
    ) -> tuple[int, NDArray[np.int32]] | None:
        """A pair, and what the values of a tree's leaves add in each of its cells; None if no pair tells.

        One does where the tree asks for one attribute, and tells no two codes of a bin apart.
        """
        if len(tree.asked) != 1 or values.ndim != 1:
            return None
        (attribute,) = tree.asked
        codes = np.zeros((self.layout.domain.attributes[attribute].size, attribute + 1), np.int32)
        codes[:, attribute] = np.arange(len(codes))
        added = values[leaves_of(tree, codes)]
        pair = next(i for i, t in enumerate(self.tables) if attribute in (t.first, t.second))
        lookup, begins = self.layout.lookup
        begin = int(begins[attribute])
        bins = lookup[begin : begin + len(added)] - self.layout.starts[attribute]
        by_bin = added[np.searchsorted(bins, np.arange(int(bins[-1]) + 1))]
        if not np.array_equal(by_bin[bins], added):
            return None
        first, _, width, _ = self.tables[pair]
        rows = int(np.diff(self.layout.starts)[first])
        if attribute == first:
            return pair, np.repeat(by_bin, width)
        return pair, np.tile(by_bin, rows)

    @cached_property
    def arrays(self) -> NDArray[np.int64]:
        """The tables as compiled loops read them."""
        return np.array(self.tables, dtype=np.int64).reshape(-1, 4)

    @cached_property
    def _lookup(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The bin of each code within its attribute, and where each attribute begins."""
        lookup, begins = self.layout.lookup
        sizes = np.diff(np.append(begins, len(lookup)))
        return lookup - np.repeat(self.layout.starts[:-1], sizes).astype(np.int32), begins


@compiled
def _place_pairs(codes, within, begins, tables, out):  # type: ignore[no-untyped-def]
    for i in range(len(codes)):
        for p in range(len(tables)):
            first, second = tables[p, 0], tables[p, 1]
            place = within[begins[first] + codes[i, first]]
            if second >= 0:
                place = place * tables[p, 2] + within[begins[second] + codes[i, second]]
            out[i, p] = place
