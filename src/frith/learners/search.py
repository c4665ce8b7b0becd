"""A private choice between models: what `GridSearchCV` does, with a guarantee that covers the choice."""

from __future__ import annotations

import copy
import secrets
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from frith.curator import Curator
from frith.domain.synthetic import synthetic_table
from frith.engines import Engine, open_table
from frith.engines.part import Part
from frith.forest import Forest
from frith.kernels import ForestChoice, RightCounts
from frith.learners import spending
from frith.learners.classifier import PrivateForestClassifier
from frith.learners.parameters import share
from frith.learners.session import ledger_for
from frith.learners.sets import of_whole
from frith.learners.surroundings import assumptions_of_callers
from frith.privacy.budget import Budget
from frith.privacy.exact import exact, show
from frith.privacy.guarantee import AnsweredQuestion, Guarantee
from frith.privacy.stopping import RandomStopping, best_of

PUBLIC_CANDIDATES = "the list of candidates was made without these records"
SECRET_TIME = "nobody sees how long the search took"
WHOLE = Fraction(1)
_ITS_OWN = {"epsilon", "delta", "ledger", "domain"}


class PrivateSearchCV(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):
    """Trains candidates on one part of the records and chooses one on the other, privately.

    Which part a record is in follows from a hash of that record. With `method="each"` every candidate
    is trained with an equal part of epsilon, and one is chosen by how many held-out records it
    predicts right. With `method="stopping"` a run takes a random candidate, trains it, and counts what it
    predicts right, with noise; the best of a random, secret number of runs is the result. A run
    then has epsilon / 3, however many candidates there are. Nothing is trained again afterwards.

    Parameters
    ----------
    estimator : PrivateForestClassifier or list of them
        What is searched over. Their epsilon, delta and ledger are set by the search.
    param_grid : dict or list of dicts, default={}
        Values to try, as for `GridSearchCV`; each estimator with those that it has.
    epsilon : int, float, str or Fraction, default=1.0
        The budget of the whole search, read exactly as written. Pure: there is no delta.
    method : {"stopping", "each"}, default="stopping"
        "each" is better for two candidates, and for three where the choice matters more than the budget.
    held_out : float, str or Fraction, default=0.25
        The share of records that candidates are compared on.
    runs : int or None, default=None
        For "stopping", the mean number of runs, at least 2; None for twice the number of candidates.
    eta : int, float, str or Fraction, default=1
        For "stopping", from 0 to 1: a run has epsilon / (2 + eta), and with a small eta there are more
        often only few runs. 1 is a geometric number of runs.
    ledger : str, Path or None, default=None
        The ledger file that the search is charged to, once, before a record is read.

    Attributes
    ----------
    best_estimator_ : PrivateForestClassifier
        The chosen one, fitted.
    best_params_ : dict
        Its parameters of `param_grid`.
    best_index_ : int
        Its place in `candidates_`.
    candidates_ : list of (str, dict)
        Class and parameters of all candidates. There are no `cv_results_`: how others did is not released.
    forest_ : Forest
        What was released, with the guarantee of the whole search.

    Privacy
    -------
    `fit` is epsilon-DP for neighbors that differ by one record (or one person with one record; others are
    refused). A record is in one part. *each*: on the one part, k candidates cost epsilon / k each;
    on the other, one choice of range 1 costs epsilon (`kernels.forests`). *stopping*: a run trains for
    epsilon / (2 + eta) on the one part, and counts for as much on the other: it is that private, as a
    whole, and pure. The best of a random number of runs is epsilon-DP (`privacy.stopping`), where that
    number, the other runs and the time they took are seen by nobody: nothing of them is kept, told or
    logged, and no generator of random numbers that others can repeat is used. Every candidate
    is first trained on a table without records, so that one that cannot work is refused before anything
    is charged.
    The full proof is in docs/proofs/selection.md.

    Examples
    --------
    >>> import frith
    >>> X, y, domain = frith.datasets.load("tic_tac_toe")
    >>> grid = {"n_trees": [1, 5], "max_depth": [1, 3]}
    >>> search = frith.PrivateSearchCV(frith.RandomDecisionForestClassifier(domain), grid, epsilon=3)
    >>> print(search.fit(X, y).forest_.guarantee.epsilon)
    3
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        epsilon: Any = 1.0,
        method: str = "stopping",
        held_out: Any = 0.25,
        runs: int | None = None,
        eta: Any = 1,
        ledger: Any = None,
    ):
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.method = method
        self.held_out = held_out
        self.runs = runs
        self.eta = eta
        self.ledger = ledger

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search within `epsilon`. X and y as for the estimators."""
        budget, candidates = Budget.of(self.epsilon), self._candidates()
        stopping = self._stopping(len(candidates))
        own = _part_of(budget, len(candidates) if stopping is None else stopping.price)
        table = candidates[0][0]._open(X, y)
        kept = share("held_out", self.held_out)
        parts = tuple(
            Part(table, kept, rest=rest, declared=1 - kept if rest else kept)
            for rest in (True, False)
        )
        _rehearse(candidates, table, own)
        claim = self._claim(table, parts[0], budget, stopping, len(candidates))
        session = candidates[0][
            0
        ]._session  # that of the block in which this was pickled, if it was
        charged = ledger_for(self.ledger, session)
        receipt = None
        if charged is not None:
            receipt = charged.charge(budget, "search for a model", claim.neighbors)
        else:
            spending.add(budget, claim)
        models = [model for model, _ in candidates]
        if stopping is None:
            place, forest = best_of_each(models, parts, own, budget)
        else:
            place, forest = best_of(stopping, lambda: one_run(models, parts, own))
        claim = claim.assuming(*forest.guarantee.assumptions)
        forest = replace(of_whole(forest, table.domain), guarantee=claim)
        best, params = candidates[place]
        self.candidates_ = [(type(model).__name__, dict(given)) for model, given in candidates]
        self.best_index_, self.best_params_ = place, params
        own = best.get_params(deep=False)
        given = {n: v for n, v in own.items() if n not in ("domain", "epsilon", "delta", "ledger")}
        self.best_estimator_ = type(best).from_forest(forest, receipt, **given)
        self.forest_, self.receipt_ = forest, receipt
        self.classes_ = self.best_estimator_.classes_
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """The chosen model's predictions. Costs no budget."""
        check_is_fitted(self)
        found: NDArray[Any] = self.best_estimator_.predict(X)
        return found

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """The chosen model's label probabilities. Costs no budget."""
        check_is_fitted(self)
        found: NDArray[np.float64] = self.best_estimator_.predict_proba(X)
        return found

    # -- what is searched ----------------------------------------------------------------------

    def _candidates(self) -> list[tuple[PrivateForestClassifier, dict[str, Any]]]:
        given = self.estimator if isinstance(self.estimator, Sequence) else [self.estimator]
        found = []
        for estimator in given:
            if not isinstance(estimator, PrivateForestClassifier):
                raise TypeError(
                    f"a search is over frith's classifiers, and {type(estimator).__name__} is none"
                )
            known = estimator.get_params(deep=False)
            grids = self.param_grid if isinstance(self.param_grid, Sequence) else [self.param_grid]
            for grid in grids or [{}]:
                if owned := _ITS_OWN & set(grid or {}):
                    raise ValueError(
                        f"a search sets {min(owned)} itself, so a grid cannot have values of it; "
                        "epsilon and ledger are the search's own parameters, the domain the estimator's"
                    )
                own = {name: values for name, values in (grid or {}).items() if name in known}
                if len(given) == 1 and len(own) < len(grid or {}):
                    missing = next(name for name in grid if name not in known)
                    raise ValueError(f"{type(estimator).__name__} has no parameter {missing!r}")
                found += [(estimator, params) for params in ParameterGrid(own)]
        return [_prepared(estimator, params) for estimator, params in found]

    def _stopping(self, n_candidates: int) -> RandomStopping | None:
        if self.method == "each":
            return None
        if self.method != "stopping":
            raise ValueError(f"method is 'stopping' or 'each', not {self.method!r}")
        runs = max(2, 2 * n_candidates) if self.runs is None else self.runs
        if type(runs) is not int or not 2 <= runs <= 10_000:
            raise ValueError("the mean number of runs is a whole number from 2 to 10,000")
        eta = exact(self.eta)
        if not isinstance(eta, Fraction):
            raise ValueError("eta is from 0 to 1")
        return RandomStopping.of_mean(eta, runs)

    def _claim(
        self,
        table: Engine,
        part: Engine,
        budget: Budget,
        stopping: RandomStopping | None,
        count: int,
    ) -> Guarantee:
        """The guarantee of the search, which is public before it starts."""
        claim = Curator(part, budget).guarantee.assuming(PUBLIC_CANDIDATES)
        if stopping is None:
            line = AnsweredQuestion("search: candidates trained", "their own", WHOLE, 1, 0.0, count)
        else:
            claim = claim.assuming(SECRET_TIME)
            purpose = f"search: the best of a secret number of runs, {show(stopping.price)} times one's price"
            line = AnsweredQuestion(purpose, "random stopping", WHOLE, 1, 0.0, count)
        return replace(claim.assuming(*assumptions_of_callers()), asked=(*claim.asked, line))


