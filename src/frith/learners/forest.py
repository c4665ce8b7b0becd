"""The flagship: a private forest without parameters to tune."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from sklearn.utils.validation import check_is_fitted

from frith.curator import CuratorLike
from frith.curator.protocol import most_counted
from frith.domain import Domain
from frith.engines import Engine
from frith.forest import Forest
from frith.growing.parts import forest_of_parts
from frith.growing.planning import Facts, check_layout, learn_parts
from frith.growing.rule_tree import rule_tree
from frith.growing.trusting import share_of_trust, trusted
from frith.kernels import LeafCounts
from frith.kernels.gradients import UNIT
from frith.kernels.layout import Layout, mixed_cuts
from frith.learners.parameters import share
from frith.learners.public_prior import WEIGHTS_ARE_PUBLIC, Prior, log_weights_of
from frith.learners.public_trees import forest_of_leaves
from frith.learners.sets import PredictionSets
from frith.privacy.budget import Budget


class ForestClassifier(PredictionSets):
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
    public : tuple, Engine, Forest or None, default=None
        What is known beforehand, from records that nobody protects: a pair (X, y), an open table, or
        a forest whose trees multiply, of the same domain. How far to trust it is one private choice
        after all else was learned without it, so that a misleading one costs little. Nothing of the
        protected records may be in it that was not published before.
    question_weights : dict or None, default=None
        How much attributes matter, by name: public weights of their questions in private choices.
        Attributes that are not named weigh 1. They must not be learned from the same records.
    coverage : float, str, Fraction or None, default=None
        The share of new records whose label is in the set of `predict_set`, such as 0.9. None for a
        forest without prediction sets.
    held_out : float, str or Fraction, default=0.3
        The share of the records that are held out for the sets, by a hash of each. They are not trained
        on, so the budget covers both parts. Used only with `coverage`.
    ledger : str, Path or None, default=None
        The ledger file that every fit is charged to, before a record is read.
    n_jobs : int or None, default=None
        The number of threads; None takes all cores.
    device : str or None, default=None
        "cuda" keeps the records' codes on an NVIDIA GPU and adds them up there, with the same sums; None
        uses the CPU, as it must where records are held out (`coverage`).

    Attributes
    ----------
    forest_ : Forest
        What was released, with its guarantee. `forest_.describe()` lists every question that was
        asked of the records, and its share of the budget.
    classes_ : ndarray
        The labels, sorted.
    receipt_ : Receipt or None
        The ledger's receipt for the last fit.
    coverage_ : Fraction
        The share of new records that sets cover; only with `coverage`.
    set_cell_ : int
        How strange a label in a set may be, on a grid; only with `coverage`.

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
    (`privacy.labeling.LabelingChoice`), and so is one label for everybody (`kernels.LabelChoice`).
    Counts in the leaves of one tree, and the count of records that are right
    (`kernels.forests.RightCounts`): L1 = squared L2 = 1. The strength is a private choice by the
    number of correct records, range 1 (`kernels.StrengthChoice`).
    *Tables.* Attributes are chosen one after another by a monotone score of range 1. A record is in
    one cell of each of the m tables: L1 = squared L2 = m (`kernels.SplitCounts`). The temperature is
    a private choice by the number of correct records, a monotone score of range 1.
    *Rules* are the leaves of one tree that is read off the forest. A record is in one of them and has
    one label, so their counts have L1 and squared L2 sensitivity 1 (`kernels.LeafCounts`).
    *Prediction sets* are about records that were held out by a hash of each: a record is in one of two
    parts, and each part is asked within the budget (`learners.sets`, `kernels.conformity`).
    *A public prior* is a function of public records. How strongly it speaks is a private choice by the
    number of correct records, range 1, among models whose private parts are all paid for
    (`growing.trusting`). Weights of questions are public constants. Neither enters a sensitivity.

    Everything else (values, shrinkage, the forest, its rules) reads releases and public facts.
    For persons of at most m records, ranges and L1 sensitivities are m-fold, squared L2 m^2-fold.

    The full proof is in docs/proofs/forest.md.

    Notes
    -----
    Values of nodes are scores: what a tree adds to the log-odds of every label. They are the model's
    opinion, and no record was counted for them. A leaf's noise is that of the released sums behind
    it; where the budget is too small for sums, it is as large as the steps that noise may have chosen.
    Probabilities are guesses where nothing is counted: below n epsilon = 4000 with two labels, and
    with more where it is below 100 in all and below 20 for each label.

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
        public: Any = None,
        question_weights: Any = None,
        coverage: Any = None,
        held_out: Any = 0.3,
        ledger: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.size_share = size_share
        self.rules_share = rules_share
        self.public = public
        self.question_weights = question_weights
        self.coverage = coverage
        self.held_out = held_out
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.device = device

    def learn(self, curator: CuratorLike) -> Forest:
        for_size, for_rules = share("size_share", self.size_share), self._for_rules()
        if for_size + for_rules >= 1:
            raise ValueError("size_share and rules_share leave nothing of the budget; lower one")
        layout, prior = self._layout(curator.domain), self._prior(curator)
        check_layout(layout)
        per_person, budget = curator.records_per_unit, curator.budget
        reach = (UNIT if curator.domain.n_labels == 2 else 1) * most_counted(curator)
        budget.check_pays(1 - for_size - for_rules, reach, "the forest")
        if for_rules:
            budget.check_pays(for_rules, per_person, "rules_share")
        n = curator.records(for_size)
        paid = 1 - curator.remaining_share
        facts = Facts(layout, n, budget, per_person, for_rules, paid)
        if prior is None:
            parts = learn_parts(curator, facts)
        else:
            for_trust = (curator.remaining_share - for_rules) * share_of_trust(facts.signal)
            own = learn_parts(curator, replace(facts, kept=for_rules + for_trust))
            parts = trusted(curator, own, prior.parts, for_trust)
        forest = forest_of_parts(curator, parts)
        forest = count_rules(curator, forest, for_rules) if for_rules else forest
        assumed = [*([prior.assumption] if prior else []), *self._assumed()]
        return replace(forest, guarantee=forest.guarantee.assuming(*assumed))

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

    def _prior(self, curator: CuratorLike) -> Prior | None:
        """What `public` gives. Nothing was asked yet, so what is wrong with it costs nothing."""
        if self.public is None:
            return None
        if not curator.has_private_choices:
            raise ValueError("parties cannot choose privately together how far to trust a prior")
        return Prior.read(self.public, curator.domain, self.n_jobs)

    def _layout(self, domain: Domain) -> Layout:
        return Layout(domain, mixed_cuts(domain), log_weights_of(self.question_weights, domain))

    def _assumed(self) -> list[str]:
        return [] if self.question_weights is None else [WEIGHTS_ARE_PUBLIC]

    def _for_rules(self) -> Fraction:
        return share("rules_share", self.rules_share, or_none=True)

    def _open_curator(self, engine: Engine, budget: Budget, act: str) -> CuratorLike:
        """Serve a request with a delta by a pure guarantee where Gaussian noise buys nothing.

        Not where a ledger counts in rho: there a pure epsilon costs far more than what was asked.
        """
        domain = engine.domain
        is_free = self._charged is None and not budget.is_exact
        if budget.delta and is_free and domain.records is not None:
            layout = self._layout(domain)
            records_per_person = 1 if domain.person is None else domain.person.records
            n, kept = max(1, domain.records), self._for_rules()
            asked = Facts(layout, n, budget, records_per_person, kept)
            pure = replace(asked, budget=Budget(budget.epsilon))
            budget = budget if asked.buys_more_than(pure) else pure.budget
        return super()._open_curator(engine, budget, act)


def count_rules(curator: CuratorLike, forest: Forest, for_rules: Fraction) -> Forest:
    """The forest with the counts of its rules, for a share of the curator's budget."""
    trees = rule_tree(forest)
    question = LeafCounts(trees, curator.domain)
    leaves = curator.noisy_counts(question, for_rules, "labels of rules")
    measured = forest_of_leaves(curator, trees, leaves, vote="shares")
    return replace(forest, measured=measured, guarantee=curator.guarantee)
