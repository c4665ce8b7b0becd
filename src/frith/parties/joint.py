"""A curator made of several: asks every party the same question and adds up the noisy answers.

It can train any learner. Counts are sums of the parties' noisy counts. A private choice cannot be
split over parties, so it asks for noisy sums of what would score the choice, and chooses from those as
post-processing: the same splits as a learner that grows its trees from noisy tables.

Privacy
-------
Each party answers through a curator of its own, within a budget of its own: what it lets out in the
whole exchange is (epsilon, delta)-DP for its records, adaptively, whatever the others answer. How
the parties' guarantees add up is as in `frith.parties.merging`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from frith.curator import Curator, Release, records_per_unit
from frith.curator.curator import RECORDS_ARE_PUBLIC
from frith.curator.protocol import Party
from frith.errors import FrithError
from frith.kernels import (
    Choice,
    NamedSplits,
    NodeSplits,
    Partitions,
    Question,
    RecordCount,
    SignsChoice,
    SplitCounts,
    SplitTables,
)
from frith.kernels.gradients import ScoreColumn
from frith.learners.base import PrivateForest
from frith.parties.merging import MergeError, add_up, together
from frith.privacy.guarantee import Guarantee

T = TypeVar("T", bound=PrivateForest)


class Panel(Protocol):
    """Several parties, and how their answers are added up."""

    @property
    def parties(self) -> Mapping[str, Party]: ...
    @property
    def guarantee(self) -> Guarantee: ...

    def sum(self, question: Question, share: Fraction, purpose: str) -> Release: ...


class OpenSum:
    """Every party publishes its own noisy answer, and anyone can add up any of them.

    Parameters
    ----------
    parties : dict of str to Party
        The parties, by name.
    disjoint : bool, default=False
        True declares that no protected person has records at two of the parties.
    allow_missing : bool, default=False
        True continues without a party that fails; `failures` says who failed, and why.
    """

    def __init__(
        self, parties: Mapping[str, Party], *, disjoint: bool = False, allow_missing: bool = False
    ):
        self.parties, self._disjoint = dict(parties), disjoint
        self._allow_missing, self.failures = allow_missing, dict[str, str]()
        self._heard = dict[str, Party]()
        check_parties(self.parties)

    def sum(self, question: Question, share: Fraction, purpose: str) -> Release:
        answers = []
        for name, party in list(self.parties.items()):
            try:
                answers.append(_checked(party.noisy_counts(question, share, purpose), question))
                self._heard[name] = party
            except (FrithError, OSError, ValueError) as error:
                self._note(name, error)
        if not answers:
            raise MergeError(f"no party answered: {self.failures}")
        return Release(add_up([a.values for a in answers]), float(sum(a.variance for a in answers)))

    @property
    def guarantee(self) -> Guarantee:
        """The joint guarantee of all who answered, including those who failed later."""
        shares = [p.guarantee.of_party(name) for name, p in self._heard.items()]
        return together(shares, disjoint=self._disjoint)

    def _note(self, name: str, error: Exception) -> None:
        if not self._allow_missing:
            raise MergeError(f"{name} failed: {error}") from error
        self.failures[name] = str(error)
        del self.parties[name]


def _checked(answer: Release, question: Question) -> Release:
    if answer.values.shape != tuple(question.shape) or not answer.variance >= 0:
        raise MergeError("the answer has another shape than was asked for")
    return answer


class JointCurator:
    """Replaces a curator; holds no engine and sees no exact number."""

    receipt = None  # each party has its own

    def __init__(self, panel: Panel):
        parties = list(panel.parties.values())
        self.panel, self.domain = panel, parties[0].domain
        self.budget = min((p.budget for p in parties), key=lambda b: b.total)
        self.records_per_unit = records_per_unit(self.domain)
        self._tables: tuple[SplitCounts, list[Release]] | None = None
        self._assumptions: list[str] = []

    @property
    def is_exact(self) -> bool:
        return all(p.budget.is_exact for p in self.panel.parties.values())

    @property
    def has_private_choices(self) -> bool:
        return self.is_exact  # it chooses from noisy sums instead

    @property
    def remaining_share(self) -> Fraction:
        """The smallest share left at any party that has some left; the others cannot answer."""
        left = [p.remaining_share for p in self.panel.parties.values()]
        return min((share for share in left if share > 0), default=Fraction(0))

    @property
    def guarantee(self) -> Guarantee:
        return self.panel.guarantee.assuming(*self._assumptions)

    def records(self, share: Fraction) -> int:
        """The number of records, at least 1: as declared, else noisy for `share` of the budget."""
        if self.domain.records is not None:
            self._assumptions = [RECORDS_ARE_PUBLIC]
            return max(1, self.domain.records)
        return max(1, int(self.noisy_counts(RecordCount(), share, "number of records").values[0]))

    def noisy_counts(self, question: Question, share: Fraction, purpose: str) -> Release:
        return self.panel.sum(question, share, purpose)

    def choose_splits(
        self,
        question: NodeSplits | NamedSplits,
        share: Fraction,
        purpose: str,
        *,
        exponential: bool = False,
    ) -> NDArray[np.int64]:
        """The best candidate at each node by noisy tables of the level; `exponential` changes nothing."""
        tables, variance = self._level_tables(question.kernel, share, purpose)
        rows = zip(
            question.scores(np.maximum(tables, 0)), question.node_weights(), question.options(),
            strict=True,
        )  # fmt: skip
        deviation = math.sqrt(variance)
        return np.array(
            [options[np.argmax(row + deviation * np.array(logs))] for row, logs, options in rows],
            dtype=np.int64,
        )

    def choose(self, question: Choice, share: Fraction, purpose: str) -> int:
        """The best candidate of a list, by noisy sums."""
        noisy = self.noisy_counts(question.kernel, share, purpose)
        bonus = math.sqrt(noisy.variance) * question.weights
        return int(np.argmax(question.scores(noisy.values) + bonus))

    def choose_signs(
        self, question: SignsChoice, share: Fraction, purpose: str
    ) -> tuple[int, NDArray[np.int64]]:
        """The split whose labels differ most, and a sign for each label that stands out."""
        noisy = self.noisy_counts(question.kernel, share, purpose)
        differences = question.scores(noisy.values)
        best = int(np.argmax(np.abs(differences).sum(axis=1)))
        clear = np.abs(differences[best]) > math.sqrt(noisy.variance)
        return best, (np.sign(differences[best]) * clear).astype(np.int64)

    def choose_labels(
        self, question: Partitions, share: Fraction, purpose: str
    ) -> tuple[int, NDArray[np.int64]]:
        """The partition with the best labels, by noisy counts, less what its many labels may add."""
        noisy = self.noisy_counts(question.kernel, share, purpose)
        counts, variance = question.scores(noisy.values), noisy.variance
        starts = np.concatenate([[0], np.cumsum(question.parts)])
        right = np.add.reduceat(counts.max(axis=1), starts[:-1])
        best = int(np.argmax(right + math.sqrt(variance) * question.weights))
        return best, counts[starts[best] : starts[best + 1]].argmax(axis=1)

    def derive(self, column: ScoreColumn) -> None:
        """Have parties that keep records in memory keep derived columns too."""
        for party in self.panel.parties.values():
            if isinstance(party, Curator):
                party.derive(column)

    def _level_tables(
        self, level: SplitCounts, share: Fraction, purpose: str
    ) -> tuple[NDArray[np.int64], float]:
        """A level's noisy tables; a repeated question is answered by a weighted mean of all answers so far.

        The last column, which no choice reads, stays empty.
        """
        answers = self._tables[1] if self._tables and self._tables[0] is level else []
        answers = [*answers, self.noisy_counts(SplitTables(level), share, purpose)]
        self._tables = (level, answers)
        weights = np.array([1 / max(a.variance, 1e-9) for a in answers])
        mean = np.tensordot(weights / weights.sum(), [a.values for a in answers], axes=1)
        tables = np.pad(np.rint(mean).astype(np.int64), ((0, 0), (0, 1), (0, 0)))
        return tables, float(1 / weights.sum())


def train_together(learner: T, panel: Panel) -> T:
    """Fit any learner on the records of several parties, horizontally."""
    if getattr(learner, "as_published", False):
        raise MergeError("the papers' own forms keep no guarantee; parties have no price for them")
    forest = learner.learn(JointCurator(panel))
    parameters = {k: v for k, v in learner.get_params().items() if k != "domain"}
    return type(learner).from_forest(forest, **parameters)


def check_parties(parties: Mapping[str, Party]) -> None:
    """Check that all parties have the same domain and kind of budget; the error names who differs."""
    if not parties:
        raise MergeError("there is no party")
    (first, one), *others = parties.items()
    for name, other in others:
        if other.domain != one.domain:
            raise MergeError(f"{name} declares another domain than {first}")
        if other.budget.unit != one.budget.unit:
            raise MergeError(
                f"{name} asks for another kind of budget than {first}: pure, or with delta"
            )
