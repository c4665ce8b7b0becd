"""What a server says, as plain frozen objects that print well."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, Self, TypeVar

from frith.domain import Domain
from frith.privacy.exact import readable

T = TypeVar("T")


class Listing(list[T]):
    """A list that prints its items a line each."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "(none)"


class Said:
    """Reads the fields that it knows; a newer server may say more."""

    AMOUNTS: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Self:
        known = {f.name: said[f.name] for f in fields(cls) if f.name in said}  # type: ignore[arg-type]
        amounts = {n: Fraction(known[n]) for n in cls.AMOUNTS if known.get(n) is not None}
        return cls(**known | amounts)


@dataclass(frozen=True)
class TableInfo(Said):
    """A table that one may ask about, as far as one's grant goes."""

    name: str
    title: str
    version: int
    policy: Mapping[str, Any] = field(repr=False)
    renewal: str | None = field(repr=False)
    learner: str = field(repr=False)
    """Of a request that names none."""
    domain: Domain = field(repr=False)
    batches: tuple[str, ...]
    source: str | None = field(repr=False)
    """For curators, without passwords."""

    @classmethod
    def read(cls, said: Mapping[str, Any]) -> Self:
        batches = tuple(batch["name"] for batch in said["batches"])
        return super().read(
            {**said, "domain": Domain.from_json(said["domain"]), "batches": batches}
        )

    def __str__(self) -> str:
        title = f"{self.title}; " if self.title else ""
        label = self.domain.label
        batches = f", batches {', '.join(self.batches)}" if self.batches else ""
        return (
            f"{self.name}: {title}{len(self.domain.names)} attributes, label {label.name!r} of "
            f"{len(label.values)} values, version {self.version}{batches}"
        )


@dataclass(frozen=True)
class Account(Said):
    """A budget and what has become of it, in its own unit: epsilon, or rho where it has a delta."""

    name: str
    unit: str
    epsilon: Fraction
    delta: Fraction
    total: Fraction
    spent: Fraction
    held: Fraction
    """Reserved for jobs that have not started."""
    left: Fraction
    left_epsilon: float
    """What is left as the epsilon that it buys in one request, for reading."""
    neighbors: str | None = None
    """What the amounts are about: one record, or all records of one person."""
    renewal: str | None = None
    whole: Account | None = None
    """The table's own account, for curators."""
    analysts: tuple[Account, ...] = ()
    """Everybody's, for curators."""
    batches: Mapping[str, Account] = field(default_factory=dict)
    """Yours of the batches that have a budget of their own, by their names."""

    AMOUNTS = ("epsilon", "delta", "total", "spent", "held", "left")

    @classmethod
    def read_budget(cls, said: Mapping[str, Any]) -> Self:
        """One's own account of a table or a batch; for curators with everybody's beside it."""
        more = {
            "renewal": said.get("renewal"),
            "whole": None if said.get("whole") is None else cls.read(said["whole"]),
            "analysts": tuple(cls.read(account) for account in said.get("analysts") or ()),
            "batches": {b["batch"]: cls.read_budget(b) for b in said.get("batches", ())},
        }
        return cls.read({**said["own"], **more})

    def __str__(self) -> str:
        held = f", {readable(self.held)} held" if self.held else ""
        about = f" (epsilon {self.left_epsilon:.4g})" if self.unit != "epsilon" else ""
        text = (
            f"{self.name}: {self.unit} {readable(self.spent)} of {readable(self.total)} spent{held}, "
            f"{readable(self.left)} left{about}"
        )
        beside = (self.whole, *self.analysts, *self.batches.values())
        others = [str(a) for a in beside if a and a.name != self.name]
        return "\n".join([text, *others, *([self.renewal] if self.renewal else [])])


@dataclass(frozen=True)
class Quote(Said):
    """What a request would cost, and what would be left."""

    unit: str
    cost: Fraction
    left: Fraction
    left_after: Fraction
    left_after_epsilon: float
    granted: bool
    refusal: str | None

    AMOUNTS = ("cost", "left", "left_after")

    def __str__(self) -> str:
        if self.refusal is not None:
            return self.refusal
        about = f" (epsilon {self.left_after_epsilon:.4g})" if self.unit != "epsilon" else ""
        return (
            f"costs {self.unit} {readable(self.cost)} of the {readable(self.left)} that you have left; "
            f"{readable(self.left_after)}{about} would remain"
        )


@dataclass(frozen=True)
class LearnerInfo(Said):
    """A learner of the server, and the parameters that a request may set."""

    name: str
    summary: str
    parameters: Mapping[str, Any]

    def __str__(self) -> str:
        settings = ", ".join(f"{k}={v}" for k, v in self.parameters.items())
        return f"{self.name}: {self.summary} {settings}".rstrip()


@dataclass(frozen=True)
class Grant(Said):
    """Who may ask about a table: about which attributes, and for how much."""

    table: str
    member: str
    columns: Sequence[str] | None
    epsilon: Fraction | None

    AMOUNTS = ("epsilon",)

    def __str__(self) -> str:
        what = "all attributes" if self.columns is None else ", ".join(self.columns)
        cap = "" if self.epsilon is None else f"; at most epsilon {readable(self.epsilon)}"
        return f"{self.member} may ask {self.table} about {what}{cap}"


@dataclass(frozen=True)
class Member(Said):
    """Somebody who may use the server."""

    name: str
    role: str
    subject: str | None
    created: str
    disabled: str | None

    def __str__(self) -> str:
        return f"{self.name}, {self.role}" + (", disabled" if self.disabled else "")


@dataclass(frozen=True)
class Token(Said):
    """A token by its id; its text is there once, when it is made, and is never printed."""

    id: str
    member: str
    note: str
    created: str
    expires: str
    revoked: str | None
    token: str | None = field(default=None, repr=False)

    def __str__(self) -> str:
        state = f"revoked {self.revoked[:10]}" if self.revoked else f"until {self.expires[:10]}"
        note = f" ({self.note})" if self.note else ""
        return f"{self.id} of {self.member}{note}, {state}"


@dataclass(frozen=True)
class PartyInfo(Said):
    """A server as one of several parties."""

    party: str | None
    key: str | None

    def __str__(self) -> str:
        return f"{self.party}, key {self.key}" if self.key else "no party: it has no keys"
