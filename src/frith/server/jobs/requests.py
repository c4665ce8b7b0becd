"""What can be asked about a table, in one canonical form: the same request is the same text."""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from frith.domain import Domain
from frith.learners import PrivateForest, learners_for
from frith.privacy.budget import Budget
from frith.privacy.exact import show
from frith.server.problems import invalid

_NUMBER = re.compile(r"[0-9]{1,9}(\.[0-9]{1,18})?(e-?[0-9]{1,2})?\Z|[0-9]{1,9}/[0-9]{1,9}\Z")
_WORD = re.compile(r"[a-z][a-z0-9_-]{0,40}\Z")
_LARGEST = 10_000
_LARGEST_OF = {"random_state": 2**32 - 1, "min_support": 2**32 - 1}
"""The largest whole numbers allowed: trees, levels and bins cost time and memory before any question."""
_RESERVED = {
    "domain", "epsilon", "delta", "ledger", "n_jobs", "device", "interval", "coverage", "held_out",
    "public", "question_weights",
}  # fmt: skip
"""Parameters that a request cannot set: those that the server sets itself, those of intervals and sets,
which a job does not release, and priors, because only the curator may declare something public."""

ASSUMED = (
    "when a job starts and how long it takes tell nothing about the records",
    "names and types of columns, and sizes and footers of files, are public",
    "that a job is not ended at a limit of time or memory tells nothing about the records",
)
"""What every guarantee from a server assumes besides its claim."""


@dataclass(frozen=True)
class JobRequest:
    """A request: its kind, its budget, and everything that its answer depends on."""

    kind: str
    budget: Budget
    details: dict[str, Any]

    @property
    def body(self) -> str:
        amounts = {"epsilon": show(self.budget.epsilon), "delta": show(self.budget.delta)}
        return json.dumps({"kind": self.kind, **amounts, **self.details}, sort_keys=True)

    @property
    def hash(self) -> str:
        return hashlib.sha256(self.body.encode()).hexdigest()

    @property
    def forest(self) -> str | None:
        """The release that a score or an update is about."""
        return self.details.get("forest")

    @property
    def round(self) -> str | None:
        """The hash of a secure sum's round: no two jobs answer the same one."""
        round = self.details.get("round")
        if round is None:
            return None
        return hashlib.sha256(json.dumps(round, sort_keys=True).encode()).hexdigest()

    @property
    def purpose(self) -> str:
        """One line for the ledger."""
        what = self.details.get("learner") or self.details.get("batch") or ""
        return f"{self.kind} {what}".strip()

    @classmethod
    def read(cls, body: str) -> JobRequest:
        data = json.loads(body)
        budget = Budget.stored(data.pop("epsilon"), data.pop("delta"))
        return cls(data.pop("kind"), budget, data)


def ask_to_train(
    kind: str, learner: str, budget: Budget, parameters: dict[str, Any], domain: Domain
) -> JobRequest:
    """A request for a forest, or a dry run of one, on the attributes that the caller may see."""
    known = learners_for(domain)
    if learner not in known:
        raise invalid(f"there is no such learner for this label; choose one of {', '.join(known)}")
    details = {
        "learner": learner,
        "parameters": _parameters(learner, known[learner], parameters),
        "columns": list(domain.names),
    }
    return JobRequest(kind, budget, details)


def make_learner(asked: JobRequest, domain: Domain, seed: int) -> Any:
    """The learner that a request asks for; without a `random_state` it gets the job's seed."""
    parameters = dict(asked.details["parameters"])
    if parameters.get("random_state", 0) is None:
        parameters["random_state"] = seed
    kind: Any = learners_for(domain)[asked.details["learner"]]
    return kind(domain=domain, epsilon=asked.budget.epsilon, delta=asked.budget.delta, **parameters)


@functools.cache
def offered(kind: type[PrivateForest]) -> Mapping[str, Any]:
    """The parameters of a learner that a request may set, with their defaults."""
    defaults = kind().get_params()
    return {name: value for name, value in defaults.items() if name not in _RESERVED}


def summary(kind: type[PrivateForest]) -> str:
    return (kind.__doc__ or "").strip().splitlines()[0]


def parameters_of(kind: type[PrivateForest]) -> dict[str, Any]:
    return {name: value for name, value in offered(kind).items() if name != "as_published"}


def _parameters(learner: str, kind: type[PrivateForest], given: dict[str, Any]) -> dict[str, Any]:
    """All parameters, given or not, so that spelling out a default is the same request."""
    known = offered(kind)
    for name, value in given.items():
        if name not in known:
            names = ", ".join(n for n in sorted(known) if n != "as_published")
            raise invalid(f"the learner {learner} has the parameters {names}")
        if not _is_plain(value):
            raise invalid(f"the parameter {name} has no such value")
        largest = _LARGEST_OF.get(name, _LARGEST)
        if isinstance(value, int) and not 0 <= value <= largest:
            raise invalid(f"the parameter {name} is from 0 to {largest} here")
    chosen = {**known, **given}
    if chosen.pop("as_published", False) is not False:
        raise invalid("as_published keeps no guarantee, so it is not offered here")
    return chosen


def _is_plain(value: Any) -> bool:
    """Whether a value is a short number or word."""
    if value is None or isinstance(value, int):
        return True
    if isinstance(value, float):
        return 1e-9 <= value <= 1e9 or value == 0
    return isinstance(value, str) and bool(_WORD.match(value) or _NUMBER.match(value))
