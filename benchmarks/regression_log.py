"""What a log scale of the label changes, on three public tables with skewed targets.

    python benchmarks/regression_log.py [--folds 3] [--repeats 1] [--epsilons 0.1,1] [--report]

Every figure is of predictions for records outside the training folds, over all folds together. Rows go to
docs/results/regression_log.csv as they come, so a run resumes where it stopped.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from typing import Any

import common
import numpy as np
import pandas as pd

CSV = common.RESULTS / "regression_log.csv"
REPORT = common.RESULTS / "regression_log.md"
LOWEST = {"cps1988_wages": 50, "diamonds": 100, "insurance": 500}
"""The tables, and the lower bound of the log scale: round numbers, below all of their targets."""
KEYS = ["set", "scale", "epsilon", "repeat", "folds"]
MEASURES = {
    "r2": "R2",
    "r2_log": "R2 of the logarithm",
    "mae": "mean absolute error",
    "factor": "median factor of error",
    "total": "total predicted, over the true one",
}


def measure(name: str, scale: str, epsilon: str, repeat: int, folds: int) -> dict[str, Any]:
    from sklearn.model_selection import KFold

    from frith import ForestRegressor, Numeric

    X, y, domain = common.load(name)
    truth, said, label = y.to_numpy(dtype=float), np.empty(len(y)), domain.label
    if scale == "log":
        label = Numeric(label.name, LOWEST[name], label.high, scale="log")
    for train, test in KFold(folds, shuffle=True, random_state=repeat).split(X):
        known = replace(domain, label=label, records=len(train))
        model = ForestRegressor(known, epsilon=epsilon, n_jobs=1)
        said[test] = model.fit(X.iloc[train], truth[train], notices=False).predict(X.iloc[test])
    logs, told = np.log(truth), np.log(np.maximum(said, LOWEST[name]))
    found = {
        "r2": 1 - np.mean((said - truth) ** 2) / truth.var(),
        "r2_log": 1 - np.mean((told - logs) ** 2) / logs.var(),
        "mae": np.abs(said - truth).mean(),
        "factor": np.exp(np.median(np.abs(told - logs))),
        "total": said.sum() / truth.sum(),
    }
    return {key: float(f"{value:.5g}") for key, value in found.items()}


def run(options: argparse.Namespace) -> pd.DataFrame:
    rows = pd.read_csv(CSV, dtype={"epsilon": str}) if CSV.exists() else pd.DataFrame(columns=KEYS)
    done = {tuple(row) for row in rows[KEYS].itertuples(index=False)}
    for epsilon in options.epsilons.split(","):
        for repeat in range(options.repeats):
            for name in common.loadable(list(LOWEST)):
                for scale in ("linear", "log"):
                    key = (name, scale, epsilon, repeat, options.folds)
                    if key not in done:
                        row = dict(zip(KEYS, key, strict=True)) | measure(*key)
                        rows = pd.concat([rows, pd.DataFrame([row])], ignore_index=True)
                        rows.to_csv(CSV, index=False)
    return rows


def report(rows: pd.DataFrame) -> str:
    epsilons = ",".join(dict.fromkeys(rows["epsilon"]))
    folds, repeats = int(rows["folds"].max()), rows["repeat"].nunique()
    parts = [
        "# A log scale of the label\n",
        f"`python benchmarks/regression_log.py --folds {folds} --repeats {repeats} --epsilons {epsilons}` "
        "on three public tables with skewed targets. Predictions of ForestRegressor for records outside the "
        "training folds, all folds together, the mean over repeats; pure epsilon, the number of training "
        "records declared. Bounds are the tables' own, and on the log scale from "
        + ", ".join(f"{low} ({name})" for name, low in LOWEST.items())
        + " on. The median factor of error is the median of exp(|log prediction - log target|). A prediction "
        "on the log scale is a geometric mean, so totals are too low. Nothing was tuned on these figures.\n",
        "| table | epsilon | scale | " + " | ".join(MEASURES.values()) + " |",
        "|---|---|---|" + "---:|" * len(MEASURES),
    ]
    found = rows.groupby(["set", "epsilon", "scale"], sort=False)[list(MEASURES)].mean()
    for (name, epsilon, scale), row in found.sort_index(
        level="set", sort_remaining=False
    ).iterrows():
        told = " | ".join(f"{row[key]:.4g}" for key in MEASURES)
        parts.append(f"| {name} | {epsilon} | {scale} | {told} |")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--epsilons", default="0.1,1")
    parser.add_argument("--report", **common.flag("write the page from the rows there are"))
    given = parser.parse_args()
    rows = pd.read_csv(CSV, dtype={"epsilon": str}) if given.report else run(given)
    REPORT.write_text(report(rows), encoding="utf-8")
