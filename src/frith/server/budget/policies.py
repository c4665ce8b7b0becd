"""What a curator allows on a table: its total budget, caps, learners, and when it renews."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from frith.client.requests import POLICY_AMOUNTS, PolicyRequest
from frith.learners import BY_NAME
from frith.privacy.budget import Budget
from frith.privacy.exact import exact, show
from frith.server.budget.amounts import read_budget
from frith.server.problems import invalid

LEAST_EPSILON = "0.001"
"""The least epsilon of a request, unless the curator sets another."""
_CAPS = ("analyst_epsilon", "request_epsilon", "least_epsilon", "approval_epsilon")


@dataclass(frozen=True, slots=True)
class Policy:
    """Amounts are exact text. A cap of None means no cap beyond the table's own budget.

    `least_epsilon` is always set: requests that cost next to nothing could be repeated at will, and
    their noise would be too large to be of use.

    With `renewal_days` the whole budget returns every `renewal_days` days, counted from
    `renewal_start`: over k periods a person is exposed to k times the budget, and every response
    about the budget says so.
    """

    epsilon: str
    delta: str = "0"
    analyst_epsilon: str | None = None
    request_epsilon: str | None = None
    least_epsilon: str = LEAST_EPSILON
    learners: tuple[str, ...] = tuple(BY_NAME)
    renewal_days: int | None = None
    renewal_start: str | None = None
    approval_epsilon: str | None = None
    """Requests for more than this wait for a curator's approval; None if none do."""

    def __post_init__(self) -> None:
        budget = self.budget
        if budget.is_exact:
            raise invalid("a table's epsilon must be finite")
        for name in _CAPS:
            value = getattr(self, name)
            if value is not None and not 0 < exact(value) <= budget.epsilon:
                raise invalid(
                    f"{name} is {value} and must be above 0 and at most the table's epsilon, "
                    f"{self.epsilon}; set {name}",
                )
        unknown = [name for name in self.learners if name not in BY_NAME]
        if unknown or not self.learners:
            raise invalid(f"learners are some of {', '.join(BY_NAME)}")
        if self.renewal_days is not None and not 1 <= self.renewal_days <= 36500:
            raise invalid("renewal_days must be from 1 to 36500")

    @property
    def budget(self) -> Budget:
        return _stored(self.epsilon, self.delta)

    def analyst_budget(self, cap: str | None = None) -> Budget:
        """What one analyst may spend: their own cap, else the policy's, else the table's budget."""
        return _stored(cap or self.analyst_epsilon or self.epsilon, self.delta)

    def check(self, learner: str | None, request: Budget) -> None:
        """Refuse a request that the policy does not allow, whatever is left of the budget."""
        if learner is not None and learner not in self.learners:
            raise invalid(f"this table allows the learners {', '.join(self.learners)}")
        if request.is_exact:
            raise invalid("epsilon must be finite")
        if request.delta and not self.budget.delta:
            raise invalid("this table's budget is pure epsilon: ask with delta = 0")
        if request.delta > self.budget.delta:
            raise invalid(
                f"a request on this table may ask for at most delta {self.delta}",
            )
        largest, least = self.request_epsilon, exact(self.least_epsilon)
        if largest is not None and request.epsilon > exact(largest):
            raise invalid(
                f"a request on this table may ask for at most epsilon {largest}",
            )
        if request.epsilon < least:
            raise invalid(
                f"a request on this table asks for at least epsilon {self.least_epsilon}, and this "
                f"for {float(request.epsilon):.6g}",
            )

    def needs_approval(self, request: Budget) -> bool:
        return self.approval_epsilon is not None and request.epsilon > exact(self.approval_epsilon)

    def is_raised_by(self, other: Policy) -> bool:
        """Whether another policy allows more spending in total, which needs two people."""
        return other.budget.epsilon > self.budget.epsilon or other.budget.total > self.budget.total

    def period(self, now: datetime) -> int | None:
        """The number of the renewal period, from 0; None if the budget does not renew."""
        if self.renewal_days is None or self.renewal_start is None:
            return None
        passed = now - datetime.fromisoformat(self.renewal_start)
        return max(0, passed // timedelta(days=self.renewal_days))

    @property
    def renewal(self) -> str | None:
        """One sentence about the renewal, for everybody who reads the budget."""
        if self.renewal_days is None:
            return None
        return (
            f"this budget renews every {self.renewal_days} days: over k periods a person is "
            f"exposed to k times epsilon {show(exact(self.epsilon))}"
        )

    def to_json(self) -> dict[str, Any]:
        """The policy as JSON, without unset fields that an earlier frith does not know."""
        found = {n: getattr(self, n) for n in self.__slots__} | {"learners": list(self.learners)}
        if self.approval_epsilon is None:
            del found["approval_epsilon"]
        return found

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Policy:
        """Read a stored policy; one without a least epsilon gets the usual one."""
        least = data["least_epsilon"] or show(min(exact(LEAST_EPSILON), exact(data["epsilon"])))
        return cls(**data | {"least_epsilon": least, "learners": tuple(data["learners"])})


@functools.lru_cache(maxsize=1_024)
def _stored(epsilon: str, delta: str) -> Budget:
    """A budget as a policy spells it; every request reads the same few."""
    return Budget.stored(epsilon, delta)


def read_policy(request: PolicyRequest) -> Policy:
    """The policy that a curator asks for, its amounts in their shortest exact spelling."""
    read_budget(request.epsilon, request.delta)
    data = request.model_dump(exclude_none=True)
    for name in set(POLICY_AMOUNTS) & set(data):
        is_delta = name == "delta"
        budget = read_budget(1, data[name]) if is_delta else read_budget(data[name])
        data[name] = show(budget.delta if is_delta else budget.epsilon)
    if "learners" in data:
        data["learners"] = tuple(data["learners"])
    return Policy(**data)
