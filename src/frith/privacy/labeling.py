"""One partition of a public list and a label for each of its parts, chosen together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from frith.errors import OutsideWindow
from frith.privacy.exact import float_at_least, float_root_at_least


@dataclass(frozen=True)
class LabelingChoice:
    """A choice from all pairs of a partition and of a labeling, a label for each of its parts.

    `parts` says how many parts each partition has. The score of a pair is the number of records
    that get their own label: a sum over the parts v of n_vk, k the label of v. `reach` is the most
    records of one protected unit, which a score rises by at most.

    Claim    Pure (`epsilon`): epsilon-DP. zCDP (`rho`): rho-zCDP.

    Proof    A unit more raises every score by 0 .. reach, so the exponential mechanism with weights
             w exp(score / scale), w a public weight of the partition, has range reach / scale. Its
             sum over labelings factorises: a partition has weight
             w prod_v sum_k exp(n_vk / scale), and given it the labels of its parts are independent,
             each with weights exp(n_vk / scale). So the partition is drawn first, then each label.
             The logarithm of a partition's weight is rounded. With each off by at most
             `slack` = 2 / point, weights of pairs are off by a factor of at most exp(slack) on each
             table, so the range grows by at most 4 slack. `point` is 2^13 scale, rounded down by at
             most a 1024th, so 4 slack < reach / (1001 scale), which the thousandth part by which
             `scale` is wider covers: reach / scale (1 + 1/1001) <= amount. A mechanism of range e
             is e-DP and e^2/8-zCDP.
             Nothing is cut off: with fewer than 2^48 records a partition is at most
             2^48 / scale point <= 2^61 behind the best, and the rest of its logarithm is below
             2^10 in size, or 2^42 in points. Taking all logarithms less the best partition's
             largest score changes no probability.

    Off by   at most 2 / point: |best - top| / scale is divided in integers, rounded down by less
             than 1 / point; the rest is a sum of at most 2^6 float64 logarithms between 0 and
             log K and a public weight, off by less than 2^-34 for K up to 2^10, a quarter of 1 / point
             or less, and rounded to the nearest of its points.

    Assumes  exact sampling of each factor, which `choice_draws` and OpenDP's Gumbel noise give.

    Checked  tests/privacy/test_labeling.py: the ratio by enumeration, the samples against the law.
    """

    amount: Fraction
    reach: int
    parts: tuple[int, ...]
    unit: str = "epsilon"

    MAX_POINT: ClassVar[int] = 2**32
    MAX_PARTS: ClassVar[int] = 2**6
    MAX_LABELS: ClassVar[int] = 2**10
    _WIDER: ClassVar[Fraction] = 1 + Fraction(1, 1000)
    _LEAST_SCALE: ClassVar[float] = 1 / 8  # a wider scale than was paid for is as private

    @property
    def scale(self) -> float:
        if self.unit == "epsilon":
            wanted = float_at_least(Fraction(self.reach) / self.amount * self._WIDER)
        else:
            square = Fraction(self.reach) ** 2 / (8 * self.amount) * self._WIDER**2
            wanted = float_root_at_least(square)
        return max(wanted, self._LEAST_SCALE)

    @property
    def point(self) -> int:
        """The units that the logarithm of a partition's weight is counted in."""
        return min(int(2**13 * self.scale), self.MAX_POINT)

    @property
    def slack(self) -> Fraction:
        """How far such a logarithm may be off."""
        return Fraction(2, self.point)

    @property
    def covers_slack(self) -> bool:
        """Whether the thousandth part of the range covers the rounding: not for tiny amounts."""
        return Fraction(self.reach) / Fraction(self.scale) / 1001 >= 4 * self.slack

    def check(self, n_labels: int) -> None:
        """Raise, from public facts, where the proof does not reach."""
        if max(self.parts) > self.MAX_PARTS or n_labels > self.MAX_LABELS:
            raise OutsideWindow(
                f"a partition has at most {self.MAX_PARTS} parts and {self.MAX_LABELS} labels to "
                "choose from; nothing was charged"
            )
        if not self.covers_slack:
            raise OutsideWindow(
                f"{float(self.amount):.3g} is too little for one choice of a partition and its "
                "labels; raise epsilon; nothing was charged"
            )

    @property
    def starts(self) -> NDArray[np.int64]:
        """The row of each partition's first part, where all parts are below each other."""
        return np.concatenate([[0], np.cumsum(self.parts)[:-1]])

    def rows_of(self, place: int) -> slice:
        """The rows of one partition's parts."""
        start = int(self.starts[place])
        return slice(start, start + self.parts[place])

    def fixed_weights(
        self, counts: NDArray[np.int64], log_weights: NDArray[np.float64]
    ) -> list[int]:
        """The logarithm of each partition's weight over the best one's largest, in points.

        `counts` has a row for every part of every partition, and a column for every label.
        """
        top = counts.max(axis=1)
        rest = np.log(np.exp((counts - top[:, None]) / self.scale).sum(axis=1))
        logs = np.add.reduceat(rest, self.starts) + log_weights
        tops = np.add.reduceat(top, self.starts).tolist()
        best, point, (numerator, denominator) = max(tops), self.point, self.scale.as_integer_ratio()
        return [
            round(log * point) - (best - t) * point * denominator // numerator
            for log, t in zip(logs.tolist(), tops, strict=True)
        ]

    def log_weights_of_labels(self, row: NDArray[np.int64]) -> NDArray[np.float64]:
        """The logarithm of each label's probability in one part."""
        behind = (row - row.max()) / self.scale
        return np.asarray(behind - np.log(np.exp(behind).sum()))
