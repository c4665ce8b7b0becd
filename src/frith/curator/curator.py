"""The door: the only object that holds an engine and the only one that sees an exact number.

A learner asks the curator; the curator computes what the question costs, charges it, and only then
reads records and draws noise. What comes back is a release, and whatever is done with releases is
post-processing: free. Questions are data of a closed set of types (`frith.kernels`): the curator
prices, sums and scores them, and refuses any other object before it charges anything.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from frith.curator.masking import Masking
from frith.curator.pricing import noise_of, noise_share
from frith.curator.protocol import Progress, Release, records_per_unit
from frith.domain import Domain
from frith.engines.base import Engine
from frith.errors import QuestionError
from frith.kernels import (
    Choice,
    Kernel,
    NamedSplits,
    NodeSplits,
    Partitions,
    Question,
    RecordCount,
    SignsChoice,
    View,
    base_of,
    check_question,
)
from frith.kernels.choices import MAX_WEIGHT
from frith.kernels.gradients import ScoreColumn
from frith.privacy import window
from frith.privacy.budget import Budget, Meter
from frith.privacy.guarantee import AnsweredQuestion as Answered
from frith.privacy.guarantee import Guarantee
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import DiscreteLaplace, PrivateChoice, SignChoice
from frith.privacy.neighbors import neighbors_of
from frith.privacy.shares import GaussianShare, LaplaceShare
from frith.privacy.sources import ExactSource, Noise, NoiseSource, default_source

if TYPE_CHECKING:
    from frith.ledger import Ledger, Receipt

RECORDS_ARE_PUBLIC = "the declared number of records is public"


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

    has_private_choices = True

    def __init__(
        self,
        engine: Engine,
        budget: Budget,
        *,
        ledger: Ledger | None = None,
        purpose: str = "release",
        progress: Progress | None = None,
        source: NoiseSource | None = None,
    ):
        if not isinstance(source, NoiseSource | None):
            raise TypeError("noise comes from a NoiseSource; leave `source` out for the usual one")
        self.domain: Domain = engine.domain
        self.budget = budget
        self.receipt: Receipt | None = None
        self._engine = engine
        self._meter = Meter(budget)
        self._source = source or (ExactSource() if budget.is_exact else default_source())
        self._ledger, self._purpose = ledger, purpose
        self._progress = progress or (lambda purpose: None)
        self._asked: list[Answered] = []
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
        """What the releases promise: the whole budget, whatever part of it was used, and the domain's."""
        person, states = self.domain.person, self._source.states
        claim = Guarantee(
            self.budget.epsilon if states is None else math.inf,
            self.budget.delta,
            neighbors_of(None if person is None else person.records),
            (*self._assumptions, *([] if states is None else [states])),
            tuple(self._asked),
        )
        return claim if self.domain.paid is None else claim.then(self.domain.paid)

    def noisy_counts(self, question: Question, share: Fraction, purpose: str) -> Release:
        """The sums of a kernel, or a view of a level's sums, with integer noise for `share`."""
        check_question(question, self.domain, purpose)
        amount = self._amount(share)
        noise = noise_of(question, self.domain, amount, self.budget.unit)
        self._check_window(amount, noise.scale, purpose)
        self._charge(share)
        self._log(purpose, *_sensitivity(noise), share, noise.scale, math.prod(question.shape))
        values = self._source.perturb(self._answer(question, purpose), noise, self._engine.threads)
        return Release(values, 0.0 if self.is_exact else noise.variance)

    def masked_counts(
        self, question: Question, share: Fraction, purpose: str, masking: Masking
    ) -> NDArray[np.uint64]:
        """The same sums with a share of the noise, hidden under a mask that others' masks cancel.

        What leaves is evenly distributed for whoever does not know the masks. In the sum over all
        parties there is at least the noise that `share` of the budget asks for, whatever up to
        `parties - honest` of them know together.
        """
        check_question(question, self.domain, purpose)
        if not isinstance(masking, Masking):
            raise QuestionError(
                f"{purpose}: {type(masking).__name__} hides nothing that frith knows"
            )
        masking.check(question, self.domain, self.budget, share)
        amount, unit = self._amount(share), self.budget.unit
        noise = (
            LaplaceShare(amount, question.l1, masking.honest)  # none will be drawn
            if self.is_exact
            else noise_share(question, self.domain, amount, unit, masking.honest)
        )
        self._check_window(amount, noise.scale, purpose)
        self._charge(share)
        self._assume(masking.assumption)
        self._log(purpose, *_sensitivity(noise), share, noise.scale, math.prod(question.shape))
        exact = self._answer(question, purpose)
        return masking.hide(self._source.perturb(exact, noise, self._engine.threads))

    def choose_splits(
        self,
        question: NodeSplits | NamedSplits,
        share: Fraction,
        purpose: str,
        *,
        exponential: bool = False,
    ) -> NDArray[np.int64]:
        """A private choice among the candidates at each of some open nodes.

        A record is at one node of each tree, so the choices at the nodes of one tree compose in
        parallel and those of different trees add: each tree gets an equal part of `share`. A unit
        of m records moves the scores of the nodes they are at by m ranges in all. `exponential`
        asks for the exponential mechanism, as a budget in rho always does, at the same price.
        """
        check_question(question, self.domain, purpose)
        amount = self._amount(share) / question.n_trees
        range_ = question.range_ * self.records_per_unit
        choice = PrivateChoice(amount, range_, self.budget.unit, exponential)
        self._check_window(amount, choice.scale, purpose)
        self._charge(share)
        self._log(purpose, "private choice", choice.range_, share, choice.scale, len(question))
        scores = question.scores(self._sums(question.kernel, purpose))
        picks = [
            int(options[self._source.choose(row.tolist(), weights, choice)])
            for row, weights, options in zip(
                scores, question.node_weights(), question.options(), strict=True
            )
        ]
        return np.array(picks, dtype=np.int64)

    def choose(self, question: Choice, share: Fraction, purpose: str) -> int:
        """A private choice from a list that is scored by the sums of its kernel."""
        check_question(question, self.domain, purpose)
        amount, weights = self._amount(share), question.weights.tolist()
        choice = PrivateChoice(amount, question.range_ * self.records_per_unit, self.budget.unit)
        self._check_window(amount, choice.scale, purpose, weights)
        self._charge(share)
        self._log(purpose, "private choice", choice.range_, share, choice.scale, len(question))
        scores = question.scores(self._sums(question.kernel, purpose)).tolist()
        return self._source.choose(scores, weights, choice)

    def choose_signs(
        self, question: SignsChoice, share: Fraction, purpose: str
    ) -> tuple[int, NDArray[np.int64]]:
        """A private choice of a split and of a sign, or none, for every label."""
        check_question(question, self.domain, purpose)
        reach = question.reach * self.records_per_unit
        choice = SignChoice(self._amount(share), reach, self.budget.unit)
        if not self.is_exact:
            choice.check()
        self._check_window(choice.amount, choice.scale, purpose, question.weights.tolist())
        self._charge(share)
        self._log(purpose, "private choice", 2 * reach, share, choice.scale, len(question))
        differences = question.scores(self._sums(question.kernel, purpose))
        return self._source.choose_signs(differences, question.weights, choice)

    def choose_labels(
        self, question: Partitions, share: Fraction, purpose: str
    ) -> tuple[int, NDArray[np.int64]]:
        """A private choice of a partition of all records and of a label for each of its parts."""
        check_question(question, self.domain, purpose)
        reach, amount = self.records_per_unit, self._amount(share)
        choice = LabelingChoice(amount, reach, question.parts, self.budget.unit)
        if not self.is_exact:
            choice.check(self.domain.n_labels)
        self._check_window(amount, choice.scale, purpose, question.weights.tolist())
        self._charge(share)
        self._log(purpose, "private choice", reach, share, choice.scale, len(question))
        counts = question.scores(self._sums(question.kernel, purpose))
        return self._source.choose_labels(counts, question.weights, choice)

    def records(self, share: Fraction) -> int:
        """The number of records, at least 1: as declared, else noisy for `share` of the budget."""
        if self.domain.records is not None:
            self._assume(RECORDS_ARE_PUBLIC)
            return max(1, self.domain.records)
        return max(1, int(self.noisy_counts(RecordCount(), share, "number of records").values[0]))

    def _sums(self, kernel: Kernel, purpose: str) -> NDArray[np.int64]:
        """One pass over the records; the sums of the last kernel are kept for further questions.

        Kernels are frozen, so one that is the same object still asks for the same sums.
        """
        last = self._last  # looked at once: another thread may replace it at any time
        if last is None or last[0] is not kernel:
            self._progress(purpose)
            self._last = last = (kernel, self._engine.aggregate(kernel))
        return last[1]

    def _answer(self, question: Question, purpose: str) -> NDArray[np.int64]:
        """The exact sums behind a question."""
        sums = self._sums(base_of(question), purpose)
        return question.take(sums) if isinstance(question, View) else sums

    def derive(self, column: ScoreColumn) -> None:
        """Have the engine keep a derived column, where it can: a column stays with the records."""
        if type(column) is not ScoreColumn:
            raise QuestionError("a derived column is a ScoreColumn, and nothing else")
        column.check(self.domain, column.values.shape[1] if column.values.ndim > 1 else None)
        if self._asked:  # nothing is read before the first question is paid for
            self._engine.derive(column)

    def _amount(self, share: Fraction) -> Fraction:
        """What a share of the budget is, in the budget's own unit."""
        if type(share) is not Fraction or share <= 0:  # another might be one price here, one there
            raise QuestionError(f"a share of the budget is a positive Fraction, not {share!r}")
        return share * self.budget.total

    def _check_window(
        self, amount: Fraction, scale: float, purpose: str, weights: Sequence[float] = ()
    ) -> None:
        """Public facts alone: no width of a number decides an answer."""
        if self.is_exact:
            return
        window.check_question(amount, self.budget.unit, scale, purpose)
        if weights and not max(map(abs, weights)) <= MAX_WEIGHT:
            raise QuestionError(f"{purpose}: a candidate's public weight is too large or too small")

    @property
    def records_per_unit(self) -> int:
        """The most records of one protected unit that are counted."""
        return records_per_unit(self.domain)

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
        self._asked.append(Answered(purpose, mechanism, share, sensitivity, scale, cells))

    def _assume(self, text: str) -> None:
        if text not in self._assumptions:
            self._assumptions.append(text)


def _sensitivity(noise: Noise) -> tuple[str, int]:
    if isinstance(noise, DiscreteLaplace):
        return "discrete Laplace", noise.sensitivity
    if isinstance(noise, LaplaceShare):
        return f"discrete Laplace in {noise.honest} shares", noise.sensitivity
    if isinstance(noise, GaussianShare):
        return f"discrete Gaussian in {noise.honest} shares", noise.sensitivity_squared
    return "discrete Gaussian", noise.sensitivity_squared
