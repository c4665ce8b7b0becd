"""A public structure that parties share: trees made once from a domain and a seed, before any record."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from frith._documents import read_file, reading, write_file
from frith.curator import Curator
from frith.domain import Domain
from frith.domain.synthetic import synthetic_table
from frith.engines import open_table
from frith.errors import FormatError
from frith.forest.trees import Trees
from frith.learners import (
    RandomDecisionForestClassifier,
    RandomDecisionForestRegressor,
    SignalForestClassifier,
)
from frith.learners.public_trees import PublicTreesClassifier
from frith.privacy.budget import Budget

FORMAT = "frith-structure/1"
Learner = type[PublicTreesClassifier] | type[RandomDecisionForestRegressor]
LEARNERS: dict[str, type[PublicTreesClassifier]] = {
    "random-decision": RandomDecisionForestClassifier,
    "signal": SignalForestClassifier,
}
"""The learners that grow their trees before they read any record."""
OF_NUMBERS = {"random-decision": RandomDecisionForestRegressor}
"""The same for a label that is a number."""


def learner_of(name: str, domain: Domain) -> Learner:
    """The learner of a structure over a domain, by its name."""
    known: dict[str, Any] = OF_NUMBERS if domain.has_target else LEARNERS
    if name not in known:
        raise FormatError(
            f"a structure with such a label is for {' or '.join(known)}, not {name!r}"
        )
    found: Learner = known[name]
    return found


@dataclass(frozen=True, eq=False)
class Structure:
    """Trees over a domain, and which learner finishes them. Holds nothing about any record."""

    domain: Domain
    trees: Trees
    learner: str
    hash: str = field(init=False)

    def __post_init__(self) -> None:
        learner_of(self.learner, self.domain)
        self.trees.check(self.domain)
        object.__setattr__(self, "hash", hash_of(self._content()))

    @property
    def learner_class(self) -> Learner:
        return learner_of(self.learner, self.domain)

    @property
    def per_leaf(self) -> int:
        """How many numbers a party releases for each leaf: one a label, or two sums for a number."""
        return 2 if self.domain.has_target else self.domain.n_labels

    def _content(self) -> dict[str, Any]:
        return {
            "learner": self.learner,
            "domain": self.domain.to_json(),
            "trees": self.trees.to_json(),
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Structure) and self.hash == other.hash

    def __hash__(self) -> int:
        return hash(self.hash)

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT, "hash": self.hash, **self._content()}

    @classmethod
    def from_json(cls, data: Any) -> Structure:
        """Read a structure; its stated hash must match its content."""
        with reading(data, "structure", FORMAT):
            domain = Domain.from_json(data["domain"])
            found = cls(domain, Trees.from_json(data["trees"], domain), str(data["learner"]))
        if found.hash != data.get("hash"):
            raise FormatError("the structure was changed: its hash is not that of its content")
        return found

    def save(self, path: str | Path) -> None:
        write_file(path, self.to_json())

    @classmethod
    def load(cls, path: str | Path) -> Structure:
        return cls.from_json(read_file(path))


def make_structure(
    domain: Domain, learner: str = "random-decision", *, epsilon: Any = 1, **parameters: Any
) -> Structure:
    """Grow a structure from public facts.

    If trees depend on the number of records, the domain must declare it; those of the signal
    forest also depend on the epsilon (and delta) that each party will spend.
    """
    model = learner_of(learner, domain)(domain, epsilon=epsilon, **parameters)
    if domain.records is None and parameters.get("max_depth") is None:
        raise ValueError("declare the number of records in the domain, or pass max_depth")
    curator = _curator_of_nobody(domain, Budget.of(epsilon, model.delta))
    return Structure(domain, model.grow(curator), learner)


def _curator_of_nobody(domain: Domain, budget: Budget) -> Curator:
    """A curator without records: whatever it answers is public."""
    nobody: pa.Table = synthetic_table(domain, 0, np.random.default_rng(0))
    return Curator(open_table(nobody, domain, threads=1), budget)


def hash_of(content: Any) -> str:
    """SHA-256 of canonical JSON."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
