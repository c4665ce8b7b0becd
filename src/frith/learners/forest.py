"""The flagship: a private forest without parameters to tune."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from frith.curator import CuratorLike
from frith.engines import Engine
from frith.forest import Forest
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
from frith.growing.parts import Part, forest_of_parts
from frith.growing.rule_tree import rule_tree
from frith.kernels import LeafCounts
from frith.kernels.gradients import UNIT
from frith.kernels.layout import Layout, mixed_cuts
from frith.learners.classifier import PrivateForestClassifier
from frith.learners.parameters import share
from frith.learners.public_trees import forest_of_leaves
from frith.privacy.budget import Budget
from frith.privacy.labeling import LabelingChoice
from frith.privacy.mechanisms import SignChoice

_ROOM_FOR_TEMPERATURE = 80
_FEW_LABELS, _MANY_LABELS = 6, 16
_ROOM_FOR_BOTH = 3_000
_ROOM_FOR_COUNTS, _ROOM_FOR_DEPTH = 20, 30
_ROOM_FOR_TABLES = 60
_ROOM_FOR_STEPS = 120
_FOR_COUNTS = Fraction(15, 100)
_FOR_START_COUNTS = Fraction(40, 100)
_FOR_STRENGTH = Fraction(8, 100)
_FOR_LOOK = Fraction(5, 100)
_ROOM_FOR_LOOK = 80
_LEFT = Fraction(9, 10)  # of the budget, or more, once the number of records is paid for


class ForestClassifier(PrivateForestClassifier):
    """The learner to start with: give it a domain and a budget; public facts decide the rest.

    Two labels: sign-step boosting. Each step privately chooses a split in two and a sign, and moves
    the log-odds of all records by a fixed amount to either side. A few steps make an oblivious
    tree. Then two sums in each of its cells, which further public cuts make finer, are released, and
    give every cell a value that weighs signal against noise; where the budget is too small for
    that, slopes beside the chosen cuts rank records (`growing.boosting`). More labels: a partition
    or a tree whose private choices name the labels of its leaves (`growing.naming`); where there is
    room, steps after it that choose a sign for every label, and how strongly they speak
    (`growing.label_boosting`); where labels are very many or records fill their domain, the tables
    of a few privately chosen attributes, shrunk towards independence as the noise demands
    (`growing.additive`). How many there are follows from the number of records, the budget and the
    domain. Trees multiply: the first gives label shares, and every further tree corrects them.

    Parameters
    ----------
    domain : Domain, str, Path or None, default=None
        What is public about the table, or the path of a domain file. Without one the domain is
        learned from the data, with a `PrivacyLeakWarning`.
    epsilon : int, float, str or Fraction, default=1.0
        The budget of a fit, read exactly as written: "0.1" is one tenth. `float("inf")` gives exact
        counts, without any guarantee.
    delta : int, float, str or Fraction, default=0
        0 gives a pure guarantee. Above 0 Gaussian noise is used under zCDP where it allows more;
        where it does not, a pure guarantee of the same epsilon is given (if the domain declares the
        number of records and no ledger is charged).
    size_share : float, str or Fraction, default=0.02
        The share of the budget for a noisy number of records. Spent only if the domain does not
        declare that number.
    rules_share : float, str or Fraction, default=0.0
        The share of the budget for counting the labels of a few readable rules, in
        `forest_.measured`: their confidence and support are facts with intervals, where the forest's
        own scores are opinions. 0 counts none; `measure_rules` can do so later.
    ledger : str, Path or None, default=None
        The ledger file that every fit is charged to, before a record is read.
    n_jobs : int or None, default=None
        The number of threads; None takes all cores.

    Attributes
    ----------
    forest_ : Forest
        What was released, with its guarantee. `forest_.describe()` lists every question that was
        asked of the records, and its share of the budget.
    classes_ : ndarray
        The labels, sorted.
    receipt_ : Receipt or None
        The ledger's receipt for the last fit.

    Privacy
    -------
    `fit` is (epsilon, delta)-DP for neighbors that differ by one record, or by all records of one
    person where the domain names one. Shares are fixed before the first question and add up to
    one; each is spent on a question whose sensitivity is proven where it is defined:

    *A step* chooses from a public list. Its scores are the sum of g over one side of a question
    minus the sum over the other, and the reverse, where g = y - p of a record, clipped, is a
    function of the record and of earlier releases. One more record moves every score by g or -g,
    so the list has range 2 max |g|, which is bounded by how far releases can have moved p. Public
    weights of questions add constants. A private choice by the range costs its share
    (`privacy.mechanisms.PrivateChoice`).
    *Cells.* A record is in one cell and moves the sums of y - p and of p (1 - p) there by at most 1
    together, in L1 and in squared L2 (`gradients.CellSums`).
    *A step for many labels* chooses a question and signs together, from sums of vectors y - p that
    are clipped to an L1 norm of 1 (`privacy.mechanisms.SignChoice`); its cells are label counts, or
    vectors scaled to an L1 norm of at most 1 (`label_gradients`).
    *Named labels.* A score is the number of records that get their own label, so one more record
    raises each by 0 or by 1: range 1. A record is at one node of a level, so its nodes compose in
    parallel (`kernels.NamedSplits`); a partition and the labels of all its parts are one choice
    (`privacy.labeling.LabelingChoice`). Counts in the leaves of one tree: L1 = squared L2 = 1. The
    strength is a private choice by the number of correct records, range 1 (`kernels.StrengthChoice`).
    *Tables.* Attributes are chosen one after another by a monotone score of range 1. A record is in
    one cell of each of the m tables: L1 = squared L2 = m (`kernels.SplitCounts`). The temperature is
    a private choice by the number of correct records, a monotone score of range 1.
    *Rules* are the leaves of one tree that is read off the forest. A record is in one of them and has
    one label, so their counts have L1 and squared L2 sensitivity 1 (`kernels.LeafCounts`).

    Everything else (values, shrinkage, the forest, its rules) reads releases and public facts.
    For persons of at most m records, ranges and L1 sensitivities are m-fold, squared L2 m^2-fold.

    The full proof is in docs/proofs/forest.md.

    Notes
    -----
    Values of nodes are scores: what a tree adds to the log-odds of every label. They are the model's
    opinion, and no record was counted for them. A leaf's noise is that of the released sums behind
    it; where the budget is too small for sums, it is as large as the steps that noise may have chosen.

    Examples
    --------
    >>> from frith import Categorical, Domain, ForestClassifier
    >>> domain = Domain(
    ...     [Categorical("smokes", ("no", "yes")), Categorical("coughs", ("no", "yes"))],
    ...     Categorical("ill", ("no", "yes")), records=400)
    >>> X, y = [["no", "no"], ["yes", "yes"]] * 200, ["no", "yes"] * 200
    >>> model = ForestClassifier(domain, epsilon=1).fit(X, y)
    >>> print(model.forest_.guarantee.epsilon)
    1
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        size_share: Any = 0.02,
        rules_share: Any = 0.0,
        ledger: Any = None,
        n_jobs: int | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.size_share = size_share
        self.rules_share = rules_share
        self.ledger = ledger
        self.n_jobs = n_jobs

    def learn(self, curator: CuratorLike) -> Forest:
        for_size, for_rules = share("size_share", self.size_share), self._for_rules()
        if for_size + for_rules >= 1:
            raise ValueError("size_share and rules_share leave nothing of the budget; lower one")
        n = curator.records(for_size)
        layout = Layout(curator.domain, mixed_cuts(curator.domain))
        facts = _Facts(layout, n, curator.budget, curator.records_per_unit, for_rules)
        forest = forest_of_parts(curator, _learn_parts(curator, facts))
        return count_rules(curator, forest, for_rules) if for_rules else forest

    def measure_rules(self, X: Any, y: Any = None, *, epsilon: Any) -> Forest:
        """Count the labels of a few readable rules of the fitted forest, for an epsilon of its own.

        The epsilons of forest and rules add, in the forest's guarantee and in a ledger.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or Engine
            The records to count.
        y : array-like or None, default=None
            Their labels; None if the table has the domain's label column.
        epsilon : int, float, str or Fraction
            The budget of the counts, read exactly as written.

        Returns
        -------
        Forest
            One tree of counts, also kept as `forest_.measured`: `.rules()` lists what was counted.
        """
        check_is_fitted(self)
        engine, budget = self._open(X, y, reset=False), self._budget(epsilon)
        curator = super()._open_curator(engine, budget, "measure rules of")
        counted = count_rules(curator, self.forest_, Fraction(1))
        guarantee = self.forest_.guarantee.then(curator.guarantee)
        self._keep(replace(counted, guarantee=guarantee), curator)
        rules = self.forest_.measured
        assert rules is not None
        return rules

    def _for_rules(self) -> Fraction:
        return share("rules_share", self.rules_share, or_none=True)

    def _open_curator(self, engine: Engine, budget: Budget, act: str) -> CuratorLike:
        """Serve a request with a delta by a pure guarantee where Gaussian noise buys nothing.

        Not where a ledger counts in rho: there a pure epsilon costs far more than what was asked.
        """
        domain = engine.domain
        is_free = self._charged is None and not budget.is_exact
        if budget.delta and is_free and domain.records is not None:
            layout = Layout(domain, mixed_cuts(domain))
            records_per_person = 1 if domain.person is None else domain.person.records
            n, kept = max(1, domain.records), self._for_rules()
            asked = _Facts(layout, n, budget, records_per_person, kept)
            pure = replace(asked, budget=Budget(budget.epsilon))
            budget = budget if asked.buys_more_than(pure) else pure.budget
        return super()._open_curator(engine, budget, act)