def _prepared(
    estimator: PrivateForestClassifier, params: dict[str, Any]
) -> tuple[PrivateForestClassifier, dict[str, Any]]:
    model = clone(estimator).set_params(**params, delta=0, ledger=None)
    if getattr(model, "as_published", False):
        raise ValueError("as_published keeps no guarantee, so it is no candidate")
    return model, params


def _rehearse(candidates: Sequence[tuple[Any, Any]], table: Engine, own: Budget) -> None:
    """Train each on a table without records, so that a candidate that cannot work is not charged for."""
    empty = synthetic_table(table.domain, 0, np.random.default_rng(0))
    for model, _ in candidates:
        model.learn(Curator(open_table(empty, table.domain, threads=1), own))


def best_of_each(
    models: Sequence[Any], parts: Sequence[Engine], own: Budget, budget: Budget
) -> tuple[int, Forest]:
    """Every candidate for its own budget, and one choice between all."""
    forests = tuple(model.learn(Curator(parts[0], own)) for model in models)
    choice = ForestChoice(RightCounts(forests))
    place = Curator(parts[1], budget).choose(choice, WHOLE, "held out: predicted right")
    return place, forests[place]


def one_run(
    models: Sequence[Any], parts: Sequence[Engine], own: Budget
) -> tuple[int, tuple[int, Forest]]:
    """A random candidate, trained, and how many held-out records it predicts right, with noise."""
    place = secrets.randbelow(len(models))
    forest = _with_own_seed(models[place]).learn(Curator(parts[0], own))
    right = Curator(parts[1], own).noisy_counts(RightCounts((forest,)), WHOLE, "predicted right")
    return int(right.values[0]), (place, forest)


def _with_own_seed(model: Any) -> Any:
    """The candidate with a seed that nobody knows, unless it has a number as one.

    Shapes of trees from a generator that others can repeat tell which run won, and where the generator
    stands afterwards tells how many there were. With a number all runs of a candidate have one shape.
    """
    if isinstance(getattr(model, "random_state", 0), Integral):
        return model
    seeded = copy.copy(model)
    seeded.random_state = secrets.randbits(32)
    return seeded


def _part_of(budget: Budget, parts: Fraction | int) -> Budget:
    return budget if budget.is_exact else Budget.of(Fraction(budget.epsilon) / parts)
