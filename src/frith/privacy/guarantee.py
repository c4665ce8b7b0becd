"""What a release promises: the amounts, the neighbors, the assumptions, and what was asked."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import Any

from frith.privacy.exact import Amount, exact, show
from frith.privacy.neighbors import RECORD
from frith.privacy.notebook import guarantee_html

DISJOINT = "batches are disjoint in protected units, and a record's batch is a function of that record alone"


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

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> AnsweredQuestion:
        line = cls(**(data | {"share": _finite(data["share"])}))
        _text(line.purpose), _text(line.mechanism)
        numbers = (line.sensitivity, line.cells)
        if any(type(n) is not int or n < 0 for n in numbers) or not _is_scale(line.scale):
            raise ValueError("a line of the log has a number that no question has")
        return line


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
    def from_json(cls, data: dict[str, Any]) -> PartyShare:
        return cls(_text(data["party"]), _spent(data["epsilon"]), _delta(data))


@dataclass(frozen=True, slots=True, repr=False)
class Guarantee:
    """A differential privacy claim, as plain data that travels with a forest.

    The epsilon is what was reserved before the first record was read, never the smaller amount
    that happened to be used.
    """

    epsilon: Amount
    delta: Fraction = Fraction(0)
    neighbors: str = RECORD
    assumptions: tuple[str, ...] = ()
    asked: tuple[AnsweredQuestion, ...] = ()
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
        """Read a claim. An amount below 0 is refused: added to others, it would hide what they cost."""
        if type(data["assumptions"]) is not list:
            raise ValueError("assumptions are a list of texts")
        return cls(
            _spent(data["epsilon"]),
            _delta(data),
            _text(data["neighbors"]),
            tuple(_text(a) for a in data["assumptions"]),
            tuple(AnsweredQuestion.from_json(q) for q in data["asked"]),
            tuple(PartyShare.from_json(p) for p in data.get("parties", ())),
        )

    def __repr__(self) -> str:
        claim = _amounts(self.epsilon, self.delta) if self.holds else "none"
        return (
            f"<Guarantee: {claim}; {self.neighbors}; assumptions: {len(self.assumptions)}, "
            f"questions: {len(self.asked)}>"
        )

    def _repr_html_(self) -> str:
        return guarantee_html(self)

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
    return _finite(data["delta"])


def _finite(value: Any) -> Fraction:
    amount = _spent(value)
    if not isinstance(amount, Fraction):
        raise ValueError("only epsilon can be infinite")
    return amount


def _spent(value: Any) -> Amount:
    amount = exact(value)
    if amount < 0:
        raise ValueError("an amount is below 0")
    return amount


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a text is none")
    return value


def _is_scale(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf
