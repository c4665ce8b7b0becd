"""How far off a forest that predicts a number is on a curator's records, told privately."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats
from frith._documents import reading
from frith.curator import Curator
from frith.curator.confusion import PUBLIC_FOREST
from frith.errors import FormatError
from frith.forest import Forest
from frith.kernels import DistanceCounts, DistanceQuantile, ErrorSums
from frith.kernels.gradients import UNIT
from frith.privacy.guarantee import Guarantee

FORMAT = "frith-number-score/1"
_LEVEL, _TIMES, _FOR_WIDTH = 950, 3, Fraction(1, 5)
_MEASURES = ("r2", "rmse", "mae", "coverage")


def score_numbers(curator: Curator, forest: Forest, radius: float | None = None) -> NumberScore:
    """R2, RMSE and MAE of the forest's predictions, for all that is left of the budget.

    With a `radius`, such as an estimator's `interval_radius_`, also the share of targets that are no
    further than that from their prediction. Errors beyond `width`, three times the distance that 95 of 100
    targets are within, count as `width`.

    Privacy
    -------
    The score is (epsilon, delta)-DP for the curator's budget. A fifth of what is left of it is for a quantile
    of distances (`kernels.DistanceQuantile`), which gives the width. The rest is for a few sums, to each of
    which a record adds a bounded whole number (`kernels.ErrorSums`). What is computed from them is free. The
    forest is a release with a guarantee of its own: where it has learned from the same records the amounts
    add, and where it has none the score's guarantee says so.
    """
    if not forest.domain.same_codes(curator.domain):
        raise ValueError(
            "the forest's domain has other attributes or another label than the table's; score it on a "
            "table opened with the forest's own domain"
        )
    share = curator.remaining_share
    if not share:
        raise ValueError("nothing is left of the budget; open a curator with one for the score")
    distances, target = DistanceCounts(forest), forest.domain.target
    far = DistanceQuantile(distances, _LEVEL)
    whole = target.high - target.low
    question = ErrorSums(forest, whole, None if radius is None else float(radius))
    place = curator.choose(far, share * _FOR_WIDTH, "distance of predictions")
    width = min(whole, _TIMES * float(distances.ends[place]))
    question = replace(question, width=width)
    release = curator.noisy_counts(question, curator.remaining_share, "errors of predictions")
    guarantee = curator.guarantee
    if not forest.guarantee.holds:
        guarantee = guarantee.assuming(PUBLIC_FOREST)
    scale = "log" if forest.domain.has_log_target else "linear"
    return NumberScore(whole, width, release.values, release.variance, guarantee, scale)


@dataclass(frozen=True, eq=False)
class NumberScore:
    """Released sums of errors and of targets, and what they say of a forest.

    Holds no unreleased number. `whole` is the declared range, `width` what larger errors count as, `variance`
    that of the noise on each sum. If `scale` is "log", all of it is about the target's natural logarithm: an
    `rmse` of 0.1 is about 10%, and `r2` is that of logarithms. What noise leaves without meaning, such as a
    root of a negative number, is NaN.
    """

    whole: float
    width: float
    sums: NDArray[np.int64]
    variance: float
    guarantee: Guarantee
    scale: str = "linear"

    @property
    def r2(self) -> float:
        """The share of the targets' variance that predictions explain."""
        return self._of("r2")

    @property
    def rmse(self) -> float:
        """The root of the mean squared error, in the target's own unit, or in that of its logarithm."""
        return self._of("rmse")

    @property
    def mae(self) -> float:
        """The mean absolute error, in the target's own unit, or in that of its logarithm."""
        return self._of("mae")

    @property
    def coverage(self) -> float:
        """The share of targets within the radius of their prediction; NaN if none was asked for."""
        return self._of("coverage")

    def error(self, measure: str) -> float:
        """The standard error of r2, rmse, mae or coverage from the noise alone, by the delta method.

        It is rough where noise is not small beside the sums, and NaN where the measure is.
        """
        sums, step = self.sums.astype(np.float64), float(UNIT)
        moved = [self._measured(measure, sums + step * side) for side in np.eye(len(sums))]
        slopes = (np.array(moved) - self._of(measure)) / step
        return float(math.sqrt(self.variance) * np.linalg.norm(slopes))

    def _of(self, measure: str) -> float:
        return self._measured(measure, self.sums.astype(np.float64))

    def _measured(self, name: str, sums: Floats) -> float:
        if name not in _MEASURES:
            raise ValueError(f"a measure is one of {', '.join(_MEASURES)}, not {name!r}")
        n = sums[0] + sums[1]
        if n <= 0 or (name == "coverage" and len(sums) < 6):
            return math.nan
        absolute, squared, target, squares = sums[1:5] / n
        if name == "mae":
            return float(self.width * absolute)
        if name == "rmse":
            return self.width * math.sqrt(squared) if squared >= 0 else math.nan
        if name == "coverage":
            return float(sums[5] / n)
        spread = (squares - target**2) * (self.whole / 2) ** 2
        return float(1 - self.width**2 * squared / spread) if spread > 0 else math.nan

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, NumberScore):
            return NotImplemented
        return self.to_json() == other.to_json()

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "range": self.whole,
            "width": self.width,
            "sums": self.sums.tolist(),
            "variance": self.variance,
            "guarantee": self.guarantee.to_json(),
            **({} if self.scale == "linear" else {"scale": self.scale}),
        }

    @classmethod
    def from_json(cls, data: Any) -> NumberScore:
        with reading(data, "score", FORMAT):
            whole, width = float(data["range"]), float(data["width"])
            variance = float(data["variance"])
            sums, guarantee = np.array(data["sums"]), Guarantee.from_json(data["guarantee"])
            scale = data.get("scale", "linear")
        if sums.shape not in ((5,), (6,)) or sums.dtype != np.int64:
            raise FormatError("the score's sums are not five or six whole numbers")
        if not (0 < width <= whole < math.inf and 0 <= variance < math.inf):
            raise FormatError("the score's range, width or variance is not a number that it can be")
        if scale not in ("linear", "log"):
            raise FormatError("the score's scale is linear or log")
        return cls(whole, width, sums, variance, guarantee, scale)

    def __str__(self) -> str:
        asked = _MEASURES if len(self.sums) == 6 else _MEASURES[:3]
        lines = [
            f"{name} {self._of(name):.4g}"
            + (f", the noise's standard error {self.error(name):.2g}" if self.variance else "")
            for name in asked
        ]
        lines += ["all of the target's natural logarithm"] if self.scale == "log" else []
        return "\n".join([*lines, str(self.guarantee)])
