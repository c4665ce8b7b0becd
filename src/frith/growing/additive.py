"""Additive trees for many labels: few noisy tables, shrunk as their known noise demands.

choose m attributes by how many records their values' most common labels get right
release their tables, value x label
shrink each table towards independence; a tree for each holds how its values favor labels
choose one factor for all of these effects, by how many records it gets right
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.fft import dct
from scipy.sparse import csr_array, identity

from frith._arrays import Floats
from frith.curator import CuratorLike
from frith.forest.trees import Trees
from frith.growing.builder import TreeBuilder, single_leaf
from frith.growing.parts import Part
from frith.kernels import (
    AttributeChoice,
    CorrectChoice,
    CorrectCounts,
    SplitCounts,
    SplitTables,
)
from frith.kernels.layout import Layout

CHOICES = Fraction(15, 100)
TEMPERATURE = Fraction(8, 100)
FACTORS = np.array([0, 3, 6, 10, 14, 20])
"""The factors to choose from, in tenths; at 0 the label shares alone predict."""
_POINT = 2**16
_POOLED = 20.0  # how many cells the strength of other attributes' signals is worth
_SMOOTHING = 0.1
_EVERY_VALUE = 99  # the band of an attribute without an order


@dataclass
class AdditiveTables:
    """The algorithm above; everything it keeps is public or released."""

    curator: CuratorLike
    layout: Layout
    n_records: int

    def learn(self, n_asked: int, share: Fraction, with_temperature: bool) -> list[Part]:
        """Trees worth `share` of the budget."""
        kept = TEMPERATURE * share if with_temperature else Fraction(0)
        asked = self._choose(n_asked, CHOICES * (share - kept))
        tables = self.curator.noisy_counts(
            SplitTables(self._tables(asked)),
            share - kept - (CHOICES * (share - kept) if n_asked < len(self._useful) else 0),
            "labels by value",
        )
        parts = [tables.values[0, self.layout.bins(a)].astype(np.float64) for a in asked]
        shares = label_shares(parts, tables.variance, self.n_records)
        ordered = [self.layout.is_numeric(a) for a in asked]
        effects, noise = shrunk_effects(parts, ordered, shares, tables.variance, self.n_records)
        factor = self._temperature(asked, shares, effects, kept) if with_temperature else 1.0
        scaled = [(factor * e, factor**2 * v) for e, v in zip(effects, noise, strict=True)]
        total = tables.variance / sum(1 / len(table) for table in parts)
        start = np.array([np.mean(total / (shares * self.n_records) ** 2)])
        return self._parts(asked, Part(single_leaf(), np.log(shares)[None], start), scaled)

    @property
    def _useful(self) -> list[int]:
        """The attributes that can tell records apart; the first one where none can."""
        return [a for a, x in enumerate(self.layout.domain.attributes) if x.size > 1] or [0]

    def _tables(self, asked: list[int]) -> SplitCounts:
        asks = np.zeros((1, len(self.layout.domain.attributes)), dtype=bool)
        asks[0, asked] = True
        return SplitCounts(single_leaf(), self.layout, np.zeros(1, dtype=np.int64), asks)

    def _choose(self, count: int, share: Fraction) -> list[int]:
        """Peeling: one after the other, each from those that are left."""
        left = self._useful
        if count >= len(left):
            return left
        kernel, chosen = self._tables(left), []
        for i in range(count):
            attributes = AttributeChoice(kernel, tuple(left))
            pick = self.curator.choose(attributes, share / count, f"table {i + 1}")
            chosen.append(left.pop(pick))
        return chosen

    def _temperature(
        self, asked: list[int], shares: Floats, effects: list[Floats], share: Fraction
    ) -> float:
        scores = np.zeros((self.layout.n_bins, len(shares)), dtype=np.int64)
        for a, effect in zip(asked, effects, strict=True):
            scores[self.layout.bins(a)] = np.round(effect * _POINT)
        start = np.round(10 * _POINT * np.log(shares)).astype(np.int64)
        kernel = CorrectCounts(self.layout, tuple(asked), start, scores, FACTORS)
        pick = self.curator.choose(CorrectChoice(kernel), share, "temperature")
        return float(FACTORS[pick]) / 10

    def _parts(
        self, asked: list[int], start: Part, effects: list[tuple[Floats, Floats]]
    ) -> list[Part]:
        """A leaf with the label shares, and a tree for each attribute that corrects them."""
        parts = [start]
        for a, (effect, noise) in zip(asked, effects, strict=True):
            tree, bin_of_leaf = bin_tree(self.layout, a)
            parts.append(Part(tree, effect[bin_of_leaf], noise[bin_of_leaf]))
        return parts


def bin_tree(layout: Layout, attribute: int) -> tuple[Trees, NDArray[np.int64]]:
    """A tree with a leaf for every bin of an attribute, and the bin of each leaf in order.

    Values of a category split at once; numbers by halving their cuts.
    """
    builder = TreeBuilder()
    if not layout.is_numeric(attribute):
        size = layout.domain.attributes[attribute].size
        builder.split(0, attribute, branches=size)
        return builder.trees(), np.arange(size)
    cuts, bins = layout.cuts[attribute], {}
    todo = [(0, 0, len(cuts))]  # a node and the bins low .. high that it stands for
    for node, low, high in todo:
        bins[node] = low
        if low < high:
            middle = (low + high) // 2
            left, right = builder.split(node, attribute, int(cuts[middle]))
            todo += [(left, low, middle), (right, middle + 1, high)]
    trees = builder.trees()
    return trees, np.array([bins[leaf] for leaf in trees.leaves.tolist()])


# -- post-processing ---------------------------------------------------------------------------


def label_shares(tables: list[Floats], variance: float, n_records: int) -> Floats:
    """The tables' label totals, averaged by inverse variance, shrunk towards equal shares."""
    n_labels = tables[0].shape[1]
    weights = np.array([1 / len(t) for t in tables])
    spread = variance / weights.sum()
    totals = sum(w * t.sum(axis=0) for w, t in zip(weights / weights.sum(), tables, strict=True))
    off = totals - n_records / n_labels
    kept = max(0.0, 1 - n_labels * spread / max(float((off**2).sum()), 1e-9))
    totals = np.maximum(n_records / n_labels + kept * off, 0.02 * n_records / n_labels)
    return np.asarray(totals / totals.sum())


