"""What the values of a forest's nodes are."""

from __future__ import annotations

from enum import StrEnum


class ValueKind(StrEnum):
    """Whether a forest holds what was counted, or what it adds to the odds.

    COUNTS  label counts that were measured, with the variance of their noise
    SCORES  what each tree adds to the logarithm of every label's odds: the model's opinion
    """

    COUNTS = "counts"
    SCORES = "scores"


def kind_of(vote: str) -> ValueKind:
    """Trees that multiply add scores up; every other vote reads counts."""
    return ValueKind.SCORES if vote == "product" else ValueKind.COUNTS
