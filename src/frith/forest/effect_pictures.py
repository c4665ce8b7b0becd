"""Pictures of effects: a curve for a number, bars for categories, a heat map for a pair.

All curves and bars of a picture have one scale, so that a strong effect looks strong. Bands are one standard
error of the noise either way.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from frith._cached import cached_property
from frith.domain import Numeric, spelling
from frith.forest.draw import COLORS, GREY
from frith.forest.effect_sums import Effect, EffectSums, PairEffect
from frith.forest.nodes import printable
from frith.forest.svg import INK, Box, Line, Mark, Picture, Text, clip, text_width

_DIM = "#666666"
_WIDTH, _MARGIN, _PLOT, _ROW = 320.0, 14.0, 120.0, 19.0  # of a panel; of a curve; of a value
_MOST_EFFECTS, _MOST_PAIRS = 24, 6
_MOST_VALUES = 16  # of a category in a panel
_MOST_CELLS = 24  # rows and columns of a heat map
_NAMES = 0.36  # of the width, for the names of values
_BAND = 0.3


def picture_of_effects(effects: EffectSums, attribute: str | None, columns: int) -> Picture:
    """The panels of all effects, or of one attribute's, under a title that says what they are."""
    shown = None if attribute is None else effects.of(attribute)
    panels = [p for group in panels_of(effects, shown) for p in group]
    heads = _head(effects, columns)
    bottoms = [heads.height] * min(columns, max(1, len(panels)))
    marks = list(heads.marks)
    for panel in panels:
        column = int(np.argmin(bottoms))
        marks += [_moved(m, column * _WIDTH, bottoms[column]) for m in panel.marks]
        bottoms[column] += panel.height
    return Picture(max(heads.width, len(bottoms) * _WIDTH), max(bottoms) + _MARGIN, marks)


def panels_of(
    effects: EffectSums, one: Effect | None = None
) -> tuple[list[Picture], list[Picture]]:
    """A panel for each effect, the strongest first, and one for each of the strongest pairs."""
    look = _Look(effects)
    if one is not None:
        return [look.panel(one)], []
    return (
        [look.panel(effect) for effect in effects.mains[:_MOST_EFFECTS]],
        [look.heat_map(pair) for pair in effects.pairs[:_MOST_PAIRS]],
    )


def legend(effects: EffectSums) -> list[tuple[str, str]]:
    """A color and what it stands for."""
    look = _Look(effects)
    if effects.forest.domain.has_target:
        return [(look.rising, "more"), (look.falling, "less")]
    if len(effects.labels) == 1:
        first, second = (_name(v) for v in effects.forest.domain.label_values)
        return [(look.rising, f"towards {second}"), (look.falling, f"towards {first}")]
    named = [(color, _name(effects.labels[k])) for k, color in look.colors.items()]
    more = len(effects.labels) - len(named)
    return named + ([(GREY, f"{more} more labels, not drawn")] if more else [])