def _learn_parts(curator: CuratorLike, facts: _Facts) -> list[Part]:
    """Steps for two labels; for more, named labels, tables, steps. Public facts decide which."""
    layout, n, kept = facts.layout, facts.n_records, facts.kept
    whole = curator.remaining_share - kept
    if layout.domain.n_labels == 2:
        return SignBoosting(curator, layout, n, kept=kept).learn(facts.steps())
    if curator.has_private_choices and facts.needs_look:
        if are_balanced(curator, layout, n, whole * _FOR_LOOK):  # then equal shares are the start
            steps = facts.steps_for(1 - _FOR_LOOK)
            return VectorBoosting(curator, layout, n, kept=kept).learn(steps, 1.5, Fraction(0))
        whole = curator.remaining_share - kept
    # where choices read noisy tables of everything, those of a few attributes say more
    route = facts.route() if curator.has_private_choices else _Route(tables=Fraction(1))
    parts: list[Part] = []
    if route.named:
        share = whole * route.named
        levels, for_counts = facts.levels(share)
        parts = [NamingTree(curator, layout, n).learn(levels, share, for_counts)]
    elif route.tables:
        has_room = facts.room >= _ROOM_FOR_TEMPERATURE
        tables = AdditiveTables(curator, layout, n)
        parts = tables.learn(facts.tables(), whole * route.tables, has_room)
    if not route.steps:
        return parts
    return VectorBoosting(curator, layout, n, parts, kept).learn(
        route.steps, route.size, route.for_strength
    )


