"""The door: the only object that holds an engine and the only one that sees an exact number.

A learner asks the curator; the curator computes what the question costs, charges it, and only then
reads records and draws noise. What comes back is a release, and whatever is done with releases is
post-processing: free.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.engines.base import Engine
from frith.errors import TooManyCells
from frith.gradients import ScoreColumn
from frith.kernels import (
    MAX_CELLS,
    ConfusionCounts,
    Kernel,
    LeafCounts,
    RecordCount,
    SplitCounts,
    SplitTables,
    View,
)
from frith.label_gradients import LabelGradients
from frith.privacy.budget import Budget, Meter
from frith.privacy.guarantee import RECORD, Guarantee, Question, person_neighbors
from frith.privacy.mechanisms import DiscreteGaussian, DiscreteLaplace, PrivateChoice, SignChoice
from frith.privacy.shares import GaussianShare, LaplaceShare
from frith.privacy.sources import ExactSource, Noise, OpenDPSource, Source
from frith.scores import Criterion, split_scores

if TYPE_CHECKING:
    from frith.ledger import Ledger, Receipt

RECORDS_ARE_PUBLIC = "the declared number of records is public"

Progress = Callable[[str], None]
"""Called with the purpose of each pass as it begins: passes are public, records are not."""


class Scored(Protocol):
    """A public list of candidates, the kernel whose sums score them, and how."""

    @property
    def kernel(self) -> Kernel: ...

    @property
    def range_(self) -> int:
        """The largest minus the smallest change of a score by one record, over the list."""
        ...

    def scores(self, sums: NDArray[np.int64], scale: float) -> NDArray[np.int64]:
        """Integer scores; `scale` is that of the choice's noise, in which public weights are put."""
        ...

    def __len__(self) -> int: ...


class Splits(Protocol):
    """A public list of questions with two answers, each with the logarithm of a public weight."""

    @property
    def weights(self) -> NDArray[np.float64]: ...

    def scores(self, sums: NDArray[np.int64]) -> NDArray[np.int64]:
        """Left minus right of every question."""
        ...

    def __len__(self) -> int: ...


class Masking(Protocol):
    """How one party hides its answer until it is added to the others'."""

    @property
    def honest(self) -> int:
        """How many parties are sure not to share what they know."""
        ...

    def hide(self, values: NDArray[np.int64]) -> NDArray[np.uint64]: ...


@dataclass(frozen=True, slots=True)
class Release:
    """Noisy sums, and the variance of the noise on each of them."""

    values: NDArray[np.int64]
    variance: float


