"""What a rung found, and what all rungs found about one learner."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from importlib.metadata import version
from time import perf_counter
from typing import Any

from frith._version import __version__
from frith.privacy.budget import Budget
from frith.privacy.exact import show

_LIBRARIES = ("numpy", "numba", "opendp", "dp-accounting", "scikit-learn", "scipy")


class Status(StrEnum):
    """What a rung says about a subject."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_CHECKED = "not checked"

    @classmethod
    def of(cls, failed: bool) -> Status:
        return cls.FAILED if failed else cls.PASSED


@dataclass(frozen=True)
class Outcome:
    """What one rung found about one subject.

    `loss` is a lower bound on epsilon: computed exactly if `confidence` is None, else true with that
    confidence. `found` describes what was seen.
    """

    rung: str
    subject: str
    status: Status
    found: str
    loss: float | None = None
    confidence: float | None = None
    seconds: float = 0.0

    @property
    def failed(self) -> bool:
        return self.status is Status.FAILED

    def to_json(self) -> dict[str, Any]:
        return {
            "rung": self.rung,
            "subject": self.subject,
            "status": self.status,
            "found": self.found,
            "loss": _number(self.loss),
            "confidence": self.confidence,
            "seconds": round(self.seconds, 3),
        }


def timed(work: Callable[[], Outcome]) -> Outcome:
    start = perf_counter()
    outcome = work()
    return replace(outcome, seconds=perf_counter() - start)


@dataclass(frozen=True)
class Report:
    """All outcomes of one learner, beside what it claims."""

    learner: str
    claim: Budget
    size: str
    outcomes: tuple[Outcome, ...]

    @property
    def passed(self) -> bool:
        """Whether there are outcomes, none failed, and every rung checked something."""
        checked = {o.rung for o in self.outcomes if o.status is Status.PASSED}
        failed = any(o.failed for o in self.outcomes)
        return bool(checked) and not failed and checked == self.rungs

    @property
    def rungs(self) -> set[str]:
        return {o.rung for o in self.outcomes}

    @property
    def seconds(self) -> float:
        return sum(o.seconds for o in self.outcomes)

    @property
    def measured(self) -> Outcome | None:
        """The largest lower bound measured on runs with noise, with its confidence."""
        found = [o for o in self.outcomes if o.loss is not None and o.confidence is not None]
        return max(found, key=lambda o: o.loss or 0.0, default=None)

    @property
    def computed(self) -> Outcome | None:
        """The largest lower bound on epsilon computed from exact laws."""
        found = [o for o in self.outcomes if o.loss is not None and o.confidence is None]
        return max(found, key=lambda o: o.loss or 0.0, default=None)

    def status_of(self, rung: str) -> Status:
        """Failed if any form of the learner failed; otherwise passed if any was checked."""
        statuses = {o.status for o in self.outcomes if o.rung == rung}
        return next(
            (s for s in (Status.FAILED, Status.PASSED) if s in statuses), Status.NOT_CHECKED
        )

    def to_json(self) -> dict[str, Any]:
        measured, computed = self.measured, self.computed
        return {
            "learner": self.learner,
            "claimed": {"epsilon": show(self.claim.epsilon), "delta": show(self.claim.delta)},
            "passed": self.passed,
            "measured": None if measured is None else measured.to_json(),
            "computed": None if computed is None else computed.to_json(),
            "size": self.size,
            "seconds": round(self.seconds, 3),
            "versions": versions(),
            "outcomes": [o.to_json() for o in self.outcomes],
        }


def versions() -> dict[str, str]:
    """What was audited, and the versions it ran on."""
    own = {"frith": __version__, "python": platform.python_version()}
    return own | {name: version(name) for name in _LIBRARIES}


def _number(value: float | None) -> float | str | None:
    return "inf" if value is not None and math.isinf(value) else value