def count_rules(curator: CuratorLike, forest: Forest, for_rules: Fraction) -> Forest:
    """The forest with the counts of its rules, for a share of the curator's budget."""
    trees = rule_tree(forest)
    question = LeafCounts(trees, curator.domain)
    leaves = curator.noisy_counts(question, for_rules, "labels of rules")
    measured = forest_of_leaves(curator, trees, leaves, vote="shares")
    return replace(forest, measured=measured, guarantee=curator.guarantee)


@dataclass(frozen=True)
class _Route:
    """How a budget is used for more than two labels: the shares of a start, and the steps after it.

    `for_strength` is the share of what the start leaves.
    """

    named: Fraction = Fraction(0)
    tables: Fraction = Fraction(0)
    steps: int = 0
    size: float = 1.5
    for_strength: Fraction = Fraction(0)


@dataclass(frozen=True)
class _Facts:
    """What is public before the first choice, and what follows from it."""

    layout: Layout
    n_records: int
    budget: Budget
    records_per_person: int
    kept: Fraction = Fraction(0)  # the share of the budget that is for rules

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
    def room(self) -> float:
        """The signal that each label has."""
        return self.signal / self.layout.domain.n_labels

    def route(self) -> _Route:
        """For more than two labels: a tree that names labels, tables, steps, or steps after either.

        Tables are best where records fill their domain, so that attributes are nearly independent,
        and where labels are too many for a tree to name.
        """
        n_labels, room = self.layout.domain.n_labels, self.room
        if n_labels == 1:
            return _Route(tables=Fraction(1))
        if math.isinf(room):
            return _Route(steps=LIMIT_STEPS)
        if room < _ROOM_FOR_DEPTH:
            return _Route(named=Fraction(1))
        if n_labels > _MANY_LABELS or (room >= _ROOM_FOR_TABLES and self._is_filled):
            if room < _ROOM_FOR_BOTH:
                return _Route(tables=Fraction(1))
            half = Fraction(1, 2)
            return _Route(tables=half, steps=self.steps_for(half), size=0.6)
        if room < _ROOM_FOR_STEPS:
            return _Route(named=Fraction(1))
        named = min(Fraction(3, 10), Fraction(max(1, round(40_000 / room)), 1_000))
        steps = self.steps_for((1 - named) * (1 - _FOR_STRENGTH))
        return _Route(named=named, steps=steps, for_strength=_FOR_STRENGTH)

    def steps_for(self, share: Fraction) -> int:
        """How many steps with a sign for every label pay, none of them too small for its proof."""
        steps = max(1, min(MAX_STEPS, round(math.sqrt(self.signal * float(share)) / 5)))
        whole = share * (1 - self.kept) * CHOICES * self.budget.total * _LEFT
        while steps > 1 and not _can_choose_signs(whole * min(step_shares(steps)), self.budget):
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
        return _ROOM_FOR_LOOK <= self.room < math.inf and 2 * ordered >= bins.sum()

    @property
    def _is_filled(self) -> bool:
        """Whether all attributes are categories, with few combinations for so many records."""
        attributes = self.layout.domain.attributes
        if any(self.layout.is_numeric(a) for a in range(len(attributes))):
            return False
        return math.prod(a.size for a in attributes) <= 10 * self.n_records

    def levels(self, share: Fraction) -> tuple[int, Fraction]:
        """How many levels of named labels pay, 0 for a partition; and the part for counts.

        With many labels a low tree cannot name them all.
        """
        room, n_labels = self.room, self.layout.domain.n_labels
        limits = (16, 60) if n_labels < 8 else (12, 30)
        levels = 1 + sum(room >= limit for limit in limits)
        if room >= _ROOM_FOR_STEPS:
            return 0 if self._can_part(share) else levels, _FOR_START_COUNTS
        for_counts = _FOR_COUNTS if room >= _ROOM_FOR_COUNTS else Fraction(0)
        return 0 if room < _ROOM_FOR_DEPTH and self._can_part(share) else levels, for_counts

    def _can_part(self, share: Fraction) -> bool:
        """Whether a share is within what partitions are proven for: not a millionth of epsilon."""
        amount = share * self.budget.total / 2  # counts take less than half of it
        choice = LabelingChoice(amount, self.records_per_person, (1,), self.budget.unit)
        return choice.covers_slack and self.layout.domain.n_labels <= choice.MAX_LABELS

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

    def buys_more_than(self, pure: _Facts) -> bool:
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
