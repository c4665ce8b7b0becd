"""A forest of greedy trees, chosen by the Gini index (Fletcher and Islam 2015, "DPDF")."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from frith.curator import CuratorLike
from frith.forest import Forest
from frith.forest.trees import Trees
from frith.growing.consistency import make_consistent
from frith.growing.grower import Grower
from frith.growing.pruning import collapse, splits_worth_keeping
from frith.kernels import NodeCounts, NodeSplits, SplitCounts
from frith.kernels.criteria import GiniMass
from frith.learners.classifier import PrivateForestClassifier
from frith.learners.parameters import is_exponential, whole
from frith.learners.published.gini import learn_as_published


class GiniForestClassifier(PrivateForestClassifier):
    """Greedy trees with distinct roots, chosen by the Gini index, counted at every node (DPDF).

    Algorithm 1: at every node the noisy counts of its labels, then, while it is large and mixed
    enough, a private choice of the attribute to split it by; bottom-up pruning (eq. 27); a vote
    weighted by confidence. Because every node is counted, every rule and sub-rule has a confidence
    and a support.

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
    n_trees : int, default=1
        The number of trees. Their roots are distinct, so there are at most as many as attributes.
    max_depth : int, default=4
        The most splits on a path.
    min_support : float, default=100
        The smallest noisy number of records of a node that is split.
    bins : int, default=16
        The number of equal-width parts of each numeric attribute. Their borders are its candidate
        cuts.
    mechanism : str or None, default=None
        How a split is chosen privately: "permute-and-flip" or "exponential". None takes the first,
        which is never worse at the same epsilon, and with a delta the second, the only one there.
    consistent : bool, default=True
        Fit the counts of parents and children to each other by least squares. This is
        post-processing and costs nothing.
    as_published : bool, default=False
        Learn as the paper does, with its sensitivity and its depth. No guarantee holds then.
    ledger : str, Path or None, default=None
        The ledger file that every fit is charged to, before a record is read.
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
        The ledger's receipt for the last fit.

    Privacy
    -------
    `fit` is (epsilon, delta)-DP. A path of a tree is asked for label counts at each of its
    L = max_depth + 1 levels and for a choice at all but the last: 2 L - 1 questions a tree, of
    equal shares. At a
    level a record is at one node of each of the N trees, so the label counts have L1 and squared L2
    sensitivity N. The choice at a node is by the Gini mass, minus the sum over children of
    n - sum_c x_c^2 / n: one more record moves every candidate's score the same way, by less than 2,
    so weights exp(epsilon_choice score / 2) cost epsilon_choice, on any table (`criteria.GiniMass`).
    Choices at the nodes of one level compose in parallel within a tree and add over trees. Numeric
    cuts are candidates of the same choice. Stops read noisy counts; pruning, consistency, votes
    and rules are post-processing.

    The full proof is in docs/proofs/gini.md.

    Departures from the paper
    -------------------------
    The paper divides by a *local* sensitivity at a *noisy* size, which leaks more than claimed
    where the true node is smaller; the mass above has a global one and weights twice as strong.
    Algorithm 1 splits while d <= depth but pays for d < depth. Choices are by permute-and-flip
    where the paper has the exponential mechanism, unless `mechanism` or a delta asks for it. There
    are no more trees than attributes of two or more values. A tree stops growing where the next level
    would have more cells than a question may. Consistency and numeric cuts are ours.
    `as_published=True` brings back the paper's sensitivity, depth and mechanism. Every row of the
    paper is in docs/sources/dpdf.md.
    """

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        n_trees: int = 1,
        max_depth: int = 4,
        min_support: float = 100,
        bins: int = 16,
        mechanism: str | None = None,
        consistent: bool = True,
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
        self.min_support = min_support
        self.bins = bins
        self.mechanism = mechanism
        self.consistent = consistent
        self.as_published = as_published
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.device = device

    def learn(self, curator: CuratorLike) -> Forest:
        domain, n_trees = curator.domain, whole("n_trees", self.n_trees)
        max_depth = whole("max_depth", self.max_depth, least=0)
        distinct = min(n_trees, sum(a.size > 1 for a in domain.attributes) or 1)
        grower = Grower(domain, distinct, whole("bins", self.bins, least=2))
        exponential = is_exponential(self.mechanism, curator.budget.delta)
        if self.as_published:
            if self.mechanism == "permute-and-flip":
                raise ValueError(
                    "the paper's own form uses the exponential mechanism; name no other"
                )
            return learn_as_published(curator, grower, max_depth, n_trees, self._may_split)
        share = Fraction(1, 2 * max_depth + 1)
        counts: list[NDArray] = []
        noise: list[float] = []
        open_nodes = list(grower.roots)
        for number in range(1, max_depth + 2):
            level, allowed = grower.level(open_nodes, last=number > max_depth)
            labels = curator.noisy_counts(NodeCounts(level), share, f"labels at level {number}")
            counts.append(labels.values)
            noise += [labels.variance] * len(open_nodes)
            places = [i for i, x in enumerate(labels.values) if self._may_split(x, allowed[i])]
            picks = _choose(curator, level, places, allowed, share, number, exponential)
            attributes = domain.attributes
            children = sum(attributes[a].branches for a in grower.layout.attribute_of[picks])
            if not grower.can_count(range(children)):
                break
            open_nodes = grower.split_all(open_nodes, places, picks)
            if not open_nodes:
                break
        return self._finish(curator, grower.trees(), np.concatenate(counts), np.array(noise))

    def _may_split(self, labels: NDArray, allowed: NDArray[np.bool_]) -> bool:
        """Large enough, of more than one label, and with an attribute left: on noisy counts."""
        size = labels.sum()
        return bool(size >= self.min_support and np.all(labels < size) and allowed.any())

    def _finish(
        self, curator: CuratorLike, trees: Trees, counts: NDArray, noise: NDArray
    ) -> Forest:
        live = splits_worth_keeping(trees, curator.domain, counts)
        if self.consistent:
            counts, noise = make_consistent(trees, curator.domain, counts, noise)
        forest = Forest(curator.domain, trees, counts, curator.guarantee, noise, vote="weighted")
        return collapse(forest, live)


def _choose(
    curator: CuratorLike,
    level: SplitCounts,
    places: list[int],
    allowed: NDArray[np.bool_],
    share: Fraction,
    number: int,
    exponential: bool,
) -> list[int]:
    """A candidate for each place. Roots are chosen one after the other, each another attribute."""
    groups = [[p] for p in places] if number == 1 else [places] if places else []
    taken = np.zeros(level.layout.n_candidates, dtype=bool)
    picks: list[int] = []
    for group in groups:
        nodes = NodeSplits(level, np.array(group), allowed[group] & ~taken, GiniMass())
        part = share / len(groups)
        what = f"splits of level {number}"
        picks += curator.choose_splits(nodes, part, what, exponential=exponential).tolist()
        taken |= level.layout.attribute_of == level.layout.attribute_of[picks[-1]]
    return picks
