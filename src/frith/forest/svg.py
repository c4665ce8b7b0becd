"""Pictures of plain marks, painted as SVG, or as PNG by matplotlib."""

from __future__ import annotations

import math
import unicodedata
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from frith._markup import Html, tag

INK, LINE, PAPER = "#222222", "#8a8a8a", "#ffffff"
NEEDS_MATPLOTLIB = "a PNG needs matplotlib: pip install 'frith[plot]'; an SVG needs nothing"
_PIXELS = 6e7  # of a PNG at most


@dataclass(frozen=True, slots=True)
class Line:
    x1: float
    y1: float
    x2: float
    y2: float
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Box:
    x: float
    y: float
    width: float
    height: float
    fill: str
    stroke: str | None = None
    radius: float = 0.0
    opacity: float = 1.0
    title: str = ""  # what a browser shows under the mouse


@dataclass(frozen=True, slots=True)
class Dot:
    x: float
    y: float
    radius: float
    fill: str
    opacity: float = 1.0


@dataclass(frozen=True, slots=True)
class Text:
    """Text on the baseline y, from x on or around it."""

    x: float
    y: float
    text: str
    size: float = 11.0
    bold: bool = False
    fill: str = INK
    centered: bool = False
    opacity: float = 1.0


Mark = Line | Box | Dot | Text


@dataclass
class Picture:
    """Marks in the order they are painted, on paper of a size."""

    width: float
    height: float
    marks: list[Mark] = field(default_factory=list)


class Svg(str):
    """The text of an SVG file, which notebooks show as a picture."""

    def _repr_svg_(self) -> str:
        return str(self)


def to_svg(picture: Picture) -> Svg:
    wide, high = (f"{size:.0f}" for size in (picture.width, picture.height))
    paper = tag("rect", width=wide, height=high, fill=PAPER)
    style = tag("style", "text { pointer-events: none }")
    lines = "\n".join(["", style, paper, *map(_svg_mark, picture.marks), ""])
    return Svg(
        tag("svg", Html(lines), xmlns="http://www.w3.org/2000/svg", width=wide, height=high,
            viewBox=f"0 0 {wide} {high}", font_family="Helvetica, Arial, sans-serif")
        + "\n"
    )  # fmt: skip


def _svg_mark(mark: Mark) -> Html:
    fade = None if mark.opacity == 1 else mark.opacity
    match mark:
        case Line():
            return tag("line", x1=mark.x1, y1=mark.y1, x2=mark.x2, y2=mark.y2, stroke=LINE,
                       opacity=fade)  # fmt: skip
        case Dot():
            return tag("circle", cx=mark.x, cy=mark.y, r=mark.radius, fill=mark.fill, opacity=fade)
        case Box():
            inside = [tag("title", mark.title)] if mark.title else []
            return tag("rect", *inside, x=mark.x, y=mark.y, width=mark.width, height=mark.height,
                       rx=mark.radius, fill=mark.fill, opacity=fade, stroke=mark.stroke,
                       stroke_width=1.5 if mark.stroke else None)  # fmt: skip
        case Text():
            return tag("text", mark.text, x=mark.x, y=mark.y, font_size=mark.size, fill=mark.fill,
                       opacity=fade, font_weight="bold" if mark.bold else None,
                       text_anchor="middle" if mark.centered else None)  # fmt: skip


def save_png(picture: Picture, path: Path) -> None:
    """The same marks by matplotlib, two pixels a unit where that does not get too large."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError(NEEDS_MATPLOTLIB) from None

    wide, high = picture.width, picture.height
    scale = min(2.0, math.sqrt(_PIXELS / (wide * high)), 60_000 / max(wide, high))
    figure = Figure(figsize=(wide / 72, high / 72), dpi=72 * scale, facecolor=PAPER)
    axes = figure.add_axes((0, 0, 1, 1), xlim=(0, wide), ylim=(high, 0))
    axes.set_axis_off()
    for order, mark in enumerate(picture.marks):
        _paint(axes, mark, order)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # a box stands for it
        figure.savefig(path, format="png")


def _paint(axes: Any, mark: Mark, order: int) -> None:
    from matplotlib.patches import Circle, FancyBboxPatch

    look: dict[str, Any] = {"alpha": mark.opacity, "zorder": order}
    match mark:
        case Line():
            axes.plot((mark.x1, mark.x2), (mark.y1, mark.y2), color=LINE, linewidth=1, **look)
        case Dot():
            dot = Circle((mark.x, mark.y), mark.radius, facecolor=mark.fill, linewidth=0, **look)
            axes.add_patch(dot)
        case Box():
            style = f"round,pad=0,rounding_size={mark.radius}" if mark.radius else "square,pad=0"
            look |= {"edgecolor": mark.stroke or "none", "linewidth": 1.5 if mark.stroke else 0}
            place, size = (mark.x, mark.y), (mark.width, mark.height)
            axes.add_patch(FancyBboxPatch(place, *size, style, facecolor=mark.fill, **look))
        case Text():
            look |= {"ha": "center" if mark.centered else "left", "va": "baseline"}
            look |= {"weight": "bold" if mark.bold else "normal", "color": mark.fill}
            axes.text(mark.x, mark.y, mark.text, fontsize=mark.size, parse_math=False, **look)


# -- how wide words are ------------------------------------------------------------------------


def text_width(text: str, size: float, bold: bool = False) -> float:
    """About how wide the text is in a wide sans-serif face, so that no other is wider."""
    return sum(map(_em, text)) * size * (1.1 if bold else 1.0)


def _em(character: str) -> float:
    if character in "ijltfI.,:;'|!()[] ":
        return 0.37
    if character in "mwMW@%…±" or unicodedata.east_asian_width(character) in "WF":
        return 0.98
    return 0.7 if character.isupper() or character in "<>=+" else 0.63


def clip(text: str, width: float, size: float, bold: bool = False) -> str:
    """The text, or as much of its beginning as fits into the width."""
    if text_width(text, size, bold) <= width:
        return text
    while text and text_width(f"{text}…", size, bold) > width:
        text = text[:-1]
    return f"{text}…"
