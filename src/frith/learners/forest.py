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
from frith.growing.boosting import LIMIT_STEPS, MAX_STEPS, SignBoosting, plan
from frith.growing.label_boosting import VectorBoosting
from frith.growing.parts import Part, forest_of_parts
from frith.growing.rule_tree import rule_tree
from frith.kernels import LeafCounts
from frith.kernels.layout import Layout, mixed_cuts
from frith.learners.base import PrivateForestClassifier
from frith.learners.parameters import share
from frith.learners.public_trees import forest_of_leaves
from frith.privacy.budget import Budget

_ROOM_FOR_TEMPERATURE = 80
_MANY_LABELS = 16
_ROOM_FOR_BOTH = 3_000


class ForestClassifier(PrivateForestClassifier):
    """The learner to start with: give it a domain and a budget; public facts decide the rest.

    Two labels: sign-step boosting. Each step privately chooses a split in two and a sign, and moves
    the log-odds of all records by a fixed amount to either side. A few steps make an oblivious
    tree. Then two sums in each of its cells are released, and give every cell a value that weighs
    signal against noise (`growing.boosting`). More labels: the tables of a few
    privately chosen attributes, shrunk towards independence as the noise demands
    (`growing.additive`), or steps that choose a sign for every label (`growing.label_boosting`), or
    one after the other. How many there are follows from the number of records, the budget and the
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
    *Tables.* Attributes are chosen one after another by a monotone score of range 1. A record is in
    one cell of each of the m tables: L1 = squared L2 = m (`kernels.SplitCounts`). The temperature is
    a private choice by the number of correct records, a monotone score of range 1.
    *Rules* are the leaves of one tree that is read off the forest. A record is in one of them and has
    one label, so their counts have L1 and squared L2 sensitivity 1 (`kernels.LeafCounts`).

    Everything else (values, shrinkage, the forest, its rules) reads releases and public facts.
    For persons of at most m records, ranges and L1 sensitivities are m-fold, squared L2 m^2-fold.

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
        is_free = self.ledger is None and not budget.is_exact
        if budget.delta and is_free and domain.records is not None:
            layout = Layout(domain, mixed_cuts(domain))
            records_per_person = 1 if domain.person is None else domain.person.records
            n, kept = max(1, domain.records), self._for_rules()
            asked = _Facts(layout, n, budget, records_per_person, kept)
            pure = replace(asked, budget=Budget(budget.epsilon))
            budget = budget if asked.buys_more_than(pure) else pure.budget
        return super()._open_curator(engine, budget, act)


def _learn_parts(curator: CuratorLike, facts: _Facts) -> list[Part]:
    """Steps for two labels; tables, steps or both for more. Public facts decide which."""
    layout, n, kept = facts.layout, facts.n_records, facts.kept
    if layout.domain.n_labels == 2:
        return SignBoosting(curator, layout, n, kept=kept).learn(facts.steps())
    steps, size, share = facts.vector_steps()
    parts: list[Part] = []
    if share < 1:
        for_tables = (curator.remaining_share - kept) * (1 - share)
        has_room = facts.signal / layout.domain.n_labels >= _ROOM_FOR_TEMPERATURE
        parts = AdditiveTables(curator, layout, n).learn(facts.tables(), for_tables, has_room)
    if not steps:
        return parts
    return VectorBoosting(curator, layout, n, parts, kept).learn(steps, size)


def count_rules(curator: CuratorLike, forest: Forest, for_rules: Fraction) -> Forest:
    """The forest with the counts of its rules, for a share of the curator's budget."""
    trees = rule_tree(forest)
    question = LeafCounts(trees, curator.domain)
    leaves = curator.noisy_counts(question, for_rules, "labels of rules")
    measured = forest_of_leaves(curator, trees, leaves, vote="shares")
    return replace(forest, measured=measured, guarantee=curator.guarantee)


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

    def vector_steps(self) -> tuple[int, float, Fraction]:
        """For more than two labels: how many steps, their size, and their share of the budget.

        Numbers have an order that steps use and tables do not; many labels drown a step; and where
        the budget is large, tables first and steps after them do better than either.
        """
        signal, n_labels = self.signal, self.layout.domain.n_labels
        if n_labels == 1:
            return 0, 0.0, Fraction(0)
        if math.isinf(signal):
            return LIMIT_STEPS, 1.5, Fraction(1)
        bins = np.diff(self.layout.starts)
        ordered = sum(int(b) for a, b in enumerate(bins) if self.layout.is_numeric(a))
        room = signal / n_labels
        if 2 * ordered >= bins.sum() and n_labels <= _MANY_LABELS and room >= _ROOM_FOR_TEMPERATURE:
            return max(1, min(MAX_STEPS, round(math.sqrt(signal) / 5))), 1.5, Fraction(1)
        if room >= _ROOM_FOR_BOTH:
            return min(MAX_STEPS, round(math.sqrt(signal / 2) / 5)), 0.6, Fraction(1, 2)
        return 0, 0.0, Fraction(0)

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
        return not pure.vector_steps()[0] and self.table_noise() < pure.table_noise()
