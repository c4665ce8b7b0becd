"""Rates in the groups of an attribute, from noisy counts: how predictions differ between groups."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith._arrays import Floats, frozen
from frith.curator.estimates import aligned, ratio, read_variance, whole_numbers
from frith.forest.intervals import LEVEL, noise_factor

RATES = ("share", "predicted", "recall", "false_alarms", "precision", "accuracy")


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """Released counts of one attribute's groups: by whether the label is predicted, and whether it is so."""

    attribute: str
    groups: tuple[str, ...]
    counts: NDArray[np.int64]
    variance: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "counts", frozen(self.counts, np.int64))

    def rates(self) -> list[dict[str, Any]]:
        """A row for each group: its number of records, and six rates with their intervals.

        `share` has the label, `predicted` is predicted to have it; of those that have it, `recall` is
        predicted, of those that have it not, `false_alarms`; `precision` is the share of the predicted
        that has it, `accuracy` the share that is predicted right. Where noise is all there is of a
        group, an interval is from 0 to 1.
        """
        factor = noise_factor((1 - LEVEL) / len(self.groups))
        return [
            {"group": group, "records": int(counts.sum())}
            | {
                name: ratio(counts.ravel(), *_WEIGHTS[name], self.variance, factor)
                for name in RATES
            }
            for group, counts in zip(self.groups, self.counts, strict=True)
        ]

    def lines(self) -> list[str]:
        """The rates as aligned text."""
        rows = [[self.attribute, "records", *(name.replace("_", " ") for name in RATES)]]
        for row in self.rates():
            rows.append([row["group"], f"{row['records']:,}", *(str(row[name]) for name in RATES)])
        return aligned(rows)

    def to_json(self) -> dict[str, Any]:
        return {
            "attribute": self.attribute,
            "groups": list(self.groups),
            "counts": self.counts.tolist(),
            "variance": self.variance,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> GroupCounts:
        groups = tuple(map(str, data["groups"]))
        counts = whole_numbers(data["counts"], (len(groups), 2, 2))
        return cls(str(data["attribute"]), groups, counts, read_variance(data["variance"]))


# Cells are (not predicted, predicted) x (has it not, has it), in this order: 00, 01, 10, 11.
_WEIGHTS: dict[str, tuple[Floats, Floats]] = {
    name: (np.array(part, dtype=float), np.array(total, dtype=float))
    for name, part, total in (
        ("share", (0, 1, 0, 1), (1, 1, 1, 1)),
        ("predicted", (0, 0, 1, 1), (1, 1, 1, 1)),
        ("recall", (0, 0, 0, 1), (0, 1, 0, 1)),
        ("false_alarms", (0, 0, 1, 0), (1, 0, 1, 0)),
        ("precision", (0, 0, 0, 1), (0, 0, 1, 1)),
        ("accuracy", (1, 0, 0, 1), (1, 1, 1, 1)),
    )
}
