"""How good predictions of a label are on a curator's records: one noisy histogram, and what it says.

Claim    Every interval here holds the value on the scored records, exactly computed, with probability
         at least 95%, over the noise; those of one calibration curve, or of one rate in all groups of
         an attribute, hold together.
Proof    *Bins.* A record in a bin has a probability between two public edges, so what it adds to a sum
         of losses lies between the losses at those edges. The value is between two ratios of sums
         of counts with public weights. Each has a Fieller interval (`forest.intervals`), symmetric
         in the noise: its lower end is above with at most half the chance, and so is the upper end
         below. The interval is from the lower end of the one to the upper end of the other.
         *Rates* have the same sums for both, and no bins.
         *AUC* is A / (P N): P records have the label, N have not, and A counts the pairs of both that
         are in order. Pairs in one bin count 0 in one bound and 1 in the other. Noise X on P's bins and Y
         on N's is independent, so A - v P N, of noisy counts, has mean 0 at the value v. With g and h
         the sums that X and Y are multiplied by, its variance is s^2 (|g|^2 + |h|^2 + F) for noise of
         variance s^2, where F is the part that is of X times Y. The squares of the noisy g and h, which
         are used, have a mean of |g|^2 + |h|^2 + 2 F: the noise is never thought smaller than it is.
         That A - v P N stays within the same number of deviations as a sum does is proven where
         F is small beside the rest, and measured elsewhere (docs/results/private_scores.md).
Assumes  Counts as released, and at least one record with the label and one without.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats, frozen
from frith._cached import cached_property
from frith._documents import reading
from frith.curator.estimates import Estimate, aligned, estimate, ratio, read_variance, whole_numbers
from frith.curator.group_rates import GroupCounts
from frith.domain import Categorical, Value, spelling
from frith.errors import FormatError
from frith.forest.intervals import LEVEL, fieller, noise_factor, ratio_interval
from frith.privacy.guarantee import Guarantee

FORMAT = "frith-label-score/1"
METRICS = ("accuracy", "auc", "log_loss", "brier", "calibration")
CLIP = 1e-3
"""Log losses are of probabilities that are at least this, and at most 1 less this."""
HALF = 0.5
_CURVE = 10  # the most points of a calibration curve


@dataclass(frozen=True)
class CurvePoint:
    """Records whose probability is between two edges, and the share of them that has the label."""

    low: float
    high: float
    share: Estimate
    records: int


@dataclass(frozen=True, eq=False)
class LabelScore:
    """Released counts of records, by bin of a probability and by whether they have a label.

    Holds no unreleased number. The probability is that of `positive`; with more than two labels,
    everything is about that label against all others. The label is predicted where its probability
    is over 1/2.
    """

    positive: Value
    edges: Floats
    counts: NDArray[np.int64]
    variance: float
    guarantee: Guarantee
    metrics: tuple[str, ...] = METRICS
    groups: tuple[GroupCounts, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "edges", frozen(self.edges, np.float64))
        object.__setattr__(self, "counts", frozen(self.counts, np.int64))

    @cached_property
    def accuracy(self) -> Estimate:
        """The share of records for which the label is predicted if they have it, and is not if not."""
        said = self._ends[0] >= HALF
        right = np.column_stack([~said, said]).astype(float)
        return self._mean(right, right, right)

    @cached_property
    def auc(self) -> Estimate:
        """The chance that a record with the label has a higher probability than one without it."""
        lost, half, won = (self._auc(ties) for ties in (0.0, 0.5, 1.0))
        return estimate(half[0], lost[1], won[2])

    @cached_property
    def log_loss(self) -> Estimate:
        """The mean of -log of the probability of what is so, clipped to [0.001, 0.999]."""
        low, high, middle = (np.clip(p, CLIP, 1 - CLIP) for p in (*self._ends, self._middles))
        least, most, usual = (
            np.column_stack([-np.log1p(-without), -np.log(with_)])
            for without, with_ in ((low, high), (high, low), (middle, middle))
        )
        return self._mean(least, usual, most)

    @cached_property
    def brier(self) -> Estimate:
        """The mean square of the distance between the probability and 1 or 0, which is so."""
        (low, high), middle = self._ends, self._middles
        least, most, usual = (
            np.column_stack([without**2, (1 - with_) ** 2])
            for without, with_ in ((low, high), (high, low), (middle, middle))
        )
        return self._mean(least, usual, most)

    @cached_property
    def calibration(self) -> tuple[CurvePoint, ...]:
        """The share that has the label among records of about the same probability, at most 10 points."""
        parts = np.array_split(np.arange(len(self.counts)), _CURVE)
        parts = [part for part in parts if len(part)]
        factor, (low, high) = noise_factor((1 - LEVEL) / len(parts)), self._ends
        return tuple(
            CurvePoint(
                float(low[part[0]]), float(high[part[-1]]),
                self._share(self.counts[part], factor), int(self.counts[part].sum()),
            )
            for part in parts
        )  # fmt: skip

    @property
    def values(self) -> dict[str, Any]:
        """What was asked for, by name."""
        return {name: getattr(self, name) for name in self.metrics}

    def by(self, attribute: str) -> list[dict[str, Any]]:
        """Rates in the groups of an attribute; see `GroupCounts.rates`."""
        for found in self.groups:
            if found.attribute == attribute:
                return found.rates()
        asked = ", ".join(found.attribute for found in self.groups) or "none"
        raise ValueError(f"no groups of {attribute!r} were counted; asked for: {asked}")

    # -- sums ----------------------------------------------------------------------------------

    @property
    def _ends(self) -> tuple[Floats, Floats]:
        return np.append(0.0, self.edges), np.append(self.edges, 1.0)

    @property
    def _middles(self) -> Floats:
        low, high = self._ends
        return (low + high) / 2

    def _mean(self, least: Floats, usual: Floats, most: Floats) -> Estimate:
        """A mean over all records of what each cell adds at least, usually and at most."""
        counts, every = self.counts.ravel(), np.ones(self.counts.size)
        factor = noise_factor(1 - LEVEL)
        low, high = (
            ratio_interval(counts.astype(float), cell.ravel(), every, self.variance, factor)[end]
            for end, cell in enumerate((least, most))
        )
        value = float(usual.ravel() @ counts) / max(1.0, float(counts.sum()))
        return estimate(value, low, high, float(least.min()), float(most.max()))

    def _auc(self, ties: float) -> tuple[float, float, float]:
        """The AUC if pairs in one bin count `ties`, and both ends of its interval."""
        without, with_ = self.counts.T.astype(float)
        n, p = without.sum(), with_.sum()
        if n <= 0 or p <= 0:
            return HALF, 0.0, 1.0
        g = np.cumsum(without) - (1 - ties) * without
        h = p - np.cumsum(with_) + ties * with_
        ordered, factor = float(with_ @ g), noise_factor(1 - LEVEL)
        pairs = np.append(np.full(len(g), n), np.full(len(h), p))
        ends = fieller(ordered, n * p, np.append(g, h), pairs, self.variance, factor)
        return ordered / (n * p), *ends

    def _share(self, counts: NDArray[np.int64], factor: float) -> Estimate:
        share = np.tile([0.0, 1.0], len(counts))
        return ratio(counts.ravel(), share, np.ones(counts.size), self.variance, factor)

    # -- files and words -----------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LabelScore):
            return NotImplemented
        return self.to_json() == other.to_json()

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "positive": self.positive,
            "metrics": list(self.metrics),
            "edges": self.edges.tolist(),
            "counts": self.counts.tolist(),
            "variance": self.variance,
            "groups": [found.to_json() for found in self.groups],
            "guarantee": self.guarantee.to_json(),
        }

    @classmethod
    def from_json(cls, data: Any) -> LabelScore:
        with reading(data, "score of a label", FORMAT):
            positive = Categorical("label", (data["positive"],)).values[0]
            edges = np.array(data["edges"], dtype=np.float64)
            counts = whole_numbers(data["counts"], (len(edges) + 1, 2))
            groups = tuple(map(GroupCounts.from_json, data["groups"]))
            guarantee = Guarantee.from_json(data["guarantee"])
            metrics, variance = check_metrics(data["metrics"]), read_variance(data["variance"])
        inside = np.all((edges > 0) & (edges < 1)) and np.all(np.diff(edges) > 0)
        if edges.ndim != 1 or not inside or HALF not in edges:
            raise FormatError("the score's edges are not rising numbers between 0 and 1, with 1/2")
        return cls(positive, edges, counts, variance, guarantee, metrics, groups)

    def __str__(self) -> str:
        """What was asked for, the rates in groups, and the guarantee."""
        lines = [f"{name.replace('_', ' ')} {value}" for name, value in self.values.items()
                 if isinstance(value, Estimate)]  # fmt: skip
        if "calibration" in self.metrics:
            rows = [["probability", f"share with {spelling(self.positive)}", "records"]]
            rows += [[f"{p.low:.3f} to {p.high:.3f}", str(p.share), f"{p.records:,}"]
                     for p in self.calibration]  # fmt: skip
            lines += aligned(rows)
        for found in self.groups:
            lines += found.lines()
        return "\n".join([*lines, "[] hold the exact value in 95 of 100 such scores",
                          str(self.guarantee)])  # fmt: skip


def check_metrics(metrics: Any) -> tuple[str, ...]:
    """The metrics that were asked for, each once; raise where one is not known."""
    asked = METRICS if metrics is None else (metrics,) if isinstance(metrics, str) else metrics
    asked = tuple(dict.fromkeys(asked))
    unknown = [name for name in asked if name not in METRICS]
    if unknown or not asked:
        raise ValueError(
            f"metrics are among {', '.join(METRICS)}" + (f", not {unknown[0]}" if unknown else "")
        )
    return asked
