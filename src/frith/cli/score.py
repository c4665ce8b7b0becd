"""`frith score`: how good a forest is on private records, as a private release."""

from __future__ import annotations

from frith.cli.console import print_json, say
from frith.cli.options import (
    AnyTable,
    AsJson,
    By,
    Delta,
    Epsilon,
    ForestFile,
    LedgerFile,
    Metrics,
    Positive,
)


def score(
    forest: ForestFile,
    table: AnyTable,
    epsilon: Epsilon,
    delta: Delta = "0",
    metric: Metrics = None,
    by: By = None,
    positive: Positive = None,
    ledger: LedgerFile = None,
    json: AsJson = False,
) -> None:
    """Score a saved forest on a table of private records, within a budget.

    Prints accuracy, AUC, log loss, Brier score and calibration (of a number: R2 and its errors), with
    intervals that hold the exact value in 95 of 100 such scores. Exits with 3 if the ledger's budget does
    not cover the request; nothing is charged then.
    """
    from frith.forest import Forest
    from frith.learners.private_score import private_score

    found = private_score(
        Forest.load(forest), table, epsilon=epsilon, delta=delta, metrics=metric, by=by or (),
        positive=positive, ledger=ledger,
    )  # fmt: skip
    print_json(found.to_json()) if json else say(str(found))
