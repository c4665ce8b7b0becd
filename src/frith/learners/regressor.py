"""A private forest that predicts a number, without parameters to tune."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from frith.curator import CuratorLike
from frith.curator.protocol import most_counted
from frith.domain import Numeric
from frith.engines import Engine
from frith.engines.part import Part
from frith.forest import Forest
from frith.growing.parts import forest_of_parts
from frith.growing.planning import check_layout
from frith.growing.residual_boosting import MANY, Plan, ResidualBoosting
from frith.kernels.gradients import UNIT
from frith.kernels.layout import Layout, mixed_cuts
from frith.kernels.quantiles import WHOLE
from frith.kernels.residuals import HALF, tilt_of
from frith.kernels.splits import BinarySplits
from frith.learners.calibration import interval_radius
from frith.learners.numbers import PrivateForestRegressor
from frith.learners.parameters import one_of, share
from frith.privacy.budget import Budget
from frith.privacy.exact import exact, show

_FINE = 256  # eight times the classifier's cuts, where there is signal to tell them apart
_GAUSSIAN_GAIN = 1.7  # how much more signal a delta must buy before its guarantee is taken


class ForestRegressor(PrivateForestRegressor):
    """Predicts a number: give it a domain whose label has bounds, and a budget.

    Sign-step boosting on clipped residuals. An interval of the declared range is chosen privately, so
    bounds may be several times too wide; a mean in it is the start. Each step privately chooses a
    split in two and a sign, and moves the predictions of all records by a fixed amount to either
    side. A few steps make an oblivious tree, to which public cuts around the chosen ones are added.
    Then two sums in each of its cells are released, and give every cell a value that weighs signal
    against noise (`growing.residual_boosting`). How many steps there are follows from the number of
    records and the budget: where they carry no step, the prediction is a private mean, shrunk as
    its noise demands, or two of which the second is closer. Predictions are means, or quantiles.

    Parameters
    ----------
    domain : Domain, str, Path or None, default=None
        What is public about the table, or the path of a domain file. Its label is `Numeric`: targets
        beyond its bounds are clamped to them, and a label of `scale="log"` is learned through its
        logarithm. Without a domain it is learned from the data, with a
        `PrivacyLeakWarning`.
    epsilon : int, float, str or Fraction, default=1.0
        The budget of a fit, read exactly as written: "0.1" is one tenth. `float("inf")` gives exact
        sums, without any guarantee.
    delta : int, float, str or Fraction, default=0
        0 gives a pure guarantee. Above 0 Gaussian noise is used under zCDP where it allows more;
        where it does not, a pure guarantee of the same epsilon is given (if the domain declares the
        number of records and no ledger is charged).
    loss : {"squared", "quantile"}, default="squared"
        What predictions are: means, or quantiles.
    quantile : float, str or Fraction, default=0.5
        The share of targets that are to be below the prediction, in whole thousandths; 0.5 predicts
        medians. Used only with `loss="quantile"`.
    center : float or None, default=None
        A public guess of the mean, known from elsewhere than these records: where the budget is tiny,
        predictions are pulled to it. None takes the middle of the bounds (on a log scale, of their
        logarithms).
    size_share : float, str or Fraction, default=0.02
        The share of the budget for a noisy number of records. Spent only if the domain does not
        declare that number.
    interval : float, str, Fraction or None, default=None
        The share of new targets that `predict_interval` covers, such as 0.9. None for a forest without
        intervals.
    held_out : float, str or Fraction, default=0.2
        The share of the records that are held out for the intervals, by a hash of each. They are not
        trained on, so the budget covers both parts. Used only with `interval`.
    ledger : str, Path or None, default=None
        The ledger file that every fit is charged to, before a record is read.
    n_jobs : int or None, default=None
        The number of threads; None takes all cores.
    device : str or None, default=None
        "cuda" keeps the records' codes on an NVIDIA GPU and adds them up there, with the same sums; None
        uses the CPU, as it must where records are held out (`interval`).

    Attributes
    ----------
    forest_ : Forest
        What was released, with its guarantee. `forest_.describe()` lists every question that was
        asked of the records, and its share of the budget.
    receipt_ : Receipt or None
        The ledger's receipt for the last fit.
    interval_ : Fraction
        The share of new targets that intervals cover; only with `interval`.
    interval_radius_ : float
        How far the ends of an interval are from the prediction, on a log scale in logarithms; only with
        `interval`.

    Privacy
    -------
    `fit` is (epsilon, delta)-DP for neighbors that differ by one record, or by all records of one
    person where the domain names one. Shares are fixed before the first question and add up to at
    most one; each is spent on a question whose sensitivity is proven where it is defined
    (`kernels.residuals`). All of them are about g, the distance of a record's target from its score
    so far, over a public width, rounded towards zero and clipped to +-1. The score is a function of the
    record and of earlier releases, the width of public facts and earlier releases.

    *The interval* is chosen from a public list by weighted counts of the targets inside. A record
    raises scores by at most the largest weight, all the same way: that is the range.
    *A step* chooses from a public list. Its scores are the sum of g over one side of a split minus
    the sum over the other, and the reverse. One more record moves every score by g or -g: range 2.
    *Sums.* A record is in one cell and moves the sums of g and of 1 - |g| there by 1 together in L1,
    and by at most 1 in squared L2. The mean is the tree of one cell.
    *Quantiles.* With t = 2 quantile - 1, a public number, t + g takes the place of g: one more record
    moves a score by at most 1 + |t|, so the range of a step is 2 (1 + |t|), and the two sums by |t + g| +
    1 - |g| <= 1 + |t| together.

    Everything else (mean, scale of residuals, values, shrinkage) reads releases and public facts.
    For persons of at most m records, ranges and L1 sensitivities are m-fold, squared L2 m^2-fold.
    A target that is missing or no number is not counted; no value of a target raises.

    *Intervals.* Whether a record is held out follows from that record alone, so it is in one of two
    parts: the forest is a release about one, and what is asked of the other, for the same budget, costs a
    record that is there nothing else (parallel composition; refused where a person has several records).
    There, a noisy number of records and one quantile of distances are released (`kernels.quantiles`).

    The full proof is in docs/proofs/regression.md.

    Notes
    -----
    Values of nodes are scores: what a tree adds to the prediction, in the target's own unit; the
    first tree has the mean. Predictions are clipped to the declared bounds.

    On a log scale, all of this is about the logarithm: values, contributions and effects are in its unit,
    and add up to the logarithm of the prediction. The prediction is the exponential of a mean of
    logarithms, a geometric mean: below the mean where targets spread, and no unbiased guess of
    totals. Quantiles and intervals are quantiles and intervals of the target itself, since a
    logarithm keeps the order.

    A forest of quantiles claims no coverage; `interval` does. There are no rules or pictures of trees
    of such forests.

    Examples
    --------
    >>> from frith import Domain, ForestRegressor, Numeric
    >>> domain = Domain([Numeric("age", 0, 100)], Numeric("pay", 0, 10), records=1_000)
    >>> X, y = [[20], [60]] * 500, [1, 9] * 500
    >>> model = ForestRegressor(domain, epsilon=1).fit(X, y)
    >>> print(model.forest_.guarantee.epsilon)
    1
    """

    interval_: Fraction
    interval_radius_: float
    _part: Engine | None = None
    """The records that are held out of the fit that is running."""

    def __init__(
        self,
        domain: Any = None,
        *,
        epsilon: Any = 1.0,
        delta: Any = 0,
        loss: str = "squared",
        quantile: Any = 0.5,
        center: Any = None,
        size_share: Any = 0.02,
        interval: Any = None,
        held_out: Any = 0.2,
        ledger: Any = None,
        n_jobs: int | None = None,
        device: str | None = None,
    ):
        self.domain = domain
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.quantile = quantile
        self.center = center
        self.size_share = size_share
        self.interval = interval
        self.held_out = held_out
        self.ledger = ledger
        self.n_jobs = n_jobs
        self.device = device

    def learn(self, curator: CuratorLike) -> Forest:
        level, center = self._level(), self._center(curator)
        budget, for_size = curator.budget, share("size_share", self.size_share)
        largest = UNIT + abs(tilt_of(level or WHOLE // 2))
        reach = largest * most_counted(curator)
        layout = Layout(curator.domain, mixed_cuts(curator.domain))
        check_layout(layout)
        budget.check_pays((1 - for_size) / 3, reach, "the mean")
        n = curator.records(for_size)
        if self._part is not None and curator.domain.records is not None:
            n = max(1, round(n * (1 - share("held_out", self.held_out))))
        signal = signal_of(n, budget, curator.records_per_unit) * UNIT / largest
        fine = Layout(curator.domain, mixed_cuts(curator.domain, _FINE))
        layout = fine if signal >= MANY and BinarySplits(fine).fit else layout
        boosting = ResidualBoosting(curator, layout, n, signal, level, center)
        plan = Plan.of(signal).payable(budget, curator.remaining_share, reach)
        return forest_of_parts(curator, boosting.learn(plan))

    def _level(self) -> int | None:
        """The quantile to predict in thousandths; None for the mean."""
        if one_of("loss", self.loss, ("squared", "quantile")) == "squared":
            return None
        level = round(WHOLE * share("quantile", self.quantile))
        if not 0 < level < WHOLE:
            raise ValueError(f"quantile must be between 0.001 and 0.999, and is {self.quantile!r}")
        return level

    def _center(self, curator: CuratorLike) -> int:
        """The public guess in the fixed point of scores."""
        label, target = curator.domain.label, curator.domain.target
        if self.center is None:
            return 0
        guess = float(self.center)
        assert isinstance(label, Numeric)
        if not label.low <= guess <= label.high:
            raise ValueError(
                f"center must be within the declared bounds, {label.low:g} and {label.high:g}, and is "
                f"{self.center!r}"
            )
        place = (curator.domain.to_target(guess) - target.low) / (target.high - target.low)
        return round(HALF * (2 * place - 1))

    def predict_interval(self, X: Any, coverage: Any = None) -> NDArray[np.float64]:
        """The ends of an interval for each record: as many rows, and two columns. Costs no budget.

        The share of new records whose target is inside is about `interval`, averaged over
        records like those of the table, held-out records and noise: no such claim is made for single
        records or groups of them, nor for tables whose records repeat, because equal ones are held out
        together. Noise can find too short a distance where hardly any target is a little further than
        that: where most are hit and the others missed by far. Targets beyond the declared bounds count
        as at them.

        Parameters
        ----------
        X : DataFrame, Arrow table or array
            The records.
        coverage : float, str, Fraction or None, default=None
            None, or `interval` again: each coverage costs a fit.
        """
        check_is_fitted(self)
        if not hasattr(self, "interval_radius_"):
            raise ValueError("this forest has no intervals; fit it with interval=0.9, say")
        if coverage is not None and exact(coverage) != self.interval_:
            raise ValueError(
                f"the interval that was paid for covers {show(self.interval_)}, not {coverage}; fit with "
                f"interval={coverage}"
            )
        forest, domain = self.forest_, self.forest_.domain
        codes = forest.encode(self._table_to_predict(X), self.n_jobs)
        middle = forest.numbers_of_codes(codes, self.n_jobs)[:, None]
        ends = middle + self.interval_radius_ * np.array([-1.0, 1.0])
        return domain.from_target(np.clip(ends, domain.target.low, domain.target.high))

    def _open_curator(self, engine: Engine, budget: Budget, act: str) -> CuratorLike:
        """Serve a request with a delta by a pure guarantee where Gaussian noise buys too little.

        Not where a ledger counts in rho: there a pure epsilon costs far more than what was asked.
        """
        domain = engine.domain
        is_free = self._charged is None and not budget.is_exact
        if budget.delta and is_free and domain.records is not None:
            per_person = 1 if domain.person is None else domain.person.records
            pure, n = Budget(budget.epsilon), max(1, domain.records)
            gain = signal_of(n, budget, per_person) / signal_of(n, pure, per_person)
            budget = budget if gain > _GAUSSIAN_GAIN else pure
        if self.interval is not None:
            share("interval", self.interval)
            self._part, engine = (
                Part(engine, share("held_out", self.held_out), rest=rest) for rest in (False, True)
            )
        return super()._open_curator(engine, budget, act)

    def _forget(self) -> None:
        self._part = None

    def _keep(self, forest: Forest, curator: CuratorLike, disjoint: bool = False) -> None:
        for name in ("interval_", "interval_radius_"):  # of an earlier fit
            self.__dict__.pop(name, None)
        if self._part is not None:
            coverage, claim = share("interval", self.interval), forest.guarantee
            self.interval_radius_, asked = interval_radius(
                self._part, curator.budget, forest, coverage
            )
            forest = replace(forest, guarantee=replace(claim, asked=claim.asked + asked))
            self.interval_ = coverage
        super()._keep(forest, curator, disjoint)


def signal_of(n_records: int, budget: Budget, per_person: int) -> float:
    """Records times the epsilon that each of them has; under zCDP, what gives as many steps."""
    if budget.is_exact:
        return math.inf
    if budget.unit == "epsilon":
        return n_records * float(budget.epsilon) / per_person
    return 25 * (n_records / per_person * math.sqrt(5.6 * float(budget.total)) / 17.5) ** (4 / 3)