@dataclass(frozen=True)
class _Look:
    """How the panels of one forest's effects look: their scale and their colors."""

    effects: EffectSums

    @property
    def rising(self) -> str:
        """Of two labels the second's color in pictures of trees, since effects are about that one."""
        return COLORS[0] if self.effects.forest.domain.has_target else COLORS[1]

    @property
    def falling(self) -> str:
        return COLORS[1] if self.effects.forest.domain.has_target else COLORS[0]

    @cached_property
    def colors(self) -> dict[int, str]:
        """Of several labels those that effects move most, a color each."""
        if len(self.effects.labels) == 1:
            return {0: self.rising}
        moved = np.max([np.ptp(e.values, axis=0) for e in self.effects.mains] or [[0.0]], axis=0)
        strongest = np.sort(np.argsort(-moved, kind="stable")[: len(COLORS)])
        return {int(k): color for k, color in zip(strongest, COLORS, strict=False)}

    @cached_property
    def scale(self) -> float:
        """The largest effect of an attribute, with room for some of its noise."""
        return 1.15 * max((np.abs(e.values).max() for e in self.effects.mains), default=0) or 1.0

    @cached_property
    def pair_scale(self) -> float:
        """The largest effect of a pair; pairs are weaker, so heat maps have a scale of their own."""
        return max((float(np.abs(e.values).max()) for e in self.effects.pairs), default=1.0)

    def panel(self, effect: Effect) -> Picture:
        if isinstance(effect.attribute, Numeric):
            return self._curve(effect, effect.attribute)
        return self._bars(effect)

    # -- a number ------------------------------------------------------------------------------

    def _curve(self, effect: Effect, attribute: Numeric) -> Picture:
        """Pieces side by side, equally wide; the cuts between them are written where there is room."""
        left, top, pieces = _MARGIN + 34, 30.0, effect.pieces
        wide = (_WIDTH - _MARGIN - left) / len(pieces)

        def y(score: float) -> float:
            return top + _PLOT / 2 * (1 - min(1.0, max(-1.0, score / self.scale)))

        marks = [_title(attribute.name), *self._axis(left, y)]
        for piece, text in enumerate(pieces.texts):
            x = left + wide * piece
            for k in self.colors:
                value, noise = float(effect.values[piece, k]), float(effect.noise[piece, k])
                tint = self._tint(k, value)
                high, low = y(value + noise), y(value - noise)
                marks.append(Box(x, high, wide, low - high, tint, opacity=_BAND / len(self.colors),
                                 title=f"{text}: {_said(value, noise)}"))  # fmt: skip
                marks.append(Box(x, y(value) - 1, wide, 2, tint))
        foot, free = top + _PLOT + 14, 0.0
        for piece, condition in enumerate(pieces.conditions):
            start, is_missing = condition.bounds[0], condition.low >= attribute.cells
            number = attribute.low if start is None else start
            said = "missing" if is_missing else attribute.text_of(number, 4)
            half = text_width(said, 9) / 2
            at = min(left + wide * (piece + 0.5 * is_missing), _WIDTH - half) - half
            if at >= free:
                marks.append(Text(at, foot, said, 9, fill=_DIM))
                free = at + 2 * half + 4
        return Picture(_WIDTH, foot + 16, marks)

    def _tint(self, label: int, value: float) -> str:
        """Of two labels the color says which one is meant; of more, whose score it is."""
        return self.colors[label] if len(self.colors) > 1 or value >= 0 else self.falling

    def _shade(self, share: float) -> str:
        """From one label's color over white to the other's."""
        color = self.rising if share >= 0 else self.falling
        full = [int(color[i : i + 2], 16) for i in (1, 3, 5)]
        part = min(1.0, abs(share))
        return "#" + "".join(f"{round(255 + (c - 255) * part):02x}" for c in full)

    def _axis(self, left: float, y: Callable[[float], float]) -> list[Mark]:
        marks: list[Mark] = []
        right = _WIDTH - _MARGIN
        for score in _ticks(self.scale):
            marks.append(Line(left, y(score), right, y(score), 0.9 if score == 0 else 0.25))
            said = f"{score:+.3g}" if score else "0"
            x = left - 4 - text_width(said, 10)
            marks.append(Text(x, y(score) + 4, said, 10, fill=_DIM))
        return marks

    # -- categories ----------------------------------------------------------------------------

    def _bars(self, effect: Effect) -> Picture:
        shown = effect.pieces.one_each()
        values, noise = (a[effect.pieces.of_code] for a in (effect.values, effect.noise))
        codes = np.arange(len(shown))
        if len(codes) > _MOST_VALUES:
            codes = np.sort(np.argsort(-np.abs(values).max(axis=1), kind="stable")[:_MOST_VALUES])
        left, right, top = _MARGIN + _NAMES * _WIDTH, _WIDTH - _MARGIN, 30.0
        middle, half = (left + right) / 2, (right - left) / 2
        marks = [_title(effect.attribute.name)]
        bottom = top + _ROW * len(codes)
        marks.append(Line(middle, top, middle, bottom, 0.9))
        for row, code in enumerate(codes):
            y = top + _ROW * row
            name = clip(shown.texts[code], _NAMES * _WIDTH - 6, 11)
            marks.append(Text(_MARGIN, y + 13, name, 11))
            for at, k in enumerate(self.colors):
                value, error = float(values[code, k]), float(noise[code, k])
                thick = (_ROW - 6) / len(self.colors)
                start = y + 3 + at * thick
                marks += self._bar(value, error, self._tint(k, value), middle, half, start, thick)
        if len(codes) < len(shown):
            words = f"and {len(shown) - len(codes):,} values that tell less"
            bottom += 14
            marks.append(Text(_MARGIN, bottom, words, 10, fill=_DIM))
        return Picture(_WIDTH, bottom + 16, marks)

    def _bar(
        self, value: float, error: float, tint: str, middle: float, half: float, top: float,
        thick: float,
    ) -> list[Mark]:  # fmt: skip
        """A bar from the middle, and the noise at its end."""

        def x(score: float) -> float:
            return middle + half * min(1.0, max(-1.0, score / self.scale))

        (start, end), low = sorted((x(0.0), x(value))), x(value - error)
        line = min(3.0, thick / 3)
        return [
            Box(start, top, end - start, thick, tint),
            Box(low, top + (thick - line) / 2, x(value + error) - low, line, INK, opacity=0.45),
        ]

    # -- pairs ---------------------------------------------------------------------------------

    def heat_map(self, pair: PairEffect) -> Picture:
        k = int(np.argmax(np.ptp(pair.values, axis=(0, 1))))
        rows, columns = (_few(len(p)) for p in pair.pieces)
        left, top = _MARGIN + _NAMES * _WIDTH, 46.0
        wide = (_WIDTH - _MARGIN - left) / len(columns)
        tall = min(_ROW, max(7.0, 200 / len(rows)))
        first, second = (printable(name) for name in pair.names)
        title = f"{first} with {second}"
        title += "" if len(self.effects.labels) == 1 else f" for {_name(self.effects.labels[k])}"
        marks = [_title(title), Text(left, 40, clip(f"{second} →", 190, 10), 10, fill=_DIM),
                 Text(_MARGIN, 40, clip(f"{first} ↓", left - _MARGIN, 10), 10, fill=_DIM)]  # fmt: skip
        a, b = pair.pieces
        for row, i in enumerate(rows):
            y = top + tall * row
            if tall >= 11 or row in (0, len(rows) - 1):
                name = clip(a.texts[i], left - _MARGIN - 6, 10)
                marks.append(Text(_MARGIN, y + tall / 2 + 4, name, 10))
            for column, j in enumerate(columns):
                value, noise = float(pair.values[i, j, k]), float(pair.noise[i, j, k])
                said = f"{a.texts[i]}, {b.texts[j]}: {_said(value, noise)}"
                marks.append(Box(left + wide * column, y, wide, tall, self._shade(value / self.pair_scale),
                                 title=said))  # fmt: skip
        foot = top + tall * len(rows) + 13
        room = (_WIDTH - _MARGIN - left) / 2 - 6
        low, high = (clip(b.texts[columns[at]], room, 10) for at in (0, -1))
        marks.append(Text(left, foot, low, 10, fill=_DIM))
        marks.append(Text(_WIDTH - _MARGIN - text_width(high, 10), foot, high, 10, fill=_DIM))
        hidden = len(a) * len(b) - len(rows) * len(columns)
        words = f"from {pair.values[..., k].min():+.2f} to {pair.values[..., k].max():+.2f}"
        words += f"; {hidden:,} further cells are not drawn" if hidden else ""
        marks.append(Text(_MARGIN, foot + 14, words, 10, fill=_DIM))
        foot += 14
        return Picture(_WIDTH, foot + 16, marks)