class Curator:
    """Answers questions about one table within one budget.

    Privacy
    -------
    Every release of one curator together is (epsilon, delta)-DP for its budget. Each question is
    answered by a mechanism calibrated to `share * budget.total` and to the kernel's own sensitivity
    times m, the most records of the protected unit (1 for records). The meter keeps the sum of
    charges within the total, which is a valid filter for adaptively chosen questions in pure
    epsilon and in rho. A ledger, if there is one, is charged the whole budget once, before the
    first record is read.
    """

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        *,
        ledger: Ledger | None = None,
        purpose: str = "release",
        progress: Progress | None = None,
    ):
        self.domain: Domain = engine.domain
        self.budget = budget
        self.receipt: Receipt | None = None
        self._engine = engine
        self._meter = Meter(budget)
        self._source: Source = ExactSource() if budget.is_exact else OpenDPSource()
        self._ledger, self._purpose = ledger, purpose
        self._progress = progress or (lambda purpose: None)
        self._asked: list[Question] = []
        self._last: tuple[Kernel, NDArray[np.int64]] | None = None
        self._assumptions: list[str] = [*engine.assumptions]
        if self.domain.learned:
            self._assumptions.append("domain learned from the data: not covered")

    @property
    def is_exact(self) -> bool:
        return self.budget.is_exact

    @property
    def remaining_share(self) -> Fraction:
        """What is left of the budget, as a share of the whole."""
        return self._meter.remaining / self.budget.total

    @property
    def guarantee(self) -> Guarantee:
        """What the releases promise: the whole budget, whatever part of it was used."""
        person = self.domain.person
        return Guarantee(
            self.budget.epsilon,
            self.budget.delta,
            RECORD if person is None else person_neighbors(person.records),
            tuple(self._assumptions),
            tuple(self._asked),
        )

    def noisy_counts(self, kernel: Kernel | View, share: Fraction, purpose: str) -> Release:
        """The sums of a kernel, or a view of a level's sums, with integer noise for `share`."""
        base = kernel.base if isinstance(kernel, View) else kernel
        _check_kernel(base, purpose)
        noise = self._noise(kernel, share)
        self._charge(share)
        self._log(purpose, *_sensitivity(noise), share, noise.scale, math.prod(kernel.shape))
        sums = self._sums(base, purpose)
        exact = kernel.take(sums) if isinstance(kernel, View) else sums
        values = self._source.perturb(exact, noise, self._engine.threads)
        return Release(values, 0.0 if self.is_exact else noise.variance)

    def masked_counts(
        self, kernel: Kernel | View, share: Fraction, purpose: str, masking: Masking
    ) -> NDArray[np.uint64]:
        """The same sums with a share of the noise, hidden under a mask that others' masks cancel.

        What leaves is evenly distributed for whoever does not know the masks. In the sum over all
        parties there is at least the noise that `share` of the budget asks for, whatever up to
        `parties - honest` of them know together.
        """
        base = kernel.base if isinstance(kernel, View) else kernel
        _check_kernel(base, purpose)
        amount, unit = share * self.budget.total, self.budget.unit
        noise = (
            LaplaceShare(amount, kernel.l1, masking.honest)  # none will be drawn
            if self.is_exact
            else noise_share(kernel, self.domain, amount, unit, masking.honest)
        )
        self._charge(share)
        self._log(purpose, *_sensitivity(noise), share, noise.scale, math.prod(kernel.shape))
        sums = self._sums(base, purpose)
        exact = kernel.take(sums) if isinstance(kernel, View) else sums
        return masking.hide(self._source.perturb(exact, noise, self._engine.threads))

    def choose_splits(
        self,
        level: SplitCounts,
        places: NDArray[np.int64],
        allowed: NDArray[np.bool_],
        by: Criterion,
        share: Fraction,
        purpose: str,
    ) -> NDArray[np.int64]:
        """A private choice among the allowed candidates at each of some open nodes.

        A record is at one node of each tree, so the choices at the nodes of one tree compose in
        parallel and those of different trees add: each tree gets an equal part of `share`. A unit
        of m records moves the scores of the nodes they are at by m ranges in all.
        """
        _check_kernel(level, purpose)
        if len(np.unique(places)) < len(places):
            raise ValueError("each node is chosen for once")
        n_trees = len(np.unique(level.tree_of[places]))
        amount = share * self.budget.total / max(1, n_trees)
        choice = PrivateChoice(amount, by.range_ * self.records_per_unit, self.budget.unit)
        self._charge(share)
        self._log(purpose, "private choice", choice.range_, share, choice.scale, len(places))
        tables = SplitTables(level).take(self._sums(level, purpose))[places]
        scores = split_scores(tables, level.layout, by)
        options = (np.flatnonzero(row) for row in allowed)
        picks = [
            int(o[self._source.choose(s[o].tolist(), choice)])
            for s, o in zip(scores, options, strict=True)
        ]
        return np.array(picks, dtype=np.int64)

    def choose(self, list_: Scored, share: Fraction, purpose: str) -> int:
        """A private choice from a list that is scored by the sums of its kernel."""
        _check_kernel(list_.kernel, purpose)
        amount = share * self.budget.total
        choice = PrivateChoice(amount, list_.range_ * self.records_per_unit, self.budget.unit)
        self._charge(share)
        self._log(purpose, "private choice", choice.range_, share, choice.scale, len(list_))
        sums = self._sums(list_.kernel, purpose)
        scores = list_.scores(sums, 0.0 if self.is_exact else choice.scale)
        return self._source.choose(scores.tolist(), choice)

    def choose_signs(
        self, kernel: LabelGradients, questions: Splits, share: Fraction, purpose: str
    ) -> tuple[int, NDArray[np.int64]]:
        """A private choice of a question and of a sign, or none, for every label."""
        _check_kernel(kernel, purpose)
        reach = kernel.most * self.records_per_unit
        choice = SignChoice(share * self.budget.total, reach, self.budget.unit)
        if not self.is_exact:
            choice.check()
        self._charge(share)
        self._log(purpose, "private choice", 2 * reach, share, choice.scale, len(questions))
        differences = questions.scores(self._sums(kernel, purpose))
        return self._source.choose_signs(differences, questions.weights, choice)

    def records(self, share: Fraction) -> int:
        """The number of records, at least 1: as declared, else noisy for `share` of the budget."""
        if self.domain.records is not None:
            self._assume(RECORDS_ARE_PUBLIC)
            return max(1, self.domain.records)
        return max(1, int(self.noisy_counts(RecordCount(), share, "number of records").values[0]))

    def _sums(self, kernel: Kernel, purpose: str) -> NDArray[np.int64]:
        """One pass over the records; the sums of the last kernel are kept for further questions."""
        if self._last is None or self._last[0] is not kernel:
            self._progress(purpose)
            self._last = (kernel, self._engine.aggregate(kernel))
        return self._last[1]

    def derive(self, column: ScoreColumn) -> None:
        """Have the engine keep a derived column, where it can: a column stays with the records."""
        if self._asked:  # nothing is read before the first question is paid for
            self._engine.derive(column)

    def _noise(self, kernel: Kernel | View, share: Fraction) -> Noise:
        amount, most = share * self.budget.total, self.records_per_unit
        if self.budget.unit == "rho":
            return DiscreteGaussian(amount, kernel.l2_squared * most**2)
        return DiscreteLaplace(amount, kernel.l1 * most)

    @property
    def records_per_unit(self) -> int:
        """The most records of one protected unit that are counted."""
        return most_records(self.domain)

    def _charge(self, share: Fraction) -> None:
        """Pay first: the meter for this question, and the ledger once for all of them."""
        self._meter.charge(share * self.budget.total)
        if self._ledger is not None and self.receipt is None:
            self.receipt = self._ledger.charge(self.budget, self._purpose, self.guarantee.neighbors)

    def _log(
        self,
        purpose: str,
        mechanism: str,
        sensitivity: int,
        share: Fraction,
        scale: float,
        cells: int,
    ) -> None:
        if self.is_exact:
            mechanism, scale = "exact", 0.0
        self._asked.append(Question(purpose, mechanism, share, sensitivity, scale, cells))

    def _assume(self, text: str) -> None:
        if text not in self._assumptions:
            self._assumptions.append(text)


