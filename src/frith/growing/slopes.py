"""Slopes beside a cut: numbers further away from it are taken to lean further its way.

Post-processing of a chosen cut. Few steps leave many records with the same score. Most numbers have
one direction, so the distance from a cut tells such records apart at no cost.
"""

from __future__ import annotations

import numpy as np

from frith._arrays import Floats
from frith.domain import Numeric
from frith.forest.trees import Trees
from frith.growing.additive import bin_tree
from frith.kernels.layout import Layout
from frith.kernels.splits import BinarySplit

_DISTANCES = np.array([1, 3, 7, 15])
"""Where the slope changes, in bins to either side of the cut."""
_HEIGHTS = np.array([-0.8, -0.3, 0.1, 0.5, 0.7])
"""How far a bin at each distance is above what the step says; near the cut it is below."""


def slope_of(layout: Layout, split: BinarySplit) -> tuple[Trees, Floats] | None:
    """A tree of the bins around a cut, and what its leaves add to a step of size 1.

    None where a split is no cut of a number: values of a category have no distance, and neither has
    a missing number.
    """
    a = split.attribute
    if a < 0 or not layout.is_numeric(a):
        return None
    attribute, cuts = layout.domain.attributes[a], layout.cuts[a]
    assert isinstance(attribute, Numeric)
    if split.cut == attribute.cells:
        return None
    place = int(np.searchsorted(cuts, split.cut))
    near = place + np.concatenate([-_DISTANCES[::-1], [0], _DISTANCES])
    near = near[(near >= 0) & (near < np.searchsorted(cuts, attribute.cells))]
    kept = [*layout.cuts]
    kept[a] = np.append(cuts[near], cuts[cuts == attribute.cells])
    tree, bin_of_leaf = bin_tree(Layout(layout.domain, tuple(kept)), a)
    middle = int(np.searchsorted(near, place))
    left, right = _HEIGHTS[middle::-1], -_HEIGHTS[: len(near) - middle]
    missing = np.zeros(len(kept[a]) - len(near))
    return tree, np.concatenate([left, right, missing])[bin_of_leaf]
