"""Values that nobody declared: those that enough records hold, and no others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from frith.privacy.mechanisms import DiscreteLaplace


@dataclass(frozen=True, slots=True)
class ThresholdedCounts:
    """The values of a column whose noisy count reaches a threshold. Counts are not shown.

    Every value that occurs is counted and gets noise of its own; one that does not occur is never
    shown. A protected unit has at most `records` records.

    Claim    (`epsilon`, `delta`)-DP: how many values there are, and which, may differ between neighbors.

    Proof    Let D' be D with one more unit of m = `records` records, Z the noise of scale s >= m / epsilon,
             T the threshold, and V the values that only D' has: at most m of them, with counts c_v that
             add up to C <= m. All other counts differ by at most m - C in L1.
             From D' to D: some v of V is shown with probability at most the sum of P[Z >= T - c_v], which
             is at most m P[Z >= T - m] <= delta; else what is shown follows from the other counts, and is
             at most e^(m / s) <= e^epsilon times as likely under D.
             From D to D': the other counts show a set S under D with at most e^((m - C) / s) times the
             probability under D', where, independently, no v is shown but with probability at most the
             same sum. So the excess is at most e^((m - C) / s) sum_v P[Z >= T - c_v]. As T > m, P[Z >= k]
             falls by e^(-1 / s) a step, and P[Z >= T - c_v] = e^(-(m - c_v) / s) P[Z >= T - m]; with
             c_v <= C the excess is at most m P[Z >= T - m] <= delta.
             The threshold: P[Z >= k] = p^k / (1 + p) <= p^k with p = e^(-1 / s), so k >= s ln(m / delta)
             is enough; floats are off by less than one part in 10^9.

    Assumes  exact sampling, as `DiscreteLaplace` does.

    Checked  tests/privacy/test_thresholds.py: both directions by enumeration, the threshold in decimals.
    """

    epsilon: Fraction
    delta: Fraction
    records: int

    @property
    def noise(self) -> DiscreteLaplace:
        """The noise on each count."""
        return DiscreteLaplace(self.epsilon, self.records)

    @property
    def threshold(self) -> int:
        """The least noisy count that is shown."""
        odds = self.records / self.delta
        logarithm = math.log(odds.numerator) - math.log(odds.denominator)
        return self.records + 1 + math.ceil(self.noise.scale * logarithm * (1 + 1e-9))
