"""A guarantee in a notebook: what it promises, what it assumes, and where its budget went."""

from __future__ import annotations

from typing import Any

from frith._markup import Html, card, folded, join, lines, table, tag
from frith.privacy.promise import amounts, promise

_QUESTIONS = 100  # rows that a notebook shows


def guarantee_html(claim: Any) -> str:
    return card("Guarantee", guarantee_body(claim))


def guarantee_body(claim: Any) -> Html:
    """The amounts and neighbors, the assumptions, the promise in words, and every question."""
    if not claim.holds:
        return lines(str(claim), promise(claim))
    amount = tag("b", amounts(claim.epsilon, claim.delta))
    parts = [lines(join([amount, f"; neighbors: {claim.neighbors}"]))]
    if claim.assumptions:
        parts += [lines("It assumes, or does not cover:")]
        parts += [tag("ul", *(tag("li", assumption) for assumption in claim.assumptions))]
    parts += [lines(promise(claim), *map(str, claim.parties))]
    return join([*parts, _questions(claim)])


def _questions(claim: Any) -> Html:
    if not claim.asked:
        return Html("")
    rows = [
        (q.purpose, f"{q.cells:,}", q.mechanism, f"{q.scale:.4g}", f"{float(q.share):.2%}")
        for q in claim.asked[:_QUESTIONS]
    ]
    head = ("question", "cells", "mechanism", "scale", "share")
    more = len(claim.asked) - _QUESTIONS
    rest = lines(f"and {more:,} more questions") if more > 0 else Html("")
    title = f"Where the budget went: {len(claim.asked):,} questions"
    return folded(title, table(head, rows, (1, 3, 4)), rest)
