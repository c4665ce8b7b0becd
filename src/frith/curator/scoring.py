"""Asks for the counts that scores of a label are made of: one histogram, and one table for each attribute."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from frith._arrays import Floats
from frith.curator.confusion import PUBLIC_FOREST
from frith.curator.curator import RECORDS_ARE_PUBLIC, Curator
from frith.curator.group_rates import GroupCounts
from frith.curator.label_score import HALF, LabelScore, check_metrics
from frith.curator.pricing import noise_of
from frith.domain import Categorical, Domain, Numeric, Ordered, Value, spelling
from frith.errors import DomainError
from frith.forest import Forest
from frith.kernels import BinCounts, Question, RecordCount, ScoreCounts
from frith.kernels.scores import n_groups
from frith.privacy.budget import Budget

OPEN_PREDICTOR = "what the scored predictor has learned is not covered"
MOST_BINS = 128
_USUAL_BINS = 20  # if the number of records is not declared
_LEAST_BINS = 4
_REACH, _WIDEST = 4.0, 1.5  # the log-odds of the last edge, and the most between two edges


@dataclass(frozen=True)
class ScoreRequest:
    """What is asked about predictions of a label.

    Parameters
    ----------
    metrics : sequence of str or None, default=None
        What to report; None for all. Accuracy alone needs two bins, and has less noise.
    by : sequence of str, default=()
        Attributes whose groups get rates. Each of k attributes gets 1 / (k + 1) of the budget.
    positive : value or None, default=None
        The label that the scores are about; None for the second of two.
    bins : int or None, default=None
        The number of bins of the probability; None to choose it from public facts.
    """

    metrics: Any = None
    by: Iterable[str] = ()
    positive: Value | None = None
    bins: int | None = None

    def read(self, domain: Domain) -> ScorePlan:
        """Check the request against a domain."""
        if domain.has_target:
            raise DomainError("the label is a number, and these scores are of labels with values")
        names = (self.by,) if isinstance(self.by, str) else tuple(dict.fromkeys(self.by))
        for name in names:
            if name not in domain.names:
                raise ValueError(
                    f"the domain has no attribute {name!r}; it has {', '.join(domain.names)}"
                )
        bins = 2 if self.bins is None else self.bins
        if type(bins) is not int or not 2 <= bins <= MOST_BINS or bins % 2:
            raise ValueError(f"bins are an even number from 2 to {MOST_BINS}")
        by = tuple(domain.names.index(name) for name in names)
        return ScorePlan(check_metrics(self.metrics), by, self._label(domain), self.bins)

    def _label(self, domain: Domain) -> int:
        spelled = [spelling(value) for value in domain.label_values]
        if self.positive is None:
            if len(spelled) == 2:
                return 1
            raise ValueError(
                f"scores are about one label against all others; say positive=, one of "
                f"{', '.join(spelled[:12])}"
            )
        if spelling(self.positive) not in spelled:
            raise ValueError(
                f"there is no label {self.positive!r}; known: {', '.join(spelled[:12])}"
            )
        return spelled.index(spelling(self.positive))


@dataclass(frozen=True)
class ScorePlan:
    """A request that was checked, with public facts only."""

    metrics: tuple[str, ...]
    by: tuple[int, ...]
    positive: int
    bins: int | None

    @property
    def share(self) -> Fraction:
        """Of what is left of the budget, the share of each question."""
        return Fraction(1, 1 + len(self.by))

    def n_bins(self, domain: Domain, budget: Budget, left: Fraction = Fraction(1)) -> int:
        """As many as make what bins hide about as large as what their noise hides.

        k bins hide about 1 / k of an AUC, and their noise about sqrt(k) times that of a count, over the
        number of records, if that is declared.
        """
        if self.metrics == ("accuracy",):
            return 2
        if not self.reads_records(domain, budget):
            return self.bins or (MOST_BINS if budget.is_exact else _USUAL_BINS)
        noise = noise_of(RecordCount(), domain, self.share * left * budget.total, budget.unit)
        counted = max(1, domain.records or 1) / (4 * noise.variance**0.5)
        return min(MOST_BINS, max(_LEAST_BINS, 2 * round(counted ** (2 / 3) / 2)))

    def reads_records(self, domain: Domain, budget: Budget) -> bool:
        """Whether the number of bins follows from the declared number of records."""
        is_open = self.bins is None and self.metrics != ("accuracy",)
        return is_open and domain.records is not None and not budget.is_exact


def score_forest(curator: Curator, forest: Forest, request: ScoreRequest) -> LabelScore:
    """Private scores of a forest's probabilities, for all that is left of the budget.

    Privacy
    -------
    The score is (epsilon, delta)-DP for the curator's budget. It is 1 + k questions, for k attributes
    in `by`, each with an equal share: counts of records by bin of the probability and by whether they
    have the label; and, for each attribute, by group, by whether the label is predicted and by
    whether they have it. A record is in one cell of each (`kernels.scores`): L1 = squared L2 = 1, and m,
    m^2 for persons of at most m records. Bins follow from the domain and the budget; what is
    computed from the counts is free. The forest is a release with a guarantee of its own: where it
    has learned from the same records the amounts add, and where it has none the score's guarantee says so.
    """
    if not forest.domain.same_codes(curator.domain):
        raise ValueError(
            "the forest's domain has other attributes or labels than the table's; score it on a "
            "table opened with the forest's own domain"
        )
    plan = request.read(forest.domain)
    edges = even_edges(plan.n_bins(curator.domain, curator.budget, curator.remaining_share))

    def question(edges: Floats, by: int | None) -> Question:
        return ScoreCounts(forest, plan.positive, edges, by)

    return _ask(curator, plan, edges, question, None if forest.guarantee.holds else PUBLIC_FOREST)


def score_bins(curator: Curator, plan: ScorePlan, edges: Floats) -> LabelScore:
    """As `score_forest`, of a table whose first attribute is the bin that each record was predicted to be in.

    Its other attributes are those of `by`, in order.
    """
    domain = curator.domain
    bins = np.arange(len(edges) + 1)

    def question(asked: Floats, by: int | None) -> Question:
        coarse = bins if by is None else (bins > len(edges) // 2).astype(np.int64)
        return BinCounts(domain, 0, coarse, plan.positive, by)

    by = tuple(range(1, len(domain.attributes)))
    return _ask(curator, replace(plan, by=by), edges, question, OPEN_PREDICTOR)


def _ask(
    curator: Curator,
    plan: ScorePlan,
    edges: Floats,
    question: Callable[[Floats, int | None], Question],
    assumption: str | None,
) -> LabelScore:
    """The histogram, then a table for each attribute."""
    if not curator.remaining_share:
        raise ValueError("nothing is left of the budget; open a curator with one for the score")
    domain, share = curator.domain, plan.share * curator.remaining_share
    histogram = curator.noisy_counts(question(edges, None), share, "probabilities by label")
    groups = []
    for by in plan.by:
        attribute = domain.attributes[by]
        halves = question(np.array([HALF]), by)
        found = curator.noisy_counts(halves, share, f"predictions by {attribute.name}")
        groups.append(
            GroupCounts(attribute.name, group_names(domain, by), found.values, found.variance)
        )
    claim = curator.guarantee
    if plan.reads_records(domain, curator.budget):
        claim = claim.assuming(RECORDS_ARE_PUBLIC)
    return LabelScore(
        domain.label_values[plan.positive], edges, histogram.values[0], histogram.variance,
        claim if assumption is None else claim.assuming(assumption), plan.metrics, tuple(groups),
    )  # fmt: skip


def even_edges(n_bins: int) -> Floats:
    """Edges of bins that are even in log-odds, 1/2 in their middle."""
    reach = min(_REACH, _WIDEST * (n_bins - 2) / 2)
    edges = 1 / (1 + np.exp(-np.linspace(-reach, reach, n_bins - 1)))
    edges[n_bins // 2 - 1] = HALF
    return np.asarray(edges)


def group_names(domain: Domain, by: int) -> tuple[str, ...]:
    """The names of an attribute's groups, in the order of their counts."""
    attribute = domain.attributes[by]
    if isinstance(attribute, Categorical):
        return tuple(map(spelling, attribute.values))
    count = n_groups(domain, by) - attribute.missing
    if isinstance(attribute, Ordered) and count == attribute.cells:
        names = [spelling(value) for value in attribute.values]
    else:
        names = _intervals(attribute, count)
    return (*names, "missing") if attribute.missing else tuple(names)


def _intervals(attribute: Numeric, count: int) -> list[str]:
    firsts = [-(-i * attribute.cells // count) for i in range(1, count)]
    bounds = [attribute.low, *(attribute.edges[first - 1] for first in firsts), attribute.high]
    texts = [attribute.text_of(float(bound), 4) for bound in bounds]
    return [f"{low} to {high}" for low, high in itertools.pairwise(texts)]
