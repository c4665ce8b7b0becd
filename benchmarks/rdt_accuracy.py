"""Accuracy of Private-RDT for eleven epsilons (Figures 1(a) and 2(a) of the paper).

Jagannathan, Pillaipakkamnatt and Wright 2012, section 6.1: the same ensembles of tree structures
for every epsilon, fresh noise for every run, 10-fold stratified cross-validation.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

SETS = ("nursery", "mushroom")
EPSILONS = ("inf", "5", "4", "3", "2", "1", "0.75", "0.5", "0.25", "0.1", "0.01")
ENSEMBLES, RUNS = 10, 2


def main() -> None:
    options = common.parse_options("Accuracy of random decision forests for eleven epsilons.")
    ensembles, runs = (2, 1) if options.quick else (ENSEMBLES, RUNS)
    jobs = [
        {"set": name, "epsilon": epsilon, "ensemble": ensemble, "runs": runs}
        for name in SETS
        for epsilon in EPSILONS
        for ensemble in range(ensembles)
    ]
    path = options.out / "rdt_accuracy.csv"
    rows, majority = common.measure(jobs, score, path, options.resume, runs)
    rows["epsilon"] = rows["epsilon"].astype(float)
    write_words(rows, majority, path.with_suffix(".md"), ensembles, runs)
    plot(rows, majority, path.with_suffix(".png"))


def score(job: dict[str, Any]) -> dict[str, Any]:
    """Mean accuracy of one ensemble over all folds of all runs, noise drawn anew each time."""
    from frith import RandomDecisionForestClassifier

    X, y, domain = common.load(job["set"])
    model = RandomDecisionForestClassifier(
        domain,
        epsilon=float(job["epsilon"]),
        n_trees=common.N_TREES,
        random_state=job["ensemble"],
        n_jobs=1,
    )
    hits = [
        np.mean(model.fit(X.iloc[train], y.iloc[train]).predict(X.iloc[test]) == y.iloc[test])
        for run in range(job["runs"])
        for train, test in common.folds(y, run)
    ]
    return {"accuracy": f"{np.mean(hits):.6f}"}


def write_words(
    rows: pd.DataFrame, majority: dict[str, float], path: Path, ensembles: int, runs: int
) -> None:
    parts = [
        "# Accuracy of Private-RDT\n",
        f"{common.N_TREES} trees; {ensembles} ensembles of tree structures (seeds 0 to "
        f"{ensembles - 1}), the same for every epsilon. One accuracy is the mean over "
        f"{common.FOLDS}-fold stratified cross-validation with fresh noise for every fold, done "
        f"{runs} times (fold seeds 0 to {runs - 1}); a row summarizes the {ensembles} accuracies, "
        "in percent, with Student's interval for their mean. Epsilon inf is the exact forest: no "
        "noise and no guarantee. The height follows the paper's rule, with the declared number of "
        "records of the whole set. Noise has no seed, so another run differs a little.\n",
        "Made by `python benchmarks/rdt_accuracy.py`; every ensemble is in rdt_accuracy.csv.\n",
        "![box plots](rdt_accuracy.png)\n",
        *common.sections(rows, majority, "epsilon"),
    ]
    path.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {path}")


def plot(rows: pd.DataFrame, majority: dict[str, float], path: Path) -> None:
    figure, axes = common.panels(list(majority))
    for axis, (name, group) in zip(axes, rows.groupby("set", sort=False), strict=True):
        parts = [part["accuracy"] for _, part in group.groupby("epsilon", sort=False)]
        epsilons = group["epsilon"].unique()
        inverse = ["0\n(exact)" if np.isinf(e) else f"{round(1 / e, 2):g}" for e in epsilons]
        common.boxes(axis, parts, inverse, majority[name])
        axis.set_xlabel("1 / epsilon")
    common.save(figure, path)


if __name__ == "__main__":
    main()
