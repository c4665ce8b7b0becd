"""The learners as a form offers them: a line each, and fields for their parameters."""

from __future__ import annotations

import functools
import inspect
import re
from dataclasses import dataclass
from typing import Any

from frith.client.kinds import ProblemCode
from frith.learners import BY_NAME
from frith.server.jobs.requests import parameters_of, summary
from frith.server.problems import Problem
from frith.server.web.forms import Sent

_ENTRY = re.compile(r"^([a-z_, ]+) : (.+(?:\n .+)*)$", re.MULTILINE)
_WANTED = {"flag": "true or false", "whole": "a whole number", "number": "a number"}
_CHOICE = re.compile(r'"([a-z]+)"')


@dataclass(frozen=True)
class Field:
    """One parameter: an input whose name is the learner's and the parameter's."""

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


def offers(learners: tuple[str, ...], sent: Sent) -> list[Offer]:
    return [
        Offer(name, summary(name), tuple(_field(name, p, v, sent) for p, v in _known(name)))
        for name in learners
    ]


def read_parameters(learner: str, sent: Sent) -> dict[str, Any]:
    """What was filled in for the chosen learner; the others' fields are not looked at."""
    if learner not in BY_NAME:
        return {}
    fields = (_field(learner, name, default, sent) for name, default in _known(learner))
    return {field.name: _read(field) for field in fields if field.value}


def _known(learner: str) -> list[tuple[str, Any]]:
    return sorted(parameters_of(learner).items())


def _field(learner: str, name: str, default: Any, sent: Sent) -> Field:
    hint = _hints(learner).get(name, "")
    kind, options = _kind(default), tuple(_CHOICE.findall(hint))
    shown = "" if default is None else str(default).lower()
    place = f"{learner}-{name}"
    return Field(place, name, kind, shown, options, hint, sent.text(place))


def _kind(default: Any) -> str:
    kinds = {bool: "flag", str: "choice", float: "number"}
    return kinds.get(type(default), "whole")


def _read(field: Field) -> Any:
    """A number or a flag as such, so that a default spelled out is the same request."""
    text = field.value
    try:
        match field.kind:
            case "flag":
                return {"true": True, "false": False}[text]
            case "whole":
                return int(text)
            case "number":
                return float(text)
    except (ValueError, KeyError):
        wanted = _WANTED[field.kind]
        raise Problem(
            ProblemCode.INVALID, f"the parameter {field.name} is {wanted}, not {text!r}"
        ) from None
    return text


@functools.cache
def _hints(learner: str) -> dict[str, str]:
    """What the learner's own documentation says of each parameter."""
    text = inspect.getdoc(BY_NAME[learner]) or ""
    _, _, text = text.partition("Parameters\n----------\n")
    text, _, _ = text.partition("\n\n")
    found = ((names, " ".join(words.split())) for names, words in _ENTRY.findall(text))
    return {name.strip(): words for names, words in found for name in names.split(",")}
