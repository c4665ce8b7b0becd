"""A drafted domain with what its curator must decide: as text, as a file, as a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from frith.domain.domain import Domain
from frith.domain.notebook import SAVED, domain_html, hints_about

REVIEW = (
    "Drafted from the records: its values and bounds are exact facts about people.",
    "Review every one, replace what is not public knowledge, then remove `learned = true`.",
)

PERSON = (
    "A person protects all its records together and only `records` of them are counted: 1 as drafted. "
    "With more, each gets more noise. Choose by what is known of the table, not by counting."
)


@dataclass(frozen=True, repr=False)
class Draft:
    """A drafted domain, and what its curator must decide. `print` it, or `save` it for review."""

    domain: Domain
    left_out: Mapping[str, str]
    """Why each column was left out."""
    hints: Mapping[str, Sequence[str]]
    """What to look at in each attribute."""

    def __str__(self) -> str:
        """TOML with a warning, what was left out and why, and what to decide."""
        data = self.domain.to_json()
        attributes = data.pop("attributes")
        lines = [
            *REVIEW,
            *([] if self.domain.person is None else [PERSON]),
            *(f"Left out: {name!r}, {why}." for name, why in self.left_out.items()),
        ]
        parts = [_comments(lines), tomli_w.dumps(data, multiline_strings=False)]
        for attribute, data in zip(self.domain.attributes, attributes, strict=True):
            hints = _comments([*self.hints.get(attribute.name, ()), *hints_about(attribute)])
            fields = tomli_w.dumps(data, multiline_strings=False)
            parts.append(f"[[attributes]]\n{hints}{fields}")
        return "\n".join(parts)

    def save(self, path: str | Path) -> None:
        """Write it for review: TOML with comments, or JSON without them if the name ends in .json."""
        if Path(path).suffix == ".json":
            self.domain.save(path)
        else:
            Path(path).write_text(str(self), encoding="utf-8")

    def _repr_html_(self) -> str:
        domain = self.domain
        left_out = [f"left out: {name!r}, {why}" for name, why in self.left_out.items()]
        facts = [*domain.facts, *left_out, SAVED]
        return domain_html("Draft of a domain", domain.label, domain.attributes, facts, self.hints)

    def __repr__(self) -> str:
        return f"<Draft of {self.domain!r}, {len(self.left_out)} columns left out>"


def _comments(lines: Iterable[str]) -> str:
    return "".join(f"# {' '.join(line.split())}\n" for line in lines)
