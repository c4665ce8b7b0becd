"""The effects of a forest, as numbers, tables and pictures; `effect_sums` says what they are."""

from __future__ import annotations

from pathlib import Path

from frith._markup import Html, card, lines, tag
from frith.forest.draw import write_picture
from frith.forest.effect_pictures import picture_of_effects
from frith.forest.effect_sums import EffectSums
from frith.forest.svg import Svg, to_svg

_WORDS = (
    "What each attribute adds to a score, value by value: the model's opinion. Bands state noise, and claim "
    "no coverage."
)


class Effects(EffectSums):
    """What all trees of a forest of scores add, by attribute and by pair."""

    def draw(
        self, path: str | Path | None = None, *, attribute: str | None = None, columns: int = 3
    ) -> Svg:
        """Effects as SVG, the strongest first, then pairs; written to an .svg or .png file."""
        picture = picture_of_effects(self, attribute, columns)
        return to_svg(picture) if path is None else write_picture(picture, path)

    def _repr_html_(self) -> str:
        picture = tag("div", Html(self.draw()), class_="wide")
        return card(f"Effects of {len(self.mains)} attributes", lines(_WORDS), picture)

    def __repr__(self) -> str:
        return (
            f"<Effects: {len(self.mains)} attributes, {len(self.pairs)} pairs of {self.forest!r}>"
        )
