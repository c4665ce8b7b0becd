"""What all fits of this process cost together, where no ledger adds them up."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from frith._threads import shared_lock
from frith.privacy.budget import Budget
from frith.privacy.guarantee import Guarantee, PartyShare


@dataclass
class _Sum:
    """The fits that protect one kind of neighbors."""

    fits: int = 0
    epsilon: Fraction = Fraction(0)
    delta: Fraction = Fraction(0)
    largest_epsilon: Fraction = Fraction(0)
    largest_delta: Fraction = Fraction(0)
    drafts_epsilon: Fraction = Fraction(0)
    drafts_delta: Fraction = Fraction(0)


_sums: dict[str, _Sum] = {}
_one_at_a_time = shared_lock()


def add(
    budget: Budget, guarantee: Guarantee, *, disjoint: bool = False, draft: bool = False
) -> None:
    """Count one fit. One that shares no protected unit with any other does not add: the larger counts.

    A draft of a domain reads all records, so it adds to disjoint fits too. The guarantee of a fit may
    include what its domain was paid for, which was counted when it was drafted.
    """
    if not guarantee.holds or not isinstance(budget.epsilon, Fraction):  # there is no price
        return
    with _one_at_a_time:
        total = _sums.setdefault(guarantee.neighbors, _Sum())
        total.fits += 1
        if draft:
            total.drafts_epsilon += budget.epsilon
            total.drafts_delta += budget.delta
        elif disjoint:
            total.largest_epsilon = max(total.largest_epsilon, budget.epsilon)
            total.largest_delta = max(total.largest_delta, budget.delta)
        else:
            total.epsilon += budget.epsilon
            total.delta += budget.delta


def together(neighbors: str) -> str | None:
    """What the fits so far promise together, in words; None if there was one, or none."""
    with _one_at_a_time:
        total = _sums.get(neighbors, _Sum())
        if total.fits < 2:
            return None
        amounts = PartyShare(
            f"all {total.fits} fits of this process together",
            total.drafts_epsilon + max(total.epsilon, total.largest_epsilon),
            total.drafts_delta + max(total.delta, total.largest_delta),
        )
        others = sum(each.fits for each in _sums.values()) - total.fits
        beside = f"; {others} more protect another unit, and do not add" if others else ""
        return (
            f"{amounts}{beside} (fits of the same people's records add; `with "
            "frith.budget(epsilon=...)` sets a limit, and counts those of workers too)"
        )
