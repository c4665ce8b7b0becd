"""Sections of a report about the forest as a whole: its origin, its domain, its effects, a recipe."""

from __future__ import annotations

from frith._markup import Html, join, table, tag
from frith.forest.effect_pictures import legend, panels_of
from frith.forest.forest import Forest
from frith.forest.kinds import ValueKind
from frith.forest.report.facts import (
    NOT_THE_SAME,
    domain_rows,
    domain_words,
    facts_of,
    recipe,
    reliance,
    spent_rows,
)
from frith.forest.svg import to_svg


def origin_section(forest: Forest) -> Html:
    """Where it comes from, what it cost, and which of its numbers to rely on."""
    rows = [*facts_of(forest), *spent_rows(forest)]
    pairs = (part for name, value in rows for part in (tag("dt", name), tag("dd", value)))
    words = [tag("p", text, class_="dim") for text in reliance(forest)]
    return join([tag("h2", "Where it comes from"), tag("dl", *pairs), *words])


def effects_section(forest: Forest) -> Html:
    """A panel for each attribute, and heat maps of pairs; nothing where values are counts."""
    if forest.kind is not ValueKind.SCORES:
        return Html("")
    effects = forest.effects()
    curves, pairs = panels_of(effects)
    words = (
        f"What all trees together add to {effects.unit}, value by value: the model's opinion. Bands are one "
        "standard error of the noise either way, and claim nothing about the table. All curves have one "
        "scale; 0 is the mean, with every value of a category and every interval of a number counting alike."
    )
    colors = [tag("span", tag("span", style=f"background: {color}", class_="swatch"), name, class_="key")
              for color, name in legend(effects)]  # fmt: skip
    parts = [tag("h2", "Effects"), tag("p", words, class_="dim"), tag("p", *colors)]
    parts.append(tag("div", *(_figure(p) for p in curves), class_="panels"))
    if effects.never_asked:
        names = ", ".join(effects.never_asked)
        parts.append(
            tag("p", f"No tree asks for {names}: the forest says nothing about them.", class_="dim")
        )
    if pairs:
        together = (
            f"The strongest {len(pairs)} of {len(effects.pairs)}"
            if len(pairs) < len(effects.pairs)
            else "All"
        )
        note = f"{together} pairs that trees ask together: what two values add beyond what each adds alone."
        parts += [tag("h3", "Pairs"), tag("p", note, class_="dim")]
        parts.append(tag("div", *(_figure(p) for p in pairs), class_="panels"))
    return join(parts)


def domain_section(forest: Forest) -> Html:
    listed = table(("column", "role", "values"), domain_rows(forest.domain))
    return join([tag("h2", "Domain"), tag("p", domain_words(forest.domain), class_="dim"), listed])


def recipe_section(forest: Forest) -> Html:
    code = recipe(forest)
    if not code:
        return Html("")
    return join([tag("h2", "Make another"), tag("pre", code), tag("p", NOT_THE_SAME, class_="dim")])


def _figure(picture: object) -> Html:
    return tag("figure", Html(str(to_svg(picture))), class_="picture")  # type: ignore[arg-type]
