"""Charts of a report, as SVG: the budget as a waterfall, calibration, noise at other epsilons."""

from __future__ import annotations

from collections.abc import Sequence

from frith.draw import clip
from frith.privacy.guarantee import Question
from frith.report.markup import Html, join, tag
from frith.report.trial import Bin

_WIDTH, _ROW, _NAME = 720.0, 26.0, 280.0
_MOST_ROWS = 24


def waterfall(asked: Sequence[Question]) -> Html:
    """Each question's share of the budget, one below the other, beginning where the last one ended."""
    rows = _rows(asked)
    whole = sum((share for _, share in rows), 0.0) or 1.0
    start, marks = 0.0, []
    for i, (name, share) in enumerate(rows):
        y, room = i * _ROW, _WIDTH - _NAME - 70
        x, width = _NAME + room * start / whole, max(1.0, room * share / whole)
        marks.append(_text(0, y + 17, clip(name, _NAME - 12, 13)))
        marks.append(tag("rect", x=x, y=y + 4, width=width, height=_ROW - 8, class_="spent"))
        marks.append(_text(x + width + 6, y + 17, f"{share:.1%}", "dim"))
        start += share
    return _svg(_WIDTH, _ROW * len(rows) + 4, "where the budget went", marks)


def _rows(asked: Sequence[Question]) -> list[tuple[str, float]]:
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
        return edge + (side - edge - 10) * x, side - edge - (side - edge - 10) * y

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
    """Shares between 0 and 1 with their standard errors."""
    marks, room = [], _WIDTH - _NAME - 90
    for i, (name, share, error) in enumerate(rows):
        y = i * _ROW
        low, high = max(0.0, share - error), min(1.0, share + error)
        marks.append(_text(0, y + 17, clip(name, _NAME - 12, 13)))
        marks.append(tag("rect", x=_NAME, y=y + 4, width=room, height=_ROW - 8, class_="empty"))
        marks.append(
            tag("rect", x=_NAME, y=y + 4, width=room * share, height=_ROW - 8, class_="spent")
        )
        middle = y + _ROW / 2
        ends = (_NAME + room * low, middle), (_NAME + room * high, middle)
        marks.append(_line(*ends, "error"))
        marks.append(_text(_NAME + room + 8, y + 17, f"{share:.0%} ± {error:.0%}", "dim"))
    return _svg(_WIDTH, _ROW * len(rows) + 4, "shares", marks)


def _svg(width: float, height: float, said: str, marks: Sequence[Html]) -> Html:
    box = f"0 0 {width:g} {height:g}"
    return tag(
        "svg", join(marks), class_="chart", viewBox=box, role="img", aria_label=said, width=width
    )


def _text(
    x: float, y: float, text: str, class_: str | None = None, anchor: str | None = None
) -> Html:
    return tag("text", text, x=x, y=y, class_=class_, text_anchor=anchor)


def _line(start: tuple[float, float], end: tuple[float, float], class_: str) -> Html:
    return tag("line", x1=start[0], y1=start[1], x2=end[0], y2=end[1], class_=class_)
