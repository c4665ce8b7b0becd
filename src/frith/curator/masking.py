"""How one party hides its answer until it is added to the others'. A curator believes no other type."""

from __future__ import annotations

from abc import ABC, abstractmethod
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from frith.domain import Domain
from frith.kernels import Question
from frith.privacy.budget import Budget


class Masking(ABC):
    """One party's side of a round of a secure sum."""

    @property
    @abstractmethod
    def honest(self) -> int:
        """How many parties are sure not to share what they know."""

    @property
    @abstractmethod
    def assumption(self) -> str:
        """What a claim about the sum takes for granted about the parties."""

    @abstractmethod
    def check(self, question: Question, domain: Domain, budget: Budget, share: Fraction) -> None:
        """Raise unless the others were asked this very question, at this price."""

    @abstractmethod
    def hide(self, values: NDArray[np.int64]) -> NDArray[np.uint64]:
        """The values under a mask that the others' masks cancel."""
