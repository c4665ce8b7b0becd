"""What a learner may ask: the small protocol that curators implement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.kernels import Choice, NamedSplits, NodeSplits, Partitions, Question, SignsChoice
from frith.kernels.gradients import ScoreColumn
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee

if TYPE_CHECKING:
    from frith.ledger import Receipt

Progress = Callable[[str], None]
"""Called with the purpose of each pass as it begins: passes are public, records are not."""


@dataclass(frozen=True, slots=True)
class Release:
    """Noisy sums, and the variance of the noise on each of them."""

    values: NDArray[np.int64]
    variance: float


class Party(Protocol):
    """Somebody who answers questions about their own records: a `Curator`, or a server."""

    @property
    def domain(self) -> Domain: ...
    @property
    def budget(self) -> Budget: ...
    @property
    def guarantee(self) -> Guarantee: ...
    @property
    def remaining_share(self) -> Fraction: ...

    def noisy_counts(self, question: Question, share: Fraction, purpose: str) -> Release:
        """The sums of a question, with noise for `share` of the budget."""
        ...


class CuratorLike(Party, Protocol):
    """Answers a learner's questions within one budget, with releases and nothing else."""

    @property
    def is_exact(self) -> bool: ...
    @property
    def records_per_unit(self) -> int: ...
    @property
    def receipt(self) -> Receipt | None: ...
    @property
    def has_private_choices(self) -> bool:
        """Whether a choice is as good as its share; else it is made from noisy sums of everything."""
        ...

    def choose(self, question: Choice, share: Fraction, purpose: str) -> int:
        """The place of one candidate of a list."""
        ...

    def choose_splits(
        self,
        question: NodeSplits | NamedSplits,
        share: Fraction,
        purpose: str,
        *,
        exponential: bool = False,
    ) -> NDArray[np.int64]:
        """A candidate for each node of a level."""
        ...

    def choose_signs(
        self, question: SignsChoice, share: Fraction, purpose: str
    ) -> tuple[int, NDArray[np.int64]]:
        """The place of a split, and a sign or nothing for every label."""
        ...

    def choose_labels(
        self, question: Partitions, share: Fraction, purpose: str
    ) -> tuple[int, NDArray[np.int64]]:
        """The place of a partition, and a label for each of its parts."""
        ...

    def records(self, share: Fraction) -> int:
        """The number of records, at least 1: as declared, else noisy for `share` of the budget."""
        ...

    def derive(self, column: ScoreColumn) -> None:
        """Keep a derived column beside the records, where there is room."""
        ...


def most_counted(curator: CuratorLike) -> int:
    """The most that one unit is counted in a choice: by parties, who add up what others choose from,
    once for every attribute."""
    per_unit = curator.records_per_unit
    return per_unit if curator.has_private_choices else per_unit * len(curator.domain.attributes)


def records_per_unit(domain: Domain) -> int:
    """The most records of one protected unit that are counted."""
    return 1 if domain.person is None else domain.person.records
