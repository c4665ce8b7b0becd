"""Charts as inline SVG, stretched to the available width; text stands beside them.

The style sheet sets the colors by class, for light and dark mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from frith.server.web.texts import Account

_COLORS = 7


def gauge(account: Account) -> Markup:
    """The spent, reserved and remaining parts of a budget; a script draws a request's cost in `plan`."""
    spent, held = 100 * account.spent, 100 * account.held
    said = ", ".join(f"{text} {name}" for name, text in account.parts)
    return _svg(
        "gauge", (100, 10), f"{said} of {account.budget}",
        _box("gauge-spent", 0, 0, spent, 10),
        _box("gauge-held", spent, 0, held, 10),
        _box("gauge-plan", spent + held, 0, 0, 10),
    )  # fmt: skip


def bar(share: float, error: float = 0.0) -> Markup:
    """One bar from 0 to 1, with a whisker of its standard error."""
    low, high = (100 * min(1.0, max(0.0, share + s * error)) for s in (-1, 1))
    whisker = _box("bar-error", low, 4.2, high - low, 1.6) if error else Markup("")
    return _svg("bar", (100, 10), f"{share:.0%}", _box("bar-share", 0, 1, 100 * share, 8), whisker)


def interval(value: float, low: float, high: float) -> Markup:
    """A share with its interval, from 0 to 1."""
    said = f"{value:.0%}, between {low:.0%} and {high:.0%}"
    whisker = _box("bar-error", 100 * low, 3.6, max(0.4, 100 * (high - low)), 2.8)
    return _svg("bar", (100, 10), said, whisker, _box("bar-share", 99 * value, 1, 1, 8))


@dataclass(frozen=True)
class Line:
    """What one analyst had spent in total, at each time that it grew."""

    name: str
    points: Sequence[tuple[float, float]]  # seconds, amount
    color: int

    @property
    def first(self) -> float:
        return self.points[0][0]

    @property
    def last(self) -> float:
        return self.points[-1][1]


def steps(lines: Sequence[Line], until: float, highest: float) -> Markup:
    """Step lines from the first time on; `highest` is the top of the chart."""
    start = min((line.first for line in lines), default=until)
    wide, high = max(until - start, 1.0), highest or 1.0
    grid = [
        Markup('<line class="grid" x1="0" x2="100" y1="{y}" y2="{y}"/>').format(y=y)
        for y in (0.5, 12.5, 25, 37.5, 49.5)
    ]
    paths = [_path(line, start, until, wide, high) for line in lines]
    return _svg("steps", (100, 50), "what each analyst has spent, over time", *grid, *paths)


def color_of(place: int) -> int:
    return place % _COLORS


def heat(count: int, row: Sequence[int]) -> int:
    """The share of a count in its row, from 0 to 9."""
    total = sum(max(0, c) for c in row)
    return min(9, int(10 * max(0, count) / total)) if total else 0


def _path(line: Line, start: float, until: float, wide: float, high: float) -> Markup:
    place = 49.5
    moves = []
    for i, (at, value) in enumerate(line.points):
        x, y = 100 * (at - start) / wide, 49.5 - 48 * value / high
        moves.append(f"M{x:.3f} {place:.3f}V{y:.3f}" if i == 0 else f"H{x:.3f}V{y:.3f}")
        place = y
    moves.append(f"H{100 * (until - start) / wide:.3f}")
    return Markup('<path class="line color-{}" d="{}"/>').format(line.color, "".join(moves))


def _box(kind: str, x: float, y: float, width: float, height: float) -> Markup:
    text = '<rect class="{}" x="{:.4g}" y="{:.4g}" width="{:.4g}" height="{:.4g}"/>'
    return Markup(text).format(kind, x, y, width, height)


def _svg(kind: str, size: tuple[float, float], said: str, *marks: Markup) -> Markup:
    head = '<svg class="{}" viewBox="0 0 {:g} {:g}" preserveAspectRatio="none" role="img" aria-label="{}">'
    return Markup(head).format(kind, *size, said) + Markup("").join(marks) + Markup("</svg>")
