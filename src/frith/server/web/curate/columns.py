"""A drafted domain column by column: the curator decides whether each is public, and what it holds.

The form carries the draft, which is stored nowhere. Only columns that the curator declares public get
into the domain, as they are then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import tomli_w

from frith.domain import Domain
from frith.domain.drafted import Draft
from frith.errors import DomainError, FormatError
from frith.server.problems import invalid
from frith.server.web.forms import Form

_BOUNDS = (("low", "high"), ("first", "last"))


@dataclass(frozen=True)
class Column:
    """A row of the form: a drafted column, with the curator's edits."""

    number: int
    data: dict[str, Any]
    is_label: bool
    is_public: bool
    hints: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        return str(self.data["name"])

    @property
    def values(self) -> str | None:
        """The values, one a line; None for a column with bounds."""
        return "\n".join(map(_text, self.data["values"])) if "values" in self.data else None

    @property
    def scale(self) -> str | None:
        """The scale of a number to predict; None for any other column."""
        return (
            str(self.data.get("scale", "linear")) if self.is_label and "low" in self.data else None
        )

    @property
    def bounds(self) -> list[tuple[str, str]]:
        pairs = next((pair for pair in _BOUNDS if pair[0] in self.data), ())
        return [(name, _text(self.data[name])) for name in pairs]


@dataclass(frozen=True)
class Columns:
    """All columns of a draft, those left out with the reason, and the text that the form carries."""

    columns: tuple[Column, ...]
    left_out: dict[str, str]
    text: str

    @classmethod
    def of(cls, draft: Draft) -> Columns:
        """The columns of a new draft; none is public yet."""
        hints = {name: list(found) for name, found in draft.hints.items()}
        told = {"domain": draft.domain.to_json(), "left_out": dict(draft.left_out), "hints": hints}
        return cls._read(json.dumps(told), Form())

    @classmethod
    def sent(cls, form: Form) -> Columns | None:
        """The columns that a form carries; None if it carries none."""
        text = form.text("columns-draft")
        return cls._read(text, form) if text else None

    @classmethod
    def _read(cls, text: str, form: Form) -> Columns:
        try:
            told = json.loads(text)
            domain, hints = told["domain"], told["hints"]
            drafted = [domain["label"], *domain["attributes"]]
            found = tuple(
                Column(
                    i, _typed(data, i, form), i == 0, form.has(f"column-{i}-public"),
                    tuple(hints.get(data["name"], ())),
                )
                for i, data in enumerate(drafted)
            )  # fmt: skip
            return cls(found, dict(told["left_out"]), text)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            raise invalid("the columns cannot be read; draft the domain again") from None

    def check_shown(self, shown: str) -> None:
        """Refuse columns that differ from the public file that was last shown."""
        marked = any(column.is_public for column in self.columns)
        if marked and self.public().strip().splitlines() != shown.strip().splitlines():
            raise invalid("the columns were changed; preview the public file again")

    def public(self) -> str:
        """The domain of the columns that are public, as TOML: what analysts will see, and no more."""
        label, *attributes = self.columns
        kept = [column.data for column in attributes if column.is_public]
        if not label.is_public or not kept:
            raise invalid("declare the label and at least one attribute public")
        data = json.loads(self.text)["domain"] | {"label": label.data, "attributes": kept}
        data.pop("learned", None)
        try:
            return tomli_w.dumps(Domain.from_json(data).to_json())
        except (DomainError, FormatError) as error:
            raise invalid(str(error)) from None


def _typed(data: dict[str, Any], number: int, form: Form) -> dict[str, Any]:
    """A column with the values or bounds of the form, where it has them."""
    return data | dict(_changes(data, f"column-{number}-", form))


def _changes(data: dict[str, Any], field: str, form: Form) -> Iterator[tuple[str, Any]]:
    if "values" in data and form.has(f"{field}values"):
        known = {_text(value): value for value in data["values"]}
        lines = [line.strip() for line in form.text(f"{field}values").splitlines()]
        yield "values", [known.get(line, _like(data["values"][0], line)) for line in lines if line]
    for name in (name for pair in _BOUNDS for name in pair if name in data):
        if form.has(field + name):
            yield name, _like(data[name], form.text(field + name))
    if "low" in data and form.has(f"{field}scale"):
        yield "scale", form.text(f"{field}scale")


def _like(example: Any, text: str) -> Any:
    """A typed text as a value of the same type, else as text."""
    if isinstance(example, bool) or not isinstance(example, int | float):
        return text
    try:
        number = float(text)
    except ValueError:
        raise invalid("a bound or a value of a column of numbers is a number") from None
    return int(number) if number.is_integer() else number


def _text(value: Any) -> str:
    return str(value)
