"""A table as one member sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from frith.client.kinds import ProblemCode
from frith.domain import Domain
from frith.learners import PrivateForest, learners_for
from frith.privacy.neighbors import neighbors_of
from frith.server.budget.policies import Policy
from frith.server.problems import Problem, invalid
from frith.server.schema import RegisteredTable

_FLAGSHIP = "forest"


@dataclass(frozen=True)
class View:
    """A table with the attributes and the cap of a member's grant."""

    table: RegisteredTable
    domain: Domain
    policy: Policy
    cap: str | None = None

    @property
    def name(self) -> str:
        return self.table.name

    @property
    def neighbors(self) -> str:
        """The neighbors that the amounts of the table's accounts protect."""
        person = self.domain.person
        return neighbors_of(None if person is None else person.records)

    @property
    def learners(self) -> dict[str, type[PrivateForest]]:
        """The learners that the policy allows and that predict this kind of label."""
        known = learners_for(self.domain)
        return {name: known[name] for name in self.policy.learners if name in known}

    @property
    def learner(self) -> str:
        """The learner used when a request names none: the flagship, if the policy allows it."""
        return _FLAGSHIP if _FLAGSHIP in self.learners else next(iter(self.learners))

    def check_learners(self) -> None:
        """Refuse a policy under which nothing could be trained."""
        if not self.learners:
            names = ", ".join(learners_for(self.domain))
            raise invalid(
                f"the label {self.domain.label.name!r} is a number, which none of the allowed learners "
                f"predicts; allow {names}"
            )

    def check_reach(self, attributes: Sequence[str]) -> None:
        """Refuse a request that needs attributes outside the grant, which may have been narrowed."""
        if not set(attributes) <= set(self.domain.names):
            raise Problem(
                ProblemCode.FORBIDDEN,
                "your grant does not include every attribute of this forest; ask the curator",
            )
