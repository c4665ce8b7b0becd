"""Charts of a report: the budget as a waterfall, shares as bars, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from frith._markup import Html, join, tag
from frith.forest.importance import importance_words
from frith.forest.report.trial import Bin
from frith.privacy.guarantee import AnsweredQuestion

_MOST_ROWS = 24


def waterfall(asked: Sequence[AnsweredQuestion]) -> Html:
    """Each question's share of the budget, one below the other, beginning where the last one ended."""
    rows = _rows(asked)
    whole = sum((share for _, share in rows), 0.0) or 1.0
    start, shown = 0.0, []
    for name, share in rows:
        mark = _band(start / whole, max(share / whole, 0.002), "spent")
        shown.append(_row(name, [mark], f"{share:.1%}"))
        start += share
    return tag("div", join(shown), class_="bars")


def _rows(asked: Sequence[AnsweredQuestion]) -> list[tuple[str, float]]:
    """Purposes in the order of asking; a long tail is one row."""
    shares: dict[str, float] = {}
    for question in asked:
        shares[question.purpose] = shares.get(question.purpose, 0.0) + float(question.share)
    rows = list(shares.items())
    if len(rows) > _MOST_ROWS:
        rest = sum(share for _, share in rows[_MOST_ROWS:])
        rows = [*rows[:_MOST_ROWS], (f"{len(shares) - _MOST_ROWS} further questions", rest)]
    return rows


def calibration(bins: Sequence[Bin]) -> Html:
    """How often predictions are right against how sure they are; the diagonal is what it should be."""
    side, edge = 340.0, 52.0

    def at(x: float, y: float) -> tuple[float, float]:
        room = side - edge - 24  # half of the last number stands out
        return edge + room * x, side - edge - room * y

    marks = [_line(at(0, 0), at(1, 1), "diagonal")]
    for value in (0.0, 0.5, 1.0):
        x, y = at(value, 0)
        marks.append(_text(x, y + 18, f"{value:.0%}", "dim", anchor="middle"))
        x, y = at(0, value)
        marks.append(_text(x - 6, y + 4, f"{value:.0%}", "dim", anchor="end"))
    for b in bins:
        low, high = max(0.0, b.right - b.margin), min(1.0, b.right + b.margin)
        marks.append(_line(at(b.confidence, low), at(b.confidence, high), "error"))
        x, y = at(b.confidence, b.right)
        marks.append(tag("circle", cx=x, cy=y, r=5, class_="point"))
    marks.append(_text(side / 2, side - 4, "how sure", "dim", anchor="middle"))
    return _svg(side, side, "how often right, against how sure", marks)


def bars(rows: Sequence[tuple[str, float, float]]) -> Html:
    """Importances between 0 and 1 with their standard errors."""
    shown = []
    for name, share, error in rows:
        low, high = max(0.0, share - error), min(1.0, share + error)
        marks = [_band(0, 1, "empty"), _band(0, share, "spent")]
        marks += [_line((f"{low:.2%}", "50%"), (f"{high:.2%}", "50%"), "error")] if error else []
        shown.append(_row(name, marks, importance_words(share, error)))
    return tag("div", join(shown), class_="bars")


def _row(name: str, marks: Sequence[Html], value: str) -> Html:
    """A name, a bar as wide as there is room, and its number; the number is what is read aloud."""
    bar = tag("svg", join(marks), class_="bar", aria_hidden="true")
    parts = (tag("span", name, class_="name"), bar, tag("span", value, class_="dim number"))
    return tag("div", *parts, class_="row")


def _band(start: float, width: float, class_: str) -> Html:
    return tag("rect", x=f"{start:.2%}", width=f"{width:.2%}", height="100%", class_=class_)


def _svg(width: float, height: float, said: str, marks: Sequence[Html]) -> Html:
    box = f"0 0 {width:g} {height:g}"
    return tag(
        "svg", join(marks), class_="chart", viewBox=box, role="img", aria_label=said, width=width
    )


def _text(
    x: float, y: float, text: str, class_: str | None = None, anchor: str | None = None
) -> Html:
    return tag("text", text, x=x, y=y, class_=class_, text_anchor=anchor)


def _line(start: tuple[Any, Any], end: tuple[Any, Any], class_: str) -> Html:
    return tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=class_)
