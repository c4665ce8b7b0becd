"""Information gain and gain ratio, from noisy tables: post-processing, so no sensitivity is needed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith.kernels.layout import Layout


def information_gain(tables: NDArray, layout: Layout) -> Floats:
    """The gain of every candidate at every node, in bits a record; negative counts are zero."""
    return _gains(tables, layout)[0]


def gain_ratio(tables: NDArray, layout: Layout) -> Floats:
    """Gain over the entropy of the split itself (C4.5); zero where a split parts nothing."""
    gain, split = _gains(tables, layout)
    return np.where(split > 1e-12, gain / np.maximum(split, 1e-12), 0.0)


def _gains(tables: NDArray, layout: Layout) -> tuple[Floats, Floats]:
    tables = np.maximum(tables, 0).astype(np.float64)
    gain = np.zeros((len(tables), layout.n_candidates))
    split = np.zeros_like(gain)
    for attribute, columns in enumerate(layout.columns):
        table = tables[:, layout.bins(attribute)]
        total = table.sum(axis=1)
        size = np.maximum(total.sum(axis=1), 1e-300)
        before = _bits(total)
        if layout.is_numeric(attribute):
            left = np.cumsum(table, axis=1)[:, :-1]
            right = total[:, None] - left
            after = _bits(left) + _bits(right)
            parts = np.stack([left.sum(axis=2), right.sum(axis=2)], axis=-1)
        else:
            after = _bits(table).sum(axis=1, keepdims=True)
            parts = table.sum(axis=2)[:, None, :]
        gain[:, columns] = (before[:, None] - after) / size[:, None]
        split[:, columns] = _bits(parts) / size[:, None]
    return gain, split


def _bits(counts: Floats) -> Floats:
    """n times the entropy of each row: phi(n) - sum phi(x) with phi(t) = t log2 t."""
    return _phi(counts.sum(axis=-1)) - _phi(counts).sum(axis=-1)


def _phi(t: Floats) -> Floats:
    return t * np.log2(np.maximum(t, 1e-300))