def shrunk_effects(
    tables: list[Floats], ordered: list[bool], shares: Floats, variance: float, n_records: int
) -> tuple[list[Floats], list[Floats]]:
    """How each value favors each label, as centered log ratios; and the variance of their noise.

    What a table holds beyond independence is taken apart by frequency along an ordered attribute,
    and each band kept by the share of it that is signal (a Wiener filter). The signal's strength
    is pooled over attributes, since one table says little about it.
    """
    labels = shares * len(shares)
    both = [
        _waves(len(table)) if has_order else _values(len(table))
        for table, has_order in zip(tables, ordered, strict=True)
    ]
    bases, bands = [basis for basis, _ in both], [band for _, band in both]
    sizes = [
        _shrunk_sizes(t.sum(axis=1), basis, band, variance * len(shares), n_records)
        for t, basis, band in zip(tables, bases, bands, strict=True)
    ]
    expected = [size[:, None] * shares for size in sizes]
    beyond = [b @ (t - e) for b, t, e in zip(bases, tables, expected, strict=True)]
    found: dict[int, float] = {}
    room: dict[int, float] = {}
    for table, band in zip(beyond, bands, strict=True):
        for b in np.unique(band):
            part = table[band == b]
            found[b] = found.get(b, 0.0) + float(((part**2 - variance) * labels).sum())
            room[b] = room.get(b, 0.0) + len(part) * float((labels**2).sum())
    strength = {b: max(0.0, found[b] / room[b]) for b in found}
    effects, noise = [], []
    for basis, band, table, mean in zip(bases, bands, beyond, expected, strict=True):
        kept = np.zeros_like(table)
        for b in np.unique(band):
            part = table[band == b]
            own = float(((part**2 - variance) * labels).sum())
            cells = len(part) * float((labels**2).sum())
            power = max(0.1 * strength[b], (own + _POOLED * strength[b]) / (cells + _POOLED))
            signal = power * labels
            kept[band == b] = signal / (signal + max(variance, 1e-9))
        more = basis.T @ (table * kept)
        smooth = _SMOOTHING * np.sqrt(variance) * labels * kept.mean() + 0.5
        ratio = np.log((np.maximum(mean + more, 0) + smooth) / (mean + smooth))
        effects.append(ratio - (ratio * shares).sum(axis=1, keepdims=True))
        error = np.sqrt(variance * (basis.T**2 @ kept**2))  # of what is kept, the noise
        # A tangent would be steep where a cell is nearly empty; the logarithm one error either way is not.
        ends = [np.log(np.maximum(mean + more + e, 0) + smooth) for e in (-error, error)]
        noise.append((((ends[1] - ends[0]) / 2) ** 2).mean(axis=1))
    return effects, noise


def _shrunk_sizes(
    sizes: Floats, basis: Floats, band: NDArray[np.int64], variance: float, n_records: int
) -> Floats:
    """The records of each value: towards equal sizes, band by band, as far as noise explains them."""
    mean = n_records / len(sizes)
    waves = basis @ (sizes - mean)
    power, count = np.empty(len(band)), np.empty(len(band))
    for b in np.unique(band):
        here = band == b
        power[here], count[here] = (waves[here] ** 2).sum(), here.sum()
    kept = np.maximum(0, 1 - count * variance / np.maximum(power, 1e-9))
    if band[-1] != _EVERY_VALUE:
        kept = np.maximum.accumulate(kept[::-1])[::-1]
    shrunk = np.maximum(mean + basis.T @ (waves * kept), 0.05 * mean)
    return np.asarray(shrunk / shrunk.sum() * n_records)


def _values(size: int) -> tuple[Any, NDArray[np.int64]]:
    """Without an order, each value stands for itself."""
    return csr_array(identity(size)), np.full(size, _EVERY_VALUE)


def _waves(size: int) -> tuple[Floats, NDArray[np.int64]]:
    """The cosine transform, its rows waves and the first one constant; and the band of each."""
    return dct(np.eye(size), axis=0, norm="ortho"), _bands(size)


def _bands(size: int) -> NDArray[np.int64]:
    """Frequencies 0 | 1 | 2 | 3, 4, 5 | 6 .. 11 | ...: each as wide as all before it."""
    bands = np.zeros(size, dtype=np.int64)
    low, width, number = 1, 1, 1
    while low < size:
        bands[low : low + width] = number
        low += width
        width = low if low > 2 else 1
        number += 1
    return bands
