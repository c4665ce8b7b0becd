"""HTML and SVG from Python: tags around text, everything escaped that is not a tag itself.

Pages of the core, pictures and notebooks need no more than this; jinja2 and markupsafe come with the
server.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

_NO_CHARACTERS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")  # XML holds none of them


_CARD = (
    ".frith{max-width:60em}.frith .wide{overflow-x:auto}.frith p,.frith ul{margin:.3em 0}"
    ".frith td,.frith th{text-align:left;vertical-align:top}.frith .number{text-align:right}"
    ".frith summary{cursor:pointer}"
)


class Html(str):
    """Text that is markup already."""

    __slots__ = ()


def tag(name: str, *inside: Any, **attributes: Any) -> Html:
    """<name attributes>inside</name>; `class_` is class, _ in a name is -, and None is left out."""
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_text(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return Html(f"<{name}{said}>{join(inside)}</{name}>")


def join(parts: Iterable[Any]) -> Html:
    return Html("".join(p if isinstance(p, Html) else _text(p) for p in parts))


def table(head: Sequence[Any], rows: Iterable[Sequence[Any]], numbers: Sequence[int] = ()) -> Html:
    """A table that scrolls where it is too wide; the columns in `numbers` are set to the right."""

    def cells(kind: str, row: Sequence[Any]) -> Html:
        sides = ("number" if i in numbers else None for i in range(len(row)))
        return join(tag(kind, cell, class_=side) for cell, side in zip(row, sides, strict=True))

    body = join(tag("tr", cells("td", row)) for row in rows)
    whole = tag("table", tag("thead", tag("tr", cells("th", head))), tag("tbody", body))
    return tag("div", whole, class_="wide")


def lines(*sentences: Any) -> Html:
    """A paragraph for each sentence."""
    return join(tag("p", sentence) for sentence in sentences)


def card(title: str, *body: Any) -> str:
    """A titled part of a notebook's page. It brings its few styles along."""
    return str(tag("div", tag("style", Html(_CARD)), tag("strong", title), *body, class_="frith"))


def folded(title: str, *body: Any) -> Html:
    """A part that opens on a click."""
    return tag("details", tag("summary", title), *body)


def page(title: str, style: str, *body: Any) -> str:
    """A whole page that loads nothing from elsewhere."""
    head = tag("head", Html('<meta charset="utf-8">'),
               Html('<meta name="viewport" content="width=device-width, initial-scale=1">'),
               tag("title", title), tag("style", Html(style)))  # fmt: skip
    whole = tag("html", head, tag("body", tag("main", *body)), lang="en")
    return f"<!doctype html>\n{whole}\n"


def _text(value: Any) -> str:
    """Escaped, with numbers to six digits and U+FFFD for what is no character."""
    text = f"{value:.6g}" if isinstance(value, float) else str(value)
    return escape(_NO_CHARACTERS.sub("\ufffd", text))