def _head(effects: EffectSums, columns: int) -> Picture:
    """What is drawn, and the legend."""
    width = max(1, columns) * _WIDTH - 2 * _MARGIN
    noise = (
        " Bands: one standard error of the noise." if np.any(effects.forest.variance > 0) else ""
    )
    words = f"What the trees add to {effects.unit}: the model's opinion, no counts.{noise}"
    marks: list[Mark] = [Text(_MARGIN, 26, clip("Effects", width, 14, True), 14, True)]
    y = 26.0
    for line in _wrapped(words, width, 10):
        y += 15
        marks.append(Text(_MARGIN, y, line, 10))
    x, y = _MARGIN, y + 20
    for color, name in legend(effects):
        shown = clip(name, 240, 11)
        needed = 15 + text_width(shown, 11) + 14
        if x + needed > _MARGIN + width and x > _MARGIN:
            x, y = _MARGIN, y + 18
        marks += [Box(x, y - 9, 10, 10, color), Text(x + 15, y, shown)]
        x += needed
    return Picture(width + 2 * _MARGIN, y + 14, marks)


def _wrapped(words: str, width: float, size: float) -> list[str]:
    lines: list[str] = []
    for word in words.split():
        joined = f"{lines[-1]} {word}" if lines else word
        if lines and text_width(joined, size) <= width:
            lines[-1] = joined
        else:
            lines.append(word)
    return lines


def _title(name: str) -> Mark:
    return Text(_MARGIN, 20, clip(printable(name), _WIDTH - 2 * _MARGIN, 12, True), 12, True)


def _moved(mark: Mark, x: float, y: float) -> Mark:
    if isinstance(mark, Line):
        return replace(mark, x1=mark.x1 + x, x2=mark.x2 + x, y1=mark.y1 + y, y2=mark.y2 + y)
    return replace(mark, x=mark.x + x, y=mark.y + y)


def _few(count: int) -> list[int]:
    """At most as many places as a heat map has room for, spread evenly."""
    return sorted({round(i) for i in np.linspace(0, count - 1, min(count, _MOST_CELLS))})


def _ticks(scale: float) -> Sequence[float]:
    """0 and a round number either way, as large as the scale has room for."""
    size = 10.0 ** math.floor(math.log10(scale))
    most = max(step for step in (1, 2, 5) if step * size <= scale) * size
    return (-most, 0.0, most)


def _said(value: float, noise: float) -> str:
    return f"{value:+.2f}" + (f" ± {noise:.2f}" if noise else "")


def _name(value: object) -> str:
    return printable(spelling(value))