def most_records(domain: Domain) -> int:
    return 1 if domain.person is None else domain.person.records


def noise_share(
    kernel: Kernel | View, domain: Domain, amount: Fraction, unit: str, honest: int
) -> LaplaceShare | GaussianShare:
    """What each of several parties adds to its sums, of which `honest` shares alone suffice."""
    most = most_records(domain)
    if unit == "rho":
        cells = math.prod(kernel.shape)
        return GaussianShare(amount, kernel.l2_squared * most**2, honest, cells)
    share = LaplaceShare(amount, kernel.l1 * most, honest)
    share.check()
    return share


def _check_kernel(kernel: Kernel, purpose: str) -> None:
    """Public facts alone: sensitivities take for granted that trees share no node."""
    if isinstance(kernel, LeafCounts | SplitCounts | ConfusionCounts):
        kernel.trees.check(kernel.domain)
    cells = math.prod(kernel.shape)
    if cells > MAX_CELLS:
        raise TooManyCells(
            f"{purpose}: {cells:,} cells, and at most {MAX_CELLS:,} can be asked at once; "
            "use fewer or lower trees, or group the values of large attributes"
        )


def _sensitivity(noise: Noise) -> tuple[str, int]:
    if isinstance(noise, DiscreteLaplace):
        return "discrete Laplace", noise.sensitivity
    if isinstance(noise, LaplaceShare):
        return f"discrete Laplace in {noise.honest} shares", noise.sensitivity
    if isinstance(noise, GaussianShare):
        return f"discrete Gaussian in {noise.honest} shares", noise.sensitivity_squared
    return "discrete Gaussian", noise.sensitivity_squared
