"""What a release promises: the amounts, the neighbors, the assumptions, and what was asked."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, replace
from fractions import Fraction
from typing import Any

from frith.privacy.exact import Amount, exact, show

RECORD = "one record added or removed"
DISJOINT = "batches are disjoint in protected units, and a record's batch is a function of that record alone"


def person_neighbors(records: int) -> str:
    """The neighbors of a table in which a person has at most `records` records."""
    return f"all records of one person added or removed (at most {records} of them are counted)"


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """A line of a guarantee's log: what was asked, how it was answered, at what share of the budget."""

    purpose: str
    mechanism: str
    share: Fraction
    sensitivity: int
    scale: float
    cells: int

    def __str__(self) -> str:
        cells = f"{self.purpose}: {self.cells:,} cell{'s' if self.cells != 1 else ''}"
        if self.mechanism == "exact":
            return f"{cells}, exact"
        return (
            f"{cells}, {self.mechanism} of scale {self.scale:.6g} "
            f"(sensitivity {self.sensitivity}), {float(self.share):.4g} of the budget"
        )


@dataclass(frozen=True, slots=True)
class PartyShare:
    """What one of several parties has spent on a joint release."""

    party: str
    epsilon: Amount
    delta: Fraction = Fraction(0)

    def __str__(self) -> str:
        return f"{self.party}: {_amounts(self.epsilon, self.delta)}"

    def to_json(self) -> dict[str, str]:
        return {"party": self.party, "epsilon": show(self.epsilon), "delta": show(self.delta)}

    @classmethod
    def from_json(cls, data: dict[str, str]) -> PartyShare:
        return cls(data["party"], exact(data["epsilon"]), _delta(data))


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A differential privacy claim, as plain data that travels with a forest.

    The epsilon is what was reserved before the first record was read, never the smaller amount
    that happened to be used.
    """

    epsilon: Amount
    delta: Fraction = Fraction(0)
    neighbors: str = RECORD
    assumptions: tuple[str, ...] = ()
    asked: tuple[AnsweredQuestion, ...] = field(default=(), repr=False)
    parties: tuple[PartyShare, ...] = ()

    @property
    def holds(self) -> bool:
        """False in the exact limit, which promises nothing."""
        return self.epsilon != math.inf

    def assuming(self, *assumptions: str) -> Guarantee:
        """The same claim under further assumptions."""
        new = tuple(a for a in assumptions if a not in self.assumptions)
        return replace(self, assumptions=self.assumptions + new)

    def then(self, other: Guarantee, *, disjoint: bool = False) -> Guarantee:
        """The claim for both releases together.

        Amounts add (basic composition holds for adaptive releases). When the two batches are
        declared disjoint in protected units, each unit is touched by one release only and the
        larger amount of each kind holds for both (parallel composition).
        """
        if self.neighbors != other.neighbors:
            raise ValueError("guarantees about different neighbors do not compose")
        together = max if disjoint else _add
        merged = replace(
            self,
            epsilon=together(self.epsilon, other.epsilon),
            delta=together(self.delta, other.delta),
            asked=self.asked + other.asked,
            parties=self.parties + other.parties,
        )
        return merged.assuming(*other.assumptions, *((DISJOINT,) if disjoint else ()))

    def of_party(self, name: str) -> Guarantee:
        """The same claim, as one party's part of a joint release."""
        return replace(self, parties=(PartyShare(name, self.epsilon, self.delta),))

    def to_json(self) -> dict[str, Any]:
        asked = [asdict(q) | {"share": str(q.share)} for q in self.asked]
        return {
            "epsilon": show(self.epsilon),
            "delta": show(self.delta),
            "neighbors": self.neighbors,
            "assumptions": list(self.assumptions),
            "asked": asked,
        } | ({"parties": [p.to_json() for p in self.parties]} if self.parties else {})

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Guarantee:
        asked = (AnsweredQuestion(**(q | {"share": Fraction(q["share"])})) for q in data["asked"])
        return cls(
            exact(data["epsilon"]),
            _delta(data),
            data["neighbors"],
            tuple(data["assumptions"]),
            tuple(asked),
            tuple(PartyShare.from_json(p) for p in data.get("parties", ())),
        )

    def __str__(self) -> str:
        if not self.holds:
            reasons = [
                a for a in self.assumptions if a.startswith(("as published", "releases frozen"))
            ]
            return f"no privacy guarantee: {'; '.join(reasons) or 'exact counts (epsilon=inf)'}"
        amounts = _amounts(self.epsilon, self.delta)
        text = f"{amounts} differential privacy; neighbors: {self.neighbors}"
        return text + "".join(f"\n  assumes: {a}" for a in self.assumptions)


def _add(a: Any, b: Any) -> Any:
    return a + b


def _amounts(epsilon: Amount, delta: Fraction) -> str:
    return f"epsilon={show(epsilon)}" + (f", delta={show(delta)}" if delta else "")


def _delta(data: dict[str, Any]) -> Fraction:
    delta = exact(data["delta"])
    assert isinstance(delta, Fraction)
    return delta
