"""How a budget is shared out over the levels of a tree; every allocation sums to exactly one."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from frith.privacy.exact import exact

ALLOCATIONS = ("uniform", "geometric", "arithmetic")


def level_shares(allocation: str | Sequence[Any], levels: int) -> list[Fraction]:
    """The share of each level, the root's first.

    uniform      the same for all
    geometric    half of what remains; the last level takes the rest
    arithmetic   level i of h gets 2 i / (h (h + 1)): deeper levels get more
    a list       one positive weight a level, scaled to sum to one

    >>> level_shares("arithmetic", 3)
    [Fraction(1, 6), Fraction(1, 3), Fraction(1, 2)]
    """
    if isinstance(allocation, str):
        return _named(allocation, levels)
    amounts = [exact(w) for w in allocation]
    weights = [w for w in amounts if isinstance(w, Fraction) and w > 0]
    if len(weights) != levels or len(amounts) != levels:
        raise ValueError(f"an allocation of one's own is a list of {levels} positive weights")
    return [w / sum(weights) for w in weights]


def _named(allocation: str, levels: int) -> list[Fraction]:
    if allocation == "uniform":
        return [Fraction(1, levels)] * levels
    if allocation == "geometric":
        halves = [Fraction(1, 2**i) for i in range(1, levels)]
        return [*halves, 1 - sum(halves, Fraction(0))]
    if allocation == "arithmetic":
        return [Fraction(2 * i, levels * (levels + 1)) for i in range(1, levels + 1)]
    raise ValueError(f"allocation is one of {', '.join(ALLOCATIONS)} or a list, not {allocation!r}")
