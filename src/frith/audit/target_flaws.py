"""Learners of a number with one flaw each, for audits of the audit alone; `twins.Residuals` has none."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.audit.subjects import open_in_memory
from frith.audit.twins import Residuals
from frith.domain import Domain, Numeric
from frith.domain.encoding import Batch
from frith.engines.base import Engine
from frith.forest.trees import find_leaf
from frith.kernels import ResidualCells, TargetCounts
from frith.kernels.gradients import UNIT
from frith.kernels.residuals import HALF, tilt_of


def open_with_own_bounds(table: Any, domain: Domain) -> Engine:
    """Opens a table with its own least and largest target as bounds."""
    name = domain.target.name
    seen = [t for t in table[name] if isinstance(t, float) and np.isfinite(t)] or [0.0]
    low, high = min(seen), max(seen)
    bounds = Numeric(name, low, high if high > low else low + 1, cells=domain.target.cells)
    return open_in_memory(table, replace(domain, label=bounds))


class ExactScale(Residuals):
    """Clips at the exact end of the targets: one record moves the residuals of the others."""

    def width(self, curator: Any) -> int:
        held = np.flatnonzero(curator.exact_counts(TargetCounts(curator.domain)))
        return HALF * (1 + int(np.ptp(held))) // 32 if len(held) else HALF


class Unclipped(ResidualCells):
    """States the sensitivity of clipped residuals and adds unclipped ones."""

    def add(self, batch: Batch, out: NDArray[np.int64]) -> None:
        tree, cells = self.tree, self.domain.target.cells
        distance = (2 * batch.labels.astype(np.int64) + 1) * HALF // cells - HALF
        for i, g in enumerate((distance * UNIT // self.width).tolist()):
            out[find_leaf(batch.codes, i, tree.roots[0], tree.nodes, tree.sets), 0] += g


class UnclippedMeans(Residuals):
    kernel = Unclipped

    def width(self, curator: Any) -> int:
        return HALF // 8


class Untold(ResidualCells):
    """Tilted residuals at the price of plain ones."""

    @property
    def l1(self) -> int:
        return UNIT

    @property
    def l2_squared(self) -> int:
        return UNIT**2


class UntoldTilt(Residuals):
    kernel = Untold
    tilt = tilt_of(950)
