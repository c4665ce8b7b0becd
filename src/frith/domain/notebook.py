"""A domain as a table in a notebook: what is declared, and what its curator should look at."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from frith._markup import card, lines, table
from frith.domain.attributes import Attribute, Categorical, Date, Numeric, Ordered, spelling

_VALUES = 12  # values that a cell shows
_MANY = 50

SAVED = (
    "Private: for the holder of the records alone. Saved output is a publication: clear it before you save "
    "or share a notebook or a log."
)
"""Shown where a notebook displays what was read from the records."""


def domain_html(
    title: str,
    label: Attribute,
    attributes: Sequence[Attribute],
    facts: Iterable[str],
    hints: Mapping[str, Sequence[str]] | None = None,
) -> str:
    """One row for the label and each attribute, and below them sentences about the whole."""
    hints = hints or {}
    rows = [_row(label, "label", hints.get(label.name, ()))]
    rows += [_row(a, kind_of(a), hints.get(a.name, ())) for a in attributes]
    names = ("column", "kind", "declared", "outside", "missing", "look at")
    return card(title, table(names, rows), lines(*facts))


def kind_of(attribute: Attribute) -> str:
    """What kind of attribute it is, in a word."""
    if isinstance(attribute, Date):
        return "date and time" if attribute.has_time else "date"
    if isinstance(attribute, Ordered):
        return "ordered"
    return "number" if isinstance(attribute, Numeric) else attribute.kind


def declared(attribute: Attribute) -> str:
    """The values or the bounds."""
    if isinstance(attribute, Categorical | Ordered):
        shown = [spelling(v) for v in attribute.values[:_VALUES]]
        more = len(attribute.values) - len(shown)
        joined = (" < " if isinstance(attribute, Ordered) else ", ").join(shown)
        return joined + (f" and {more:,} more" if more else "")
    scale = ", log scale" if attribute.scale == "log" else ""
    return f"{attribute.text_of(attribute.low)} to {attribute.text_of(attribute.high)}{scale}"


def _row(attribute: Attribute, kind: str, hints: Sequence[str]) -> tuple[str, ...]:
    outside, missing = ("not counted",) * 2 if kind == "label" else _treated(attribute)
    notes = "; ".join([*hints, *hints_about(attribute)])
    return attribute.name, kind, declared(attribute), outside, missing, notes


def _treated(attribute: Attribute) -> tuple[str, str]:
    """What a value outside counts as, and what a missing one does."""
    if isinstance(attribute, Categorical):
        codes = (attribute.outside_code, attribute.missing_code)
        return spelling(attribute.values[codes[0]]), spelling(attribute.values[codes[1]])
    missing = "a code of its own" if attribute.missing else attribute.text_of(attribute.low)
    return missing if isinstance(attribute, Ordered) else "the nearest bound", missing


def hints_about(attribute: Attribute) -> Iterator[str]:
    """What to look at in any declared attribute, drafted or not."""
    if attribute.size == 1:
        yield "a single value: nothing can be learned from it"
    if isinstance(attribute, Categorical) and attribute.size > _MANY:
        yield f"over {_MANY} values, all public: is it an identifier?"
    if isinstance(attribute, Categorical) and attribute.other is None and attribute.size > 2:
        yield "no 'other': a value outside counts as the first"
