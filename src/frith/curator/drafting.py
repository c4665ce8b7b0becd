"""A curator for tables without a domain: it also shows values that nobody declared."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from frith.curator.curator import Curator
from frith.engines.raw import RawTable
from frith.errors import BudgetExceeded, QuestionError
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee
from frith.privacy.thresholds import ThresholdedCounts


class DraftingCurator(Curator):
    """Answers questions about a raw table within a pure epsilon, and shows values for a delta.

    Privacy
    -------
    Every release of one such curator together is (epsilon, delta)-DP. Questions of the closed set are
    pure, as at every curator with this budget. Values that nobody declared are shown by
    `ThresholdedCounts`. Their epsilons come from the same meter and their deltas add up to at most
    `delta`; both add over adaptively chosen questions (basic composition).
    """

    def __init__(self, engine: RawTable, epsilon: Any, delta: Any = 0, **given: Any):
        budget = Budget.of(epsilon, delta)
        if budget.delta and given.get("ledger") is not None:
            raise ValueError(
                "a ledger is charged in epsilon or in rho, and values that nobody declared have no price "
                "in either; give lists to choose from, or draft without a ledger"
            )
        super().__init__(engine, Budget(budget.epsilon), **given)
        self._table, self._delta, self._shown = engine, budget.delta, Fraction(0)

    @property
    def guarantee(self) -> Guarantee:
        return replace(super().guarantee, delta=self._delta)

    def frequent_values(
        self, column: str, share: Fraction, delta_share: Fraction, purpose: str
    ) -> list[str]:
        """The values of a column that enough records hold, sorted, by their spelling."""
        if column not in self.domain.names:
            raise QuestionError(f"{purpose}: there is no column {column!r} to ask about")
        delta, amount = delta_share * self._delta, self._amount(share)
        if not 0 < delta <= self._delta - self._shown:
            raise BudgetExceeded(
                "this draft", requested=delta, remaining=self._delta - self._shown, unit="delta"
            )
        counts = ThresholdedCounts(amount, delta, self.records_per_unit)
        self._check_window(amount, counts.noise.scale, purpose)
        self._charge(share)
        self._shown += delta
        tally = sorted(self._table.tally(column).items())
        exact = np.array([times for _, times in tally], dtype=np.int64)
        noisy = self._source.perturb(exact, counts.noise, self._engine.threads)
        least = 1 if self.is_exact else counts.threshold
        shown = [
            value for (value, _), times in zip(tally, noisy.tolist(), strict=True) if times >= least
        ]
        # the number of values that occur is private: the log names those that are shown
        scale, unit = counts.noise.scale, self.records_per_unit
        self._log(purpose, "thresholded counts", unit, share, scale, len(shown))
        return shown
