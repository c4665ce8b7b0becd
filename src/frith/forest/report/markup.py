"""HTML and SVG from Python: tags around text, everything escaped that is not a tag itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, *inside: Any, **attributes: Any) -> Html:
    """<name attributes>inside</name>; `class_` is class, and _ in a name is -."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_number(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{said}>{join(inside)}</{name}>")


def join(parts: Iterable[Any]) -> Html:
    return Html("".join(p if isinstance(p, Html) else escape(str(p)) for p in parts))


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], numbers: Sequence[int] = ()) -> Html:
    """A table that scrolls where it is too wide; the columns in `numbers` are set to the right."""

    def cells(kind: str, row: Sequence[Any]) -> Html:
        sides = ("number" if i in numbers else None for i in range(len(row)))
        return join(tag(kind, cell, class_=side) for cell, side in zip(row, sides, strict=True))

    body = join(tag("tr", cells("td", row)) for row in rows)
    whole = tag("table", tag("thead", tag("tr", cells("th", head))), tag("tbody", body))
    return tag("div", whole, class_="wide")


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
