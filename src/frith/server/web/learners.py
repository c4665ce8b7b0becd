"""The learners in a form: a summary of each, and fields for its parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from frith.growing.allocation import ALLOCATIONS
from frith.learners import PrivateForest
from frith.learners.hints import parameter_hints
from frith.learners.parameters import MECHANISMS
from frith.server.jobs.requests import parameters_of, summary
from frith.server.problems import invalid
from frith.server.web.forms import Form

_WANTED = {"flag": "true or false", "whole": "a whole number", "number": "a number"}
_READERS: dict[str, Callable[[str], Any]] = {
    "flag": {"true": True, "false": False}.__getitem__, "whole": int, "number": float, "choice": str,
}  # fmt: skip
_CHOICES = {
    "allocation": ALLOCATIONS,
    "criterion": ("gini", "entropy", "max"),
    "mechanism": MECHANISMS,
    "queries": ("exponential", "counts"),
}


@dataclass(frozen=True)
class Field:
    """One parameter: an input that is named for the learner and the parameter."""

    id: str
    name: str
    kind: str  # whole, number, flag or choice
    default: str
    options: tuple[str, ...]
    hint: str
    value: str


@dataclass(frozen=True)
class Offer:
    """A learner that the table allows."""

    name: str
    summary: str
    fields: tuple[Field, ...]


def offers(learners: Mapping[str, type[PrivateForest]], form: Form) -> list[Offer]:
    return [
        Offer(name, summary(kind), tuple(_fields(name, kind, form)))
        for name, kind in learners.items()
    ]


def read_parameters(learner: str, kind: type[PrivateForest] | None, form: Form) -> dict[str, Any]:
    """The parameters that were filled in for the chosen learner; other learners' fields are ignored."""
    fields = () if kind is None else _fields(learner, kind, form)
    return {field.name: _read(field) for field in fields if field.value}


def _fields(learner: str, kind: type[PrivateForest], form: Form) -> Iterator[Field]:
    hints = parameter_hints(kind)
    for name, default in sorted(parameters_of(kind).items()):
        yield _field(learner, name, default, hints.get(name, ""), form)


def _field(learner: str, name: str, default: Any, hint: str, form: Form) -> Field:
    options = _CHOICES.get(name, ())
    kind = "choice" if options else _kind(default)
    shown = "" if default is None else str(default).lower()
    place = f"{learner}-{name}"
    return Field(place, name, kind, shown, options, hint, form.text(place))


def _kind(default: Any) -> str:
    kinds = {bool: "flag", str: "choice", float: "number"}
    return kinds.get(type(default), "whole")


def _read(field: Field) -> Any:
    """The field's value in its own type, so that spelling out a default is the same request."""
    try:
        return _READERS[field.kind](field.value)
    except (ValueError, KeyError):
        raise invalid(
            f"the parameter {field.name} is {_WANTED[field.kind]}, not {field.value!r}"
        ) from None
