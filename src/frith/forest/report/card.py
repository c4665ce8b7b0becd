"""The model card: a forest in Markdown, for a repository or a registry of models."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

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
    title_of,
)
from frith.forest.report.trial import number_words, score_words, try_forest
from frith.privacy.promise import amounts, promise

_EFFECTS = 10


def write_card(forest: Forest, path: str | Path, data: Any = None) -> None:
    """Write the model card of a forest; `data` is a table of your own to test it on."""
    Path(path).write_text(make_card(forest, data), encoding="utf-8")


def make_card(forest: Forest, data: Any = None) -> str:
    """A model card in Markdown. With `data` it is as private as those records."""
    claim = forest.guarantee
    claimed = amounts(claim.epsilon, claim.delta) if claim.holds else "no guarantee"
    parts = [
        f"# {_text(title_of(forest))}",
        _table(("", ""), facts_of(forest)),
        f"## Privacy\n\n**{claimed}**; neighbors: {_text(claim.neighbors)}.",
    ]
    if claim.assumptions:
        listed = "\n".join(f"- {_text(a)}" for a in claim.assumptions)
        parts.append(f"It assumes, and does not cover:\n\n{listed}")
    parts.append(_text(promise(claim)))
    parts.append(_table(("", ""), spent_rows(forest)))
    parts.append(f"## Training table\n\nNobody may see it. {_text(domain_words(forest.domain))}")
    parts.append(_table(("column", "role", "values"), domain_rows(forest.domain)))
    parts.append("## How good it is\n\n" + _tested(forest, data))
    parts += _effects(forest)
    parts.append("## What to rely on\n\n" + "\n".join(f"- {text}" for text in reliance(forest)))
    if code := recipe(forest):
        parts.append(f"## Make another\n\n```python\n{code}```\n\n{NOT_THE_SAME}")
    return "\n\n".join(parts) + "\n"


def _tested(forest: Forest, data: Any) -> str:
    if data is None:
        return "Not tested here. A private score on the training table is a further release, and is charged."
    if forest.domain.has_target:
        return _text(number_words(forest, data))
    return _text(score_words(try_forest(forest, data)))


def _effects(forest: Forest) -> list[str]:
    if forest.kind is not ValueKind.SCORES:
        return []
    effects = forest.effects()
    rows = []
    for effect in effects.mains[:_EFFECTS]:
        ends = []
        for find in (np.argmin, np.argmax):
            piece, k = np.unravel_index(find(effect.values), effect.values.shape)
            value, noise = effect.values[piece, k], effect.noise[piece, k]
            label = "" if len(effects.labels) == 1 else f" for {effects.labels[k]}"
            ends.append(f"{effect.pieces.texts[piece]}{label}: {value:+.2f} ± {noise:.2f}")
        rows.append((effect.attribute.name, *ends))
    words = f"What attributes add to {effects.unit}, at most; ± is a standard error of noise, no interval."
    return [f"## Effects\n\n{_text(words)}", _table(("attribute", "lowest", "highest"), rows)]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return "---" if text == "---" else _text(text).replace("|", "\\|")


def _text(text: str) -> str:
    """Words as they are, on one line: nothing in a name is taken for Markdown or HTML."""
    return re.sub(r"([\\`*_\[\]<>#])", r"\\\1", " ".join(text.split()))
