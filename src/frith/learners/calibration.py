"""How far targets are from predictions, on records that a forest was not trained on."""

from __future__ import annotations

import math
from fractions import Fraction

from frith.curator import Curator
from frith.engines import Engine
from frith.forest import Forest
from frith.kernels import DistanceCounts, DistanceQuantile, RecordCount
from frith.kernels.quantiles import WHOLE
from frith.privacy.budget import Budget
from frith.privacy.guarantee import AnsweredQuestion
from frith.privacy.mechanisms import PrivateChoice

_SIZE_SHARE = Fraction(1, 10)


def interval_radius(
    held_out: Engine, budget: Budget, forest: Forest, coverage: Fraction
) -> tuple[float, tuple[AnsweredQuestion, ...]]:
    """A distance within which a share `coverage` of new targets is, and what was asked for it.

    Spends a budget of its own on the held-out records: a noisy number of them, n, and a quantile of the
    distances of their targets from what the forest predicts.

    Coverage. Where the held-out records and a new one are exchangeable, a new distance is among the k
    smallest of n + 1 with probability k / (n + 1), so the quantile is of level coverage (n + 1) / n. Noise
    moves its rank by about the scale of the choice, by which the level is raised too. It moves it further
    where many cells are empty: so if four targets in five are near and the others far, the distance
    may be one between them. The upper end of the chosen cell is taken, and half a cell of the target's
    grid is added, since a target counts as its cell's middle. Where that level is beyond the grid of
    levels, the distance is the whole range.
    """
    curator, target = Curator(held_out, budget), forest.domain.target
    counted = curator.noisy_counts(RecordCount(), _SIZE_SHARE, "held out: number of records")
    n, whole = max(1, int(counted.values[0])), target.high - target.low
    share = curator.remaining_share
    scale = PrivateChoice(share * budget.total, 2, budget.unit).scale
    noise = 0.0 if curator.is_exact else scale / n
    level = math.ceil(WHOLE * (float(coverage) * (1 + 1 / n) + noise))
    if level >= WHOLE:
        return whole, curator.guarantee.asked
    distances = DistanceCounts(forest)
    place = curator.choose(
        DistanceQuantile(distances, level), share, "held out: distance of predictions"
    )
    radius = min(whole, float(distances.ends[place]) + whole / target.cells / 2)
    return radius, curator.guarantee.asked
