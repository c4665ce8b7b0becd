"""Accuracy of Private-RDT when records arrive in batches (Figure 4 of the paper).

Jagannathan, Pillaipakkamnatt and Wright 2012, section 6.2: the training records are split at
random into m equal batches; the first is fitted, the others are updates (Algorithm 5).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

SETS = ("nursery", "mushroom")
BATCHES = (1, 2, 4, 6, 8, 10)
EPSILON = "0.5"
ENSEMBLES = 10


def main() -> None:
    options = common.parse_options("Accuracy of random decision forests updated in batches.")
    ensembles = 2 if options.quick else ENSEMBLES
    jobs = [
        {"set": name, "epsilon": EPSILON, "batches": batches, "ensemble": ensemble}
        for name in SETS
        for batches in BATCHES
        for ensemble in range(ensembles)
    ]
    path = options.out / "rdt_updates.csv"
    rows, majority = common.measure(jobs, score, path, options.resume)
    write_words(rows, majority, path.with_suffix(".md"), ensembles)
    plot(rows, majority, path.with_suffix(".png"))


def score(job: dict[str, Any]) -> dict[str, Any]:
    """Mean accuracy over the folds of one ensemble, each fold split into batches anew."""
    X, y, domain = common.load(job["set"])
    hits = []
    for fold, (train, test) in enumerate(common.folds(y, seed=0)):
        rng = np.random.default_rng((job["ensemble"], fold))
        batches = np.array_split(rng.permutation(train), job["batches"])
        model = learn(X, y, domain, batches, job["ensemble"])
        hits.append(np.mean(model.predict(X.iloc[test]) == y.iloc[test]))
    return {"accuracy": f"{np.mean(hits):.6f}"}


def learn(
    X: pd.DataFrame, y: pd.Series, domain: Any, batches: list[np.ndarray], ensemble: int
) -> Any:
    from frith import RandomDecisionForestClassifier
    from frith.privacy.exact import exact

    model = RandomDecisionForestClassifier(
        domain, epsilon=float(EPSILON), n_trees=common.N_TREES, random_state=ensemble, n_jobs=1
    )
    first, *others = batches
    model.fit(X.iloc[first], y.iloc[first])
    for rows in others:
        model.update(X.iloc[rows], y.iloc[rows], disjoint=True)
    # the words beside the table say so; a run in which it is not true must not write them
    assert model.forest_.guarantee.epsilon == exact(EPSILON)
    return model


def write_words(rows: pd.DataFrame, majority: dict[str, float], path: Path, ensembles: int) -> None:
    parts = [
        "# Accuracy of Private-RDT with updates\n",
        f"Epsilon {EPSILON}, {common.N_TREES} trees, {ensembles} ensembles (seeds 0 to "
        f"{ensembles - 1}), {common.FOLDS}-fold stratified cross-validation (fold seed 0). The "
        "training records are split at random into equal batches; the first is fitted, each "
        "further one is an update with noise of its own. A row summarizes the accuracies of the "
        "ensembles, in percent, with Student's interval for their mean.\n",
        f"The epsilon of all batches together stays {EPSILON} because the batches are declared "
        "disjoint in protected units. That declaration is an assumption of the guarantee: a "
        "record's batch must be a function of that record alone, such as a date with public "
        "boundaries. Without it the epsilons of the batches add up.\n",
        "Made by `python benchmarks/rdt_updates.py`; every ensemble is in rdt_updates.csv.\n",
        "![box plots](rdt_updates.png)\n",
        *common.sections(rows, majority, "batches"),
    ]
    path.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {path}")


def plot(rows: pd.DataFrame, majority: dict[str, float], path: Path) -> None:
    figure, axes = common.panels(list(majority))
    for axis, (name, group) in zip(axes, rows.groupby("set", sort=False), strict=True):
        parts = [part["accuracy"] for _, part in group.groupby("batches", sort=False)]
        common.boxes(axis, parts, [str(b) for b in group["batches"].unique()], majority[name])
        axis.set_xlabel(f"batches m (epsilon {EPSILON})")
    common.save(figure, path)


if __name__ == "__main__":
    main()
