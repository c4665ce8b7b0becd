"""How good a forest is on a curator's records, told privately."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._cached import cached_property
from frith._documents import reading
from frith.curator import Curator
from frith.curator.estimates import aligned
from frith.domain import Categorical, Value
from frith.errors import FormatError
from frith.forest import Forest
from frith.forest.intervals import LEVEL, noise_factor, share_interval
from frith.kernels import ConfusionCounts
from frith.privacy.guarantee import Guarantee

FORMAT = "frith-score/1"
PUBLIC_FOREST = "the scored forest has no guarantee of its own: what it tells is not covered"


def score_confusion(curator: Curator, forest: Forest) -> Score:
    """A noisy confusion matrix of the forest's predictions, for all that is left of the budget.

    Privacy
    -------
    The score is (epsilon, delta)-DP for the curator's budget. A record has one label and
    gets one prediction, so it is in one cell of the matrix: L1 sensitivity 1 and squared L2
    sensitivity 1 (m, and m^2, for persons of at most m records). The matrix is one question, its
    shape and the attributes it reads come from the domain and the forest, and what is computed
    from it is free. The forest is a release with a guarantee of its own: where it has learned from
    the same records the amounts add, and where it has none the score's guarantee says so.
    """
    if not forest.domain.same_codes(curator.domain):
        raise ValueError(
            "the forest's domain has other attributes or labels than the table's; score it on a "
            "table opened with the forest's own domain"
        )
    share = curator.remaining_share
    if not share:
        raise ValueError("nothing is left of the budget; open a curator with one for the score")
    release = curator.noisy_counts(ConfusionCounts(forest), share, "confusion matrix")
    guarantee = curator.guarantee
    if not forest.guarantee.holds:
        guarantee = guarantee.assuming(PUBLIC_FOREST)
    return Score(forest.domain.label_values, release.values, release.variance, guarantee)


@dataclass(frozen=True, eq=False)
class Score:
    """Released counts of records, true label by predicted label, and what they say of a forest.

    Holds no unreleased number. `variance` is that of the noise on each count, which can leave
    counts negative: shares are cut off at 0 and 1, and a share of nothing is None.
    """

    labels: tuple[Value, ...]
    counts: NDArray[np.int64]
    variance: float
    guarantee: Guarantee

    @property
    def accuracy(self) -> float:
        """The share of records whose label is predicted."""
        return _clipped(int(np.trace(self.counts)) / self._total)

    @property
    def accuracy_error(self) -> float:
        """The standard error of the accuracy from the noise alone, by the delta method.

        With A = correct / all, a count on the diagonal moves A by (1 - A) / all and each of the
        others by A / all. It is rough where the noise is not small beside the number of records.
        """
        right, cells = len(self.labels), self.counts.size
        a = self.accuracy
        square = right * (1 - a) ** 2 + (cells - right) * a**2
        return math.sqrt(square * self.variance) / self._total

    @property
    def accuracy_interval(self) -> tuple[float, float]:
        """A 95% interval for the accuracy on the scored records (`forest.intervals`)."""
        right, cells = len(self.labels), self.counts.size
        correct, total = float(np.trace(self.counts)), float(self.counts.sum())
        part, all_, noise = np.array([[correct], [total], [self.variance]])
        low, high = share_interval(part, all_, noise, right, cells, noise_factor(1 - LEVEL))
        return float(low[0]), float(high[0])

    @cached_property
    def recall(self) -> dict[Value, float | None]:
        """Of the records of each label, the share that is predicted."""
        return self._shares_of(self.counts.sum(axis=1))

    @cached_property
    def precision(self) -> dict[Value, float | None]:
        """Of the records predicted to have each label, the share that has it."""
        return self._shares_of(self.counts.sum(axis=0))

    @property
    def _total(self) -> int:
        return max(1, int(self.counts.sum()))

    def _shares_of(self, totals: NDArray[np.int64]) -> dict[Value, float | None]:
        pairs = zip(np.diagonal(self.counts).tolist(), totals.tolist(), strict=True)
        shares = (_clipped(right / total) if total > 0 else None for right, total in pairs)
        return dict(zip(self.labels, shares, strict=True))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Score):
            return NotImplemented
        return self.to_json() == other.to_json()

    # -- files and words -----------------------------------------------------------------------

    def to_json(self) -> dict[str, Any]:
        return {
            "format": FORMAT,
            "labels": list(self.labels),
            "counts": self.counts.tolist(),
            "variance": self.variance,
            "guarantee": self.guarantee.to_json(),
        }

    @classmethod
    def from_json(cls, data: Any) -> Score:
        with reading(data, "score", FORMAT):
            labels = Categorical("label", data["labels"]).values
            counts, variance = np.array(data["counts"]), float(data["variance"])
            guarantee = Guarantee.from_json(data["guarantee"])
        if counts.shape != (len(labels), len(labels)) or counts.dtype != np.int64:
            raise FormatError("the score's counts are not one whole number for each pair of labels")
        if not 0 <= variance < math.inf:
            raise FormatError("the score's variance is not a finite number of at least 0")
        return cls(labels, counts, variance, guarantee)

    def __str__(self) -> str:
        """The accuracy, the matrix with recall and precision beside it, and the guarantee."""
        low, high = self.accuracy_interval
        noise = (
            f", between {low:.4g} and {high:.4g} in 95 of 100 such scores" if self.variance else ""
        )
        names = [str(label) for label in self.labels]
        recalls, precisions = (map(_percent, d.values()) for d in (self.recall, self.precision))
        rows = [["true \\ predicted", *names, "recall"]]
        for name, row, recall in zip(names, self.counts.tolist(), recalls, strict=True):
            rows.append([name, *(f"{count:,}" for count in row), recall])
        rows.append(["precision", *precisions, ""])
        accuracy = f"accuracy {self.accuracy:.4g}{noise}"
        return "\n".join([accuracy, *aligned(rows), str(self.guarantee)])


def _clipped(share: float) -> float:
    return min(1.0, max(0.0, share))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"
