"""How good predictions are on private records: `frith.private_score`."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from frith.curator import Curator
from frith.curator.label_score import LabelScore
from frith.curator.number_score import NumberScore, score_numbers
from frith.curator.scoring import ScorePlan, ScoreRequest, even_edges, score_bins, score_forest
from frith.domain import Domain, Value, spelling
from frith.domain.synthetic import synthetic_table
from frith.engines import Engine, open_table
from frith.engines.memory import rows_of
from frith.engines.predicted import Predicted, Predictor
from frith.forest import Forest
from frith.learners import spending
from frith.learners.base import PrivateForest
from frith.learners.session import ledger_for
from frith.privacy.budget import Budget

_MADE_UP = 16


def private_score(
    model: Any,
    X: Any,
    y: Any = None,
    *,
    epsilon: Any,
    delta: Any = 0,
    metrics: str | Iterable[str] | None = None,
    by: str | Iterable[str] = (),
    positive: Value | None = None,
    bins: int | None = None,
    domain: Domain | str | Path | None = None,
    ledger: str | Path | None = None,
    n_jobs: int | None = None,
) -> LabelScore | NumberScore:
    """Accuracy, AUC, log loss, Brier score and calibration on private records, each with an interval.

    Of a forest that predicts a number: R2, RMSE, MAE, and coverage if it has prediction intervals, each
    with a standard error (`NumberScore`). `metrics`, `by`, `positive` and `bins` are not for those.

    All of them come from one noisy histogram: how many records with and without a label have a
    probability in each of some public bins. Intervals include what noise and bins hide, and hold the
    exact value on these records in 95 of 100 scores. Records that a forest has learned from flatter it.

    Parameters
    ----------
    model : Forest, fitted estimator or callable
        What to score: a forest, one of frith's estimators, any estimator with `predict_proba`, or a
        function that takes rows and returns the probability of `positive` for each.
    X : DataFrame, Arrow table, array, Engine, path or URL
        The records. Only a forest can be scored on files, databases and open tables.
    y : array-like or None, default=None
        The labels; None if the table has the domain's label column.
    epsilon : int, float, str or Fraction
        What the score spends, read exactly as written.
    delta : int, float, str or Fraction, default=0
        Above 0 for Gaussian noise.
    metrics : str, iterable of str or None, default=None
        Among "accuracy", "auc", "log_loss", "brier" and "calibration"; None for all, which costs no
        more. Accuracy alone needs two bins, so its interval is narrower.
    by : str or iterable of str, default=()
        Attributes whose groups get rates. With k of them, each question has 1 / (k + 1) of
        the budget.
    positive : value or None, default=None
        The label that scores are about, against all others; None for the second of two.
    bins : int or None, default=None
        The number of bins, even. None takes it from the declared number of records and the budget.
    domain : Domain, str, Path or None, default=None
        What is public about the table, and whose records it has; None for that of the forest, which a
        forest's table has the codes of. Others than forests need one.
    ledger : str, Path or None, default=None
        The ledger file that the score is charged to, before a record is read.
    n_jobs : int or None, default=None
        The number of threads; None takes all cores.

    Returns
    -------
    LabelScore or NumberScore
        The released counts or sums, what follows from them, and the guarantee.

    Privacy
    -------
    (epsilon, delta)-DP (`frith.curator.scoring.score_forest`). Where the model has learned from the same
    records, its own guarantee adds; where it has none, that is not covered, and the score says so.

    Examples
    --------
    >>> import frith
    >>> X, y, domain = frith.datasets.load("tic_tac_toe")
    >>> model = frith.ForestClassifier(domain, epsilon=1).fit(X[:700], y[:700])
    >>> score = frith.private_score(model, X[700:], y[700:], epsilon=1)
    >>> score.auc.low <= score.auc.value <= score.auc.high
    True
    """
    request = ScoreRequest(metrics, by, positive, bins)
    forest = _forest_of(model)
    budget, charged = Budget.of(epsilon, delta), ledger_for(ledger)
    score: LabelScore | NumberScore
    if forest is not None:
        if forest.domain.has_target and request != ScoreRequest():
            raise ValueError("metrics, by, positive and bins are for labels with values")
        table = open_table(X, _given(forest, domain, X), y, threads=n_jobs)
        curator = Curator(table, budget, ledger=charged, purpose="score a forest")
        score = (
            score_numbers(curator, forest, getattr(model, "interval_radius_", None))
            if forest.domain.has_target
            else score_forest(curator, forest, request)
        )
    else:
        given = _domain(model, domain, X)
        plan = request.read(given)
        predictor = _predictor(model, given, plan)
        _rehearse(predictor, given, X)
        names = tuple(given.names[a] for a in plan.by)
        edges = even_edges(plan.n_bins(given, budget))
        table = Predicted(X, given, y, names, predictor, edges, n_jobs)
        curator = Curator(table, budget, ledger=charged, purpose="score a predictor")
        score = score_bins(curator, plan, edges)
    if curator.receipt is None:
        spending.add(budget, score.guarantee)
    return score


def _forest_of(model: Any) -> Forest | None:
    if isinstance(model, Forest):
        return model
    if isinstance(model, PrivateForest):
        if not hasattr(model, "forest_"):
            raise ValueError(f"this {type(model).__name__} is not fitted; fit it first")
        return model.forest_
    return None


def _given(forest: Forest, domain: Domain | str | Path | None, X: Any) -> Domain:
    """The table's domain: it says who is protected, and has the forest's codes."""
    if domain is None:
        return forest.domain
    found = domain if isinstance(domain, Domain) else Domain.load(domain)
    if not found.same_codes(forest.domain):
        raise ValueError("domain= has other attributes, values or bounds than the forest's")
    if isinstance(X, Engine) and X.domain != found:
        raise ValueError("the open table has another domain than domain=; leave it out")
    return found


def _domain(model: Any, domain: Domain | str | Path | None, X: Any) -> Domain:
    if isinstance(X, str | Path | Engine):
        raise TypeError("on files and open tables, forests can be scored; read the records first")
    if domain is None:
        raise ValueError(
            f"{type(model).__name__} has no domain; pass domain=, which says what is public"
        )
    return domain if isinstance(domain, Domain) else Domain.load(domain)


def _predictor(model: Any, domain: Domain, plan: ScorePlan) -> Predictor:
    """A function from rows to the probability of the label that is scored."""
    positive = domain.label_values[plan.positive]
    if not hasattr(model, "predict_proba"):
        if not callable(model):
            raise TypeError("what is scored has predict_proba, or is a function of rows")
        return lambda rows: model(_attributes(rows, domain.names))
    classes = [spelling(value) for value in model.classes_]
    if spelling(positive) not in classes:
        raise ValueError(
            f"the estimator has no class {positive!r}; it has {', '.join(classes[:12])}"
        )
    column = classes.index(spelling(positive))
    names = tuple(getattr(model, "feature_names_in_", domain.names))
    return lambda rows: model.predict_proba(_attributes(rows, names))[:, column]


def _attributes(rows: Any, names: tuple[str, ...]) -> Any:
    """The columns to predict from, without label and person."""
    if hasattr(rows, "loc"):
        return rows.loc[:, list(names)]
    return rows.select(list(names)) if hasattr(rows, "select") else rows[:, : len(names)]


def _rehearse(predictor: Predictor, domain: Domain, X: Any) -> None:
    """Predict records that are made up from the domain, so that a broken predictor is not charged for."""
    made_up: Any = synthetic_table(domain, _MADE_UP, np.random.default_rng(0))
    if hasattr(X, "loc"):
        made_up = made_up.to_pandas()
    elif not hasattr(X, "select"):
        made_up = made_up.select(domain.names).to_pandas().to_numpy()
    failures: list[BaseException] = []
    for i in range(_MADE_UP):
        try:
            predictor(rows_of(made_up, i, i + 1))
            return
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # noqa: BLE001 - of any class
            failures.append(error)
    raise ValueError(
        "the predictor fails on every record that was made up from the domain, so nothing was charged"
    ) from failures[0]
