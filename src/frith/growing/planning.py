"""What the flagship does with a budget: public facts decide, and the parts that they ask for are learned."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from frith._cached import cached_property
from frith.curator import CuratorLike
from frith.growing.additive import AdditiveTables
from frith.growing.boosting import (
    CHOICES,
    LIMIT_STEPS,
    MAX_STEPS,
    SignBoosting,
    plan,
    step_shares,
)
from frith.growing.label_boosting import VectorBoosting
from frith.growing.naming import NamingTree, are_balanced
from frith.growing.parts import Part
from frith.kernels.base import MAX_CELLS
from frith.kernels.closed import check_cells
from frith.kernels.gradients import UNIT
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.splits import BinarySplits
from frith.privacy.budget import Budget
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import SignChoice

FINE = 64
_ROOM_FOR_TEMPERATURE = 80
_FEW_LABELS, _MANY_LABELS = 6, 16
_ROOM_FOR_BOTH = 3_000
_ROOM_FOR_COUNTS = 20
_ROOM_FOR_TABLES, _ROOM_FOR_MANY = 60, 80
_ROOM_FOR_STEPS = 120
_FOR_COUNTS = Fraction(15, 100)
_RIGHT = 10  # of the budget, over the signal, for how many records are right
_MOST_FOR_RIGHT = Fraction(1, 10)
_SIGNAL_FOR_COUNTS = 100
_FOR_START_COUNTS = Fraction(40, 100)
_FOR_STRENGTH = Fraction(8, 100)
_FOR_LOOK = Fraction(5, 100)
_ROOM_FOR_LOOK = 80


def check_layout(layout: Layout) -> None:
    """Raise, before anything is paid for, where a domain is too large for its first question."""
    domain, splits = layout.domain, BinarySplits(layout)
    has_steps = domain.has_target or domain.n_labels == 2
    cells = 2 * len(splits) if has_steps else (layout.n_bins + 1) * domain.n_labels
    check_cells(cells, "the domain's attributes and labels")


def learn_parts(curator: CuratorLike, facts: Facts) -> list[Part]:
    """Steps for two labels; for more, named labels, tables, steps. Public facts decide which."""
    layout, n, kept = facts.layout, facts.n_records, facts.kept
    whole = curator.remaining_share - kept
    if layout.domain.n_labels == 2:
        return SignBoosting(curator, facts.layout_of_steps, n, kept=kept).learn(facts.steps())
    if curator.has_private_choices and facts.needs_look:
        if are_balanced(curator, layout, n, whole * _FOR_LOOK):  # then equal shares are the start
            steps = facts.steps_for(1 - _FOR_LOOK)
            return VectorBoosting(curator, layout, n, kept=kept).learn(steps, 1.5, Fraction(0))
        whole = curator.remaining_share - kept
        facts = replace(facts, paid=1 - curator.remaining_share)  # the look is paid for
    # where choices read noisy tables of everything, those of a few attributes say more
    route = facts.route() if curator.has_private_choices else Route(tables=Fraction(1))
    parts: list[Part] = []
    if route.named:
        share = whole * route.named
        levels, for_counts = facts.levels(share)
        tree = NamingTree(curator, layout, n, facts.signal)
        parts = [tree.learn(levels, share, for_counts, facts.counts_leaves)]
    elif route.tables:
        has_room = facts.room >= _ROOM_FOR_TEMPERATURE
        tables = AdditiveTables(curator, layout, n)
        parts = tables.learn(facts.tables(), whole * route.tables, has_room)
    if not route.steps:
        return parts
    return VectorBoosting(curator, layout, n, parts, kept).learn(
        route.steps, route.size, route.for_strength
    )


@dataclass(frozen=True)
class Route:
    """How a budget is used for more than two labels: the shares of a start, and the steps after it.

    `for_strength` is the share of what the start leaves.
    """

    named: Fraction = Fraction(0)
    tables: Fraction = Fraction(0)
    steps: int = 0
    size: float = 1.5
    for_strength: Fraction = Fraction(0)


@dataclass(frozen=True)
class Facts:
    """What is public before the first choice, and what follows from it."""

    layout: Layout
    n_records: int
    budget: Budget
    records_per_person: int
    kept: Fraction = Fraction(0)  # the share of the budget that is for rules
    paid: Fraction = Fraction(0)  # the share that the number of records took

    @property
    def _part(self) -> float:
        return float(1 - self.kept)

    @property
    def signal(self) -> float:
        """Records times the epsilon that each of them has: about how many a count could lose."""
        if self.budget.is_exact:
            return math.inf
        return self.n_records * float(self.budget.epsilon) * self._part / self.records_per_person

    def steps(self) -> float:
        """How many steps pay: as many as leave each choice the same signal."""
        if self.budget.is_exact or self.budget.unit == "epsilon":
            return math.sqrt(self.signal) / 5
        persons = self.n_records / self.records_per_person
        rho = float(self.budget.total) * self._part
        return (persons * math.sqrt(5.6 * rho) / 17.5) ** (2 / 3)

    @property
    def layout_of_steps(self) -> Layout:
        """Where cells are bought, which get cuts around the chosen ones, a number has more cuts."""
        domain, weights = self.layout.domain, self.layout.log_weights
        if not plan(self.steps())[2]:
            return self.layout
        fine = Layout(domain, mixed_cuts(domain, FINE), weights)
        return fine if BinarySplits(fine).fit else self.layout

    @property
    def room(self) -> float:
        """The signal that each label has."""
        return self.signal / self.layout.domain.n_labels

    def route(self) -> Route:
        """For more than two labels: a tree that names labels, tables, steps, or steps after either.

        Tables are best where records fill their domain, so that attributes are nearly independent,
        and where labels are too many for a tree to name.
        """
        n_labels, room = self.layout.domain.n_labels, self.room
        if n_labels == 1:
            return Route(tables=Fraction(1))
        if math.isinf(room):
            return Route(steps=LIMIT_STEPS)
        are_too_many = room >= _ROOM_FOR_MANY and (n_labels > _MANY_LABELS or not self._splits.fit)
        if are_too_many or (room >= _ROOM_FOR_TABLES and self._is_filled):
            if room < _ROOM_FOR_BOTH:
                return Route(tables=Fraction(1))
            half = Fraction(1, 2)
            steps = self.steps_for(half)
            return Route(tables=half, steps=steps, size=0.6) if steps else Route(tables=Fraction(1))
        if room < _ROOM_FOR_STEPS:
            return Route(named=Fraction(1))
        named = min(Fraction(3, 10), Fraction(max(1, round(40_000 / room)), 1_000))
        steps = self.steps_for((1 - named) * (1 - _FOR_STRENGTH))
        start = Route(named=named, steps=steps, for_strength=_FOR_STRENGTH)
        return start if steps else Route(named=Fraction(1))

    @cached_property
    def _splits(self) -> BinarySplits:
        return BinarySplits(self.layout)

    def steps_for(self, share: Fraction) -> int:
        """How many steps with a sign for every label pay, none too small for its proof; maybe 0."""
        if not self._splits.fit:
            return 0
        steps = max(1, min(MAX_STEPS, round(math.sqrt(self.signal * float(share)) / 5)))
        whole = share * (1 - self.kept - self.paid) * CHOICES * self.budget.total
        while steps and not _can_choose_signs(whole * min(step_shares(steps)), self.budget):
            steps -= 1
        return steps

    @property
    def needs_look(self) -> bool:
        """Whether steps from equal shares are best if labels are balanced, which is worth a look.

        That is where labels are many and most bins are of numbers, whose order steps use.
        """
        if not _FEW_LABELS < self.layout.domain.n_labels <= _MANY_LABELS:
            return False
        bins = np.diff(self.layout.starts)
        ordered = sum(int(b) for a, b in enumerate(bins) if self.layout.is_numeric(a))
        has_room = _ROOM_FOR_LOOK <= self.room < math.inf
        return has_room and 2 * ordered >= bins.sum() and self.steps_for(1 - _FOR_LOOK) > 0

    @property
    def _is_filled(self) -> bool:
        """Whether all attributes are categories, with few combinations for so many records."""
        attributes = self.layout.domain.attributes
        if any(self.layout.is_numeric(a) for a in range(len(attributes))):
            return False
        return math.prod(a.size for a in attributes) <= 10 * self.n_records

    def levels(self, share: Fraction) -> tuple[int | None, Fraction]:
        """How many levels of named labels pay, 0 for a partition; and the part for counts.

        With many labels a low tree cannot name them all. None where not even one level may be asked:
        its candidates are all pairs of labels at every split.
        """
        room, n_labels = self.room, self.layout.domain.n_labels
        limits = (16, 60) if n_labels < 8 else (12, 30)
        pay = 1 + sum(room >= limit for limit in limits)
        nodes = MAX_CELLS // (len(self._splits) * n_labels**2)  # that one question may be about
        levels = 0 if self._can_part(share) else min(pay, nodes.bit_length()) or None
        return levels, _FOR_START_COUNTS if room >= _ROOM_FOR_STEPS else self._for_counts()

    @property
    def counts_leaves(self) -> bool:
        """Whether counts of labels in leaves are more than noise: for each label, and of all labels."""
        return self.room >= _ROOM_FOR_COUNTS and self.signal >= _SIGNAL_FOR_COUNTS

    def _for_counts(self) -> Fraction:
        """The part for counts in leaves; where they would be too noisy, for one count in all."""
        if self.counts_leaves:
            return _FOR_COUNTS
        if self.room < _ROOM_FOR_COUNTS and self.signal < _SIGNAL_FOR_COUNTS:
            return Fraction(0)
        part = min(_MOST_FOR_RIGHT, Fraction(round(1_000 * _RIGHT / self.signal), 1_000))
        is_payable = self.budget.can_pay(part / 2, self.records_per_person)  # with room for rules
        return part if is_payable else Fraction(0)

    def _can_part(self, share: Fraction) -> bool:
        """Whether a share is within what partitions are proven for, not a millionth of epsilon; and
        whether one question may score them all."""
        amount = share * self.budget.total / 2  # counts take less than half of it
        choice = LabelingChoice(amount, self.records_per_person, (1,), self.budget.unit)
        is_proven = choice.covers_slack and self.layout.domain.n_labels <= choice.MAX_LABELS
        return is_proven and self._splits.fit

    def tables(self) -> int:
        """How many attributes' tables pay; Gaussian noise can afford all of them."""
        useful = sum(a.size > 1 for a in self.layout.domain.attributes) or 1
        if self.budget.is_exact or self.budget.unit == "rho":
            return useful
        room = self.signal / (20 * self.layout.domain.n_labels)
        return (
            useful if room >= 0.65 * useful else max(1, round(room))
        )  # then no choice is paid for

    def table_noise(self) -> float:
        """The standard deviation of the noise on a cell of the tables."""
        if self.budget.unit == "rho":
            return math.sqrt(self.tables() / (2 * float(self.budget.total) * self._part))
        return math.sqrt(2) * self.tables() / (float(self.budget.epsilon) * self._part)

    def buys_more_than(self, pure: Facts) -> bool:
        """Whether a budget with a delta buys more than a pure one of the same epsilon."""
        if self.layout.domain.n_labels == 2:
            return plan(pure.steps())[2] and self.steps() > pure.steps()
        route = pure.route()
        return bool(route.tables and not route.steps) and self.table_noise() < pure.table_noise()


def _can_choose_signs(amount: Fraction, budget: Budget) -> bool:
    try:
        SignChoice(amount, UNIT, budget.unit).check()
    except ValueError:
        return False
    return True
