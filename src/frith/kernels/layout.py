"""Which splits a level may choose from: bins of every attribute, and candidates over them.

All of it is public: a layout follows from the domain and the cuts a learner takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Rebuilt, frozen
from frith._cached import cached_property
from frith.domain import Domain, Numeric
from frith.errors import FormatError

MAX_LOG_WEIGHT = 32
"""The logarithm of the most that an attribute may weigh in a choice."""


def equal_width_cuts(domain: Domain, bins: int) -> tuple[NDArray[np.int32], ...]:
    """For each numeric attribute the cuts of its grid into `bins` equal parts, missing apart."""
    return tuple(
        _equal_width(a, bins) if isinstance(a, Numeric) else np.empty(0, dtype=np.int32)
        for a in domain.attributes
    )


def _equal_width(attribute: Numeric, bins: int) -> NDArray[np.int32]:
    cuts = np.unique(np.arange(1, bins) * attribute.cells // bins)
    cuts = cuts[(cuts > 0) & (cuts < attribute.cells)]
    return np.append(cuts, [attribute.cells] if attribute.missing else []).astype(np.int32)


def mixed_cuts(domain: Domain, bins: int = 32) -> tuple[NDArray[np.int32], ...]:
    """For each numeric attribute the cuts of `bins` equal parts, and 10 either way that halve towards zero.

    Where zero is outside the bounds they halve towards the bound that is nearer to it. Skewed
    numbers (amounts, durations, counts) crowd there, and no record is needed to guess it.
    """
    return tuple(
        _mixed(a, bins) if isinstance(a, Numeric) else np.empty(0, dtype=np.int32)
        for a in domain.attributes
    )


def _mixed(attribute: Numeric, bins: int) -> NDArray[np.int32]:
    center, halves = min(max(0.0, attribute.low), attribute.high), 0.5 ** np.arange(1, 11)
    below, above = center - attribute.low, attribute.high - center
    numbers = np.concatenate([center - below * halves, center + above * halves])
    near = np.searchsorted(attribute.edges, numbers, side="left") + 1
    at = int(np.searchsorted(attribute.edges, center, side="right")) + 1  # just above the center
    cuts = np.unique(np.concatenate([_equal_width(attribute, bins), near, [at]]))
    return cuts[(cuts > 0) & (cuts < attribute.size)].astype(np.int32)


@dataclass(frozen=True, eq=False)
class Layout(Rebuilt):
    """Bins of all attributes side by side, and the candidate splits in domain order.

    A categorical attribute has one bin a value and is one candidate, a split into all its values.
    A numeric attribute has one bin between neighboring cuts, and every cut is a candidate.
    `log_weights` are public advantages of attributes in private choices that the flagship makes; none
    are given where all weigh the same.
    """

    domain: Domain
    cuts: tuple[NDArray[np.int32], ...]
    log_weights: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if len(self.cuts) != len(self.domain.attributes):
            raise FormatError("a layout has cuts for every attribute")
        object.__setattr__(self, "cuts", tuple(frozen(c, np.int32) for c in self.cuts))
        for cuts, attribute in zip(self.cuts, self.domain.attributes, strict=True):
            inside = cuts.ndim == 1 and np.all((cuts > 0) & (cuts < attribute.size))
            if not inside or np.any(np.diff(cuts) <= 0):
                raise FormatError("a layout's cuts are ascending codes of their attribute")
            if len(cuts) and not isinstance(attribute, Numeric):
                raise FormatError("a layout has cuts of numeric attributes only")
        if len(self.log_weights) not in (0, len(self.cuts)) or not all(
            abs(w) <= MAX_LOG_WEIGHT for w in self.log_weights
        ):
            raise FormatError(
                f"a layout's attributes weigh e^-{MAX_LOG_WEIGHT} to e^{MAX_LOG_WEIGHT}, each of them"
            )

    @cached_property
    def advantages(self) -> NDArray[np.float64]:
        """The logarithm of each attribute's public weight."""
        return frozen(self.log_weights or np.zeros(len(self.cuts)), np.float64)

    def is_numeric(self, attribute: int) -> bool:
        return isinstance(self.domain.attributes[attribute], Numeric)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        """The first bin of each attribute, and the number of bins at the end."""
        sizes = [
            len(cuts) + 1 if self.is_numeric(a) else self.domain.attributes[a].size
            for a, cuts in enumerate(self.cuts)
        ]
        return frozen(np.concatenate([[0], np.cumsum(sizes)]), np.int64)

    @property
    def n_bins(self) -> int:
        return int(self.starts[-1])

    def bins(self, attribute: int) -> slice:
        return slice(int(self.starts[attribute]), int(self.starts[attribute + 1]))

    @cached_property
    def lookup(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The bin of every code of every attribute in one array, and where each attribute begins."""
        parts = []
        for a, attribute in enumerate(self.domain.attributes):
            codes = np.arange(attribute.size)
            within = (
                np.searchsorted(self.cuts[a], codes, side="right") if self.is_numeric(a) else codes
            )
            parts.append(self.starts[a] + within)
        begins = np.concatenate([[0], np.cumsum([len(p) for p in parts])[:-1]])
        return frozen(np.concatenate(parts), np.int32), frozen(begins, np.int64)

    # -- candidates ----------------------------------------------------------------------------

    @cached_property
    def columns(self) -> tuple[slice, ...]:
        """The candidates of each attribute."""
        counts = [len(cuts) if self.is_numeric(a) else 1 for a, cuts in enumerate(self.cuts)]
        ends = np.cumsum(counts)
        return tuple(slice(int(e - c), int(e)) for e, c in zip(ends, counts, strict=True))

    @property
    def n_candidates(self) -> int:
        return self.columns[-1].stop

    @cached_property
    def attribute_of(self) -> NDArray[np.int32]:
        """The attribute of each candidate."""
        counts = [c.stop - c.start for c in self.columns]
        return frozen(np.repeat(np.arange(len(counts)), counts), np.int32)

    @cached_property
    def cut_of(self) -> NDArray[np.int32]:
        """The cut of each candidate, -1 for a split into all values."""
        parts = [c if self.is_numeric(a) else np.array([-1]) for a, c in enumerate(self.cuts)]
        return frozen(np.concatenate(parts), np.int32)
