"""Sets of labels that hold the right one as often as stated, from records that are held out."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from frith.curator import Curator, CuratorLike
from frith.domain import Domain
from frith.engines import Engine
from frith.engines.part import Part
from frith.forest import Forest
from frith.kernels import RecordCount, StrangeCounts, StrangeQuantile
from frith.kernels.conformity import CELLS, cell_of, strangeness
from frith.kernels.quantiles import WHOLE, range_of
from frith.learners.classifier import PrivateForestClassifier
from frith.learners.parameters import share
from frith.privacy.budget import Budget
from frith.privacy.exact import exact, show
from frith.privacy.guarantee import AnsweredQuestion
from frith.privacy.mechanisms import PrivateChoice

_SIZE_SHARE = Fraction(1, 10)


class PredictionSets(PrivateForestClassifier):
    """A classifier that can hold records out of its fit, and predict sets of labels.

    Whether a record is held out follows from a hash of that record, so it is in one of two parts: the
    forest is a release about one, and a noisy number of records and one quantile, for the same
    budget, about the other. A record costs the one or the other (parallel composition; refused where a
    person has several records).
    """

    coverage: Any
    held_out: Any
    coverage_: Fraction
    set_cell_: int
    _parts: tuple[Engine, Engine] | None = None
    """The whole table and its held-out part, while a fit runs."""

    def predict_set(self, X: Any, coverage: Any = None) -> NDArray[np.bool_]:
        """Which labels are in each record's set: a row of booleans, as `classes_`. Costs no budget.

        The share of new records whose label is in its set is about `coverage`, averaged over records like
        those of the table, over held-out records and noise: no such claim is made for single records, for
        groups or labels, nor for tables whose records repeat, because equal ones are held out together. Sets
        can be empty. Which of several labels of about the same probability are in a set is decided by a
        hash of the record, so the same record gets the same set.

        Parameters
        ----------
        X : DataFrame, Arrow table or array
            The records.
        coverage : float, str, Fraction or None, default=None
            None, or the classifier's `coverage` again: each coverage costs a fit.
        """
        check_is_fitted(self)
        if not hasattr(self, "set_cell_"):
            raise ValueError("this forest has no prediction sets; fit it with coverage=0.9, say")
        if coverage is not None and exact(coverage) != self.coverage_:
            raise ValueError(
                f"the sets that were paid for cover {show(self.coverage_)}, not {coverage}; fit with "
                f"coverage={coverage}"
            )
        codes = self.forest_.encode(self._table_to_predict(X), self.n_jobs)
        inside = cell_of(strangeness(self.forest_, codes)) <= self.set_cell_
        return np.asarray(inside[:, self._class_order])

    def _open_curator(self, engine: Engine, budget: Budget, act: str) -> CuratorLike:
        if act == "fit":
            for name in ("coverage_", "set_cell_"):  # of an earlier fit
                self.__dict__.pop(name, None)
            if self.coverage is not None:
                share("coverage", self.coverage)
                kept = share("held_out", self.held_out)
                self._parts = (engine, Part(engine, kept, rest=False, declared=kept))
                engine = Part(engine, kept, rest=True, declared=1 - kept)
        return super()._open_curator(engine, budget, act)

    def _forget(self) -> None:
        self._parts = None

    def _keep(self, forest: Forest, curator: CuratorLike, disjoint: bool = False) -> None:
        if self._parts is not None:
            whole, held_out = self._parts
            self.coverage_, claim = share("coverage", self.coverage), forest.guarantee
            forest = of_whole(forest, whole.domain)
            self.set_cell_, asked = set_cell(held_out, curator.budget, forest, self.coverage_)
            forest = replace(forest, guarantee=replace(claim, asked=claim.asked + asked))
        super()._keep(forest, curator, disjoint)


def of_whole(forest: Forest, domain: Domain) -> Forest:
    """A forest of a part, with the domain of the whole table: they differ in declared records alone."""
    measured = forest.measured and replace(forest.measured, domain=domain)
    return replace(forest, domain=domain, measured=measured)


def set_cell(
    held_out: Engine, budget: Budget, forest: Forest, coverage: Fraction
) -> tuple[int, tuple[AnsweredQuestion, ...]]:
    """The last cell of strangeness that sets hold, and what was asked for it.

    Spends a budget of its own on the held-out records: a noisy number of them, n, and a quantile of how
    strange their own labels are to the forest.

    Coverage. Where the held-out records and a new one are exchangeable, a new number is among the k
    smallest of n + 1 with probability k / (n + 1), so the quantile is of level coverage (n + 1) / n. Noise
    moves its rank by about the scale of the choice, by which the level is raised too: 1.8 / epsilon
    records for 90%. Where that level is beyond the grid of levels, sets hold all labels.
    """
    curator = Curator(held_out, budget)
    counted = curator.noisy_counts(RecordCount(), _SIZE_SHARE, "held out: number of records")
    n, rest = max(1, int(counted.values[0])), curator.remaining_share
    level = math.ceil(WHOLE * coverage * (1 + Fraction(1, n)))
    if not curator.is_exact:
        choice = PrivateChoice(rest * budget.total, range_of(min(level, WHOLE)), budget.unit)
        level = math.ceil(WHOLE * coverage * (1 + Fraction(1, n)) + Fraction(choice.scale) / n)
    if level >= WHOLE:
        return CELLS - 1, curator.guarantee.asked
    strange = StrangeQuantile(StrangeCounts(forest), level)
    place = curator.choose(strange, rest, "held out: strangeness of labels")
    return place, curator.guarantee.asked
