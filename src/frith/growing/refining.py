"""An oblivious tree with more cuts than were chosen: choices cost budget, cells hardly any.

All of it is public: the tree follows from the chosen splits and the layout.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith.growing.oblivious import ObliviousTree
from frith.kernels.layout import Layout
from frith.kernels.splits import BinarySplit

_SPACING = (3, 6, 10, 15, 2, 4, 8)  # steps between a chosen cut and the next that is added
_STEPS = 35  # so many steps across an attribute, whatever the number of its cuts
_OF_CHOSEN = 0.2  # how much the chosen cuts alone say of how alike two cells are


@dataclass(frozen=True, eq=False)
class RefinedTree:
    """The chosen splits first, then cuts around them while there are at most `max_cells` cells."""

    layout: Layout
    chosen: tuple[BinarySplit, ...]
    tree: ObliviousTree
    added: tuple[int, ...]  # the attribute of every cut after the chosen splits

    @classmethod
    def grow(cls, layout: Layout, chosen: list[BinarySplit], max_cells: float) -> RefinedTree:
        own = _own_cuts(layout, chosen)
        cuts = {a: set(places) for a, places in own.items()}
        groups = math.prod(_groups(layout, chosen, a) for a in _asked(chosen) if a not in cuts)
        for spacing in _SPACING:
            for a, places in own.items():
                count = len(layout.cuts[a])
                step = spacing * max(1, round(count / _STEPS))
                near = {k + e for k in places for e in (-step, step) if 0 <= k + e < count}
                wider = cuts | {a: cuts[a] | near}
                if groups * math.prod(len(c) + 1 for c in wider.values()) <= max_cells:
                    cuts = wider
        tree, added = ObliviousTree(layout.domain), []
        for split in chosen:
            tree.ask(split)
        for a in cuts:
            for place in sorted(cuts[a] - own[a]):
                tree.ask(BinarySplit(a, cut=int(layout.cuts[a][place])))
                added.append(a)
        return cls(layout, tuple(chosen), tree, tuple(added))

    @property
    def chosen_signs(self) -> NDArray[np.int64]:
        """For each leaf, on which side of each chosen split it is: +1 or -1."""
        return self._signs[:, : len(self.chosen)]

    @property
    def _signs(self) -> NDArray[np.int64]:
        signs = self.tree.signs
        return signs.reshape(len(signs), -1)

    def likeness(self) -> list[Floats]:
        """For each attribute how alike two leaves are: from 1, the same side of every cut, to -1."""
        signs, by = self._signs, [s.attribute for s in self.chosen] + list(self.added)
        found = []
        for a in _asked(list(self.chosen)):
            every = np.array([i for i, asked in enumerate(by) if asked == a])
            chosen = every[every < len(self.chosen)]
            alike = _mean_product(signs[:, chosen])
            if self.layout.is_numeric(a):
                alike = _OF_CHOSEN * alike + (1 - _OF_CHOSEN) * _mean_product(signs[:, every])
            found.append(alike)
        return found


def _asked(chosen: list[BinarySplit]) -> list[int]:
    return list(dict.fromkeys(s.attribute for s in chosen if s.attribute >= 0))


def _own_cuts(layout: Layout, chosen: list[BinarySplit]) -> dict[int, set[int]]:
    """The places of the chosen cuts among the layout's, by numeric attribute."""
    own: dict[int, set[int]] = {}
    for split in chosen:
        if split.attribute >= 0 and layout.is_numeric(split.attribute):
            place = int(np.searchsorted(layout.cuts[split.attribute], split.cut))
            own.setdefault(split.attribute, set()).add(place)
    return own


def _groups(layout: Layout, chosen: list[BinarySplit], attribute: int) -> int:
    """How many groups of a categorical attribute's values the chosen splits tell apart."""
    size = layout.domain.attributes[attribute].size
    sides = [s.left(size) for s in chosen if s.attribute == attribute]
    return len(np.unique(np.array(sides), axis=1).T)


def _mean_product(signs: NDArray[np.int64]) -> Floats:
    return np.asarray(signs @ signs.T / signs.shape[1], dtype=np.float64)
