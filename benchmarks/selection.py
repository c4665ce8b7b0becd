"""Private selection: what a chosen model is worth beside the best candidate and beside the flagship.

    python benchmarks/selection.py [--quick] [--resume] [--folds N]

On ten tables, budgets equal: `PrivateSearchCV` by random stopping and by training each candidate; every
candidate alone, with the whole epsilon and all training records; and the flagship, which has
nothing to choose. Writes docs/results/selection.md.
"""

from __future__ import annotations

from typing import Any

import common
import numpy as np
import pandas as pd

from frith import (
    ForestClassifier,
    ID3Classifier,
    PrivateSearchCV,
    RandomDecisionForestClassifier,
    SignalForestClassifier,
)

TABLES = (
    "breast_cancer_diagnostic", "tic_tac_toe", "german_credit", "car", "votes", "kr_vs_kp", "mushroom",
    "nursery", "magic", "adult",
)  # fmt: skip
EPSILONS = ("0.1", "1", "4", "16")
FOLDS = 3
METHODS = ("stopping", "each", "candidates", "flagship")


def candidates() -> list[Any]:
    """Six, of three kinds; none of them is the flagship."""
    return [
        *(RandomDecisionForestClassifier(n_trees=n, max_depth=d) for n, d in ((1, 2), (10, 4))),
        *(ID3Classifier(max_depth=d) for d in (1, 3, 5)),
        SignalForestClassifier(),
    ]


def measure(job: dict[str, Any]) -> dict[str, Any]:
    X, y, domain = common.load(job["set"])
    train, test = list(common.folds(y, 0))[job["fold"]]
    X_train, y_train, X_test, y_test = X.iloc[train], y.iloc[train], X.iloc[test], y.iloc[test]
    epsilon, given = job["epsilon"], {"domain": domain}

    def accuracy(model: Any) -> float:
        return float(np.mean(model.predict(X_test) == y_test))

    if job["method"] == "flagship":
        model = ForestClassifier(domain, epsilon=epsilon).fit(X_train, y_train, notices=False)
        return {"accuracy": accuracy(model)}
    models = [model.set_params(**given, epsilon=epsilon) for model in candidates()]
    if job["method"] == "candidates":
        found = [accuracy(m.fit(X_train, y_train, notices=False)) for m in models]
        return {"accuracy": " ".join(f"{a:.4f}" for a in found)}
    search = PrivateSearchCV(models, epsilon=epsilon, method=job["method"])
    return {"accuracy": accuracy(search.fit(X_train, y_train))}


def main() -> None:
    of_table = {"type": int, "default": FOLDS, "help": "folds of ten that are measured"}
    options = common.parse_options(__doc__ or "", common.RESUME | {"--folds": of_table})
    tables, epsilons, folds = common.loadable(TABLES), EPSILONS, options.folds
    if options.quick:
        tables, epsilons, folds = tables[:2], EPSILONS[1:2], 1
    jobs = [
        {"set": name, "epsilon": epsilon, "method": method, "fold": fold}
        for fold in range(folds) for name in tables for epsilon in epsilons for method in METHODS
    ]  # fmt: skip
    found = common.run_jobs(jobs, measure, options.out / "selection.csv", options.resume)
    found["epsilon"] = found["epsilon"].astype(str)
    (options.out / "selection.md").write_text(page(found, folds), encoding="utf-8")
    print(f"wrote {options.out / 'selection.md'}")


def cell(found: pd.DataFrame, name: str, epsilon: str) -> list[float]:
    """Stopping, each, the best and the mean candidate alone, the flagship: in percent."""
    part = found[(found["set"] == name) & (found["epsilon"].astype(float) == float(epsilon))]
    mean = {m: part[part["method"] == m]["accuracy"] for m in METHODS}
    alone = np.mean([[float(a) for a in row.split()] for row in mean.pop("candidates")], axis=0)
    one = {m: 100 * np.mean([float(a) for a in values]) for m, values in mean.items()}
    return [one["stopping"], one["each"], 100 * alone.max(), 100 * alone.mean(), one["flagship"]]


def page(found: pd.DataFrame, folds: int) -> str:
    tables = list(dict.fromkeys(found["set"]))
    epsilons = sorted(set(found["epsilon"]), key=float)
    rows, means = [], []
    for epsilon in epsilons:
        cells = np.array([cell(found, name, epsilon) for name in tables])
        rows += [
            [name, f"{len(common.load(name)[1]):,}", epsilon, *(f"{v:.1f}" for v in values)]
            for name, values in zip(tables, cells, strict=True)
        ]
        wins = [int(np.sum(cells[:, i] > cells[:, 4])) for i in (0, 1)]
        means.append([epsilon, *(f"{v:.1f}" for v in cells.mean(axis=0)), *wins])
    head = ("by stopping", "by each", "best candidate alone", "mean candidate", "flagship")
    return "\n".join([
        "# Choosing between models, and when it pays\n",
        f"By `benchmarks/selection.py`: accuracy in percent on {len(tables)} tables, {folds} of ten folds, "
        "pure budgets, all equal. The search is over six candidates of three kinds (random trees, ID3, "
        "signal forests); each candidate alone has the whole epsilon and all training records, and which of "
        "them is the best is read off the test records: nobody gets that privately. The flagship is "
        "`ForestClassifier`, which chooses by public rules.\n",
        "## Means over tables\n",
        common.markdown_table(("epsilon", *head, "tables where stopping beats the flagship",
                               "where each does"), means),
        "\n## Every table\n",
        common.markdown_table(("table", "records", "epsilon", *head), rows),
    ])  # fmt: skip


if __name__ == "__main__":
    main()
