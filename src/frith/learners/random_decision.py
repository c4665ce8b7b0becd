"""Random decision trees with private leaf counts (Jagannathan, Pillaipakkamnatt and Wright 2012)."""

from __future__ import annotations

from typing import Any, Self

from frith.curator import CuratorLike, Release
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.growing.parts import Answered
from frith.growing.pruning import prune_empty
from frith.growing.random_trees import grow_random_trees, random_tree_depth
from frith.learners.base import structure_rng
from frith.learners.parameters import share, whole
from frith.learners.public_trees import PublicTreesClassifier, forest_of_leaves


class RandomDecisionForestClassifier(PublicTreesClassifier):
    """Random decision trees whose leaves are counted privately (Private-RDT).

    Trees are grown at random from the domain, all leaves at one depth; each record is counted in
    one leaf of every tree; noise is added to every counter, empty ones too. A record is classified
    by the counts of its leaves summed over the trees (Algorithm 3).

    Parameters
    ----------
    domain : Domain, str, Path or None, default=None
        What is public about the table, or the path of a domain file. Without one the domain is
        learned from the data, with a `PrivacyLeakWarning`.
    epsilon : int, float, str or Fraction, default=1.0
        The budget of a fit, read exactly as written: "0.1" is one tenth. `float("inf")` gives exact
        counts, without any guarantee.
    delta : int, float, str or Fraction, default=0
        0 gives a pure guarantee with discrete Laplace noise. Above 0 the noise is discrete
        Gaussian, and costs add up under zCDP.
    n_trees : int, default=10
        The number of trees.
    max_depth : int or None, default=None
        The most splits on a path. None takes the paper's rule, min(floor(k / 2), floor(log_b n) - 1)
        and at least 1, for k attributes, b branches of a split on average, and n records.
    size_share : float, str or Fraction, default=0.05
        The share of the budget for a noisy number of records. Spent only if `max_depth` is None and
        the domain does not declare that number.
    random_state : int, RandomState or None, default=None
        Seeds the public shapes of the trees. Noise has no seed.
    as_published : bool, default=False
        Learn as the paper does, from the exact number of records, free of charge. No guarantee holds
        then.
    ledger : str, Path or None, default=None
        The ledger file that every fit and update is charged to, before a record is read.
    n_jobs : int or None, default=None
        The number of threads; None takes all cores.
    device : str or None, default=None
        "cuda" keeps the records' codes on an NVIDIA GPU and adds them up there, with the same sums; None
        uses the CPU.

    Attributes
    ----------
    forest_ : Forest
        What was released, with its guarantee.
    classes_ : ndarray
        The labels, sorted.
    receipt_ : Receipt or None
        The ledger's receipt for the last fit or update.

    Privacy
    -------
    `fit` is (epsilon, delta)-DP for neighbors that differ by one added or removed record, or by all
    records of one person where the domain names one. Trees are grown from the domain, the
    parameters and n alone, where n is declared public or a release paid from `size_share`. A record
    falls in one leaf of each of the N trees, so the counts of all leaves have L1 sensitivity N and
    squared L2 sensitivity N (times m, and m^2, for persons of at most m records): discrete Laplace
    noise of scale N / share, or discrete Gaussian noise of variance N / (2 rho share), covers the
    rest of the budget. The shares add up to at most one. `predict` only reads releases.

    `update` releases the counts of a new batch on the same trees under a budget of its own, so the
    epsilons of fit and updates add (adaptive composition). With `disjoint=True` the caller declares
    that no protected unit is in two batches; then each unit is touched by one release only, and the
    largest epsilon holds for all of them together.

    The full proof is in docs/proofs/random-decision.md.

    Departures from the paper
    -------------------------
    The number of records is declared or paid for. Noise is integer. Numeric attributes are split
    by random cuts of a public grid and count 4 times in k; attributes of one value count neither in
    k nor in b. Negative sums of counts become 0 in probabilities, and a record without a positive
    one gets the label shares of the whole forest. Updates add epsilons unless batches are declared
    disjoint in people, where the paper takes disjoint rows for granted. Pruning, which would tell
    which leaves are empty, happens at `epsilon=inf` only. Every row of the paper is in
    docs/sources/private-rdt.md.

    Examples
    --------
    >>> from frith import Categorical, Domain, RandomDecisionForestClassifier
    >>> domain = Domain(
    ...     [Categorical("smokes", ("no", "yes")), Categorical("coughs", ("no", "yes"))],
    ...     Categorical("ill", ("no", "yes")), records=400)
    >>> X, y = [["no", "no"], ["yes", "yes"]] * 200, ["no", "yes"] * 200
    >>> model = RandomDecisionForestClassifier(domain, epsilon=1, random_state=0).fit(X, y)
    >>> print(model.forest_.guarantee.epsilon)
    1
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        n_trees: int = 10,
        max_depth: int | None = None,
        size_share: Any = 0.05,
        random_state: Any = None,
        as_published: bool = False,
        ledger: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.n_trees = n_trees
        self.max_depth = max_depth
        self.size_share = size_share
        self.random_state = random_state
        self.as_published = as_published
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.device = device

    def grow(self, curator: CuratorLike) -> Trees:
        n_trees, max_depth = whole("n_trees", self.n_trees), self.max_depth
        rng = structure_rng(self.random_state)
        if max_depth is None:
            n = curator.records(share("size_share", self.size_share))
            max_depth = random_tree_depth(curator.domain, n, n_trees)
        return grow_random_trees(curator.domain, n_trees, whole("max_depth", max_depth), rng)

    def finish(self, answered: Answered, trees: Trees, leaves: Release) -> Forest:
        """Leaves vote by their counts, summed over the trees (Algorithm 3)."""
        return forest_of_leaves(answered, trees, leaves, vote="counts")

    def update(self, X: Any, y: Any = None, *, epsilon: Any = None, disjoint: bool = False) -> Self:
        """Add a new batch of records to the leaves (Algorithm 5), for an epsilon of its own.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or Engine
            The records of the new batch.
        y : array-like or None, default=None
            Their labels; None if the table has the domain's label column.
        epsilon : int, float, str, Fraction or None, default=None
            The budget of this update; None takes the estimator's own.
        disjoint : bool, default=False
            Declare that no protected unit is in two batches, and that a record's batch is a
            function of that record alone (a date, say, with public boundaries).
        """
        if not hasattr(self, "forest_"):
            raise ValueError("there is no forest to update yet; call fit first")
        if self._grown.vote != "counts":  # from_forest takes any
            raise ValueError("only a forest whose leaves vote by counts can be updated")
        budget = self._budget(epsilon)
        curator = self._open_curator(self._open(X, y, reset=False), budget, "update")
        batch = self.count(curator, self._grown.trees)
        self._keep(self._grown.plus(batch, disjoint=disjoint), curator, disjoint)
        return self

    def partial_fit(self, X: Any, y: Any = None, classes: Any = None) -> Self:
        """`fit` the first batch, `update` with every further one; epsilons add.

        Parameters
        ----------
        X : DataFrame, Arrow table, array or Engine
            The records of a batch.
        y : array-like or None, default=None
            Their labels; None if the table has the domain's label column.
        classes : array-like or None, default=None
            All labels, if no domain declares them. Only the first call reads it.
        """
        if hasattr(self, "forest_"):
            return self.update(X, y)
        budget = self._budget()
        curator = self._open_curator(self._open(X, y, classes=classes), budget, "fit")
        self._keep(self.learn(curator), curator)
        return self

    def _adopt(self, forest: Forest, receipt: Any) -> None:
        """Keep the complete trees for updates; without noise, show them pruned, as the paper does."""
        self._grown = forest
        super()._adopt(forest if forest.variance.any() else prune_empty(forest), receipt)
