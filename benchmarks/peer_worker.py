"""Fits of other people's learners, in an environment that they import in. Reads jobs, writes results.

    python benchmarks/peer_worker.py TABLES < jobs.jsonl > results.jsonl

A table is a folder's NAME.npz: codes or numbers (X), label codes (y), public bounds (low, high), and for
every fold its test rows (fold). It is run by benchmarks/peers.py and needs NumPy, scikit-learn and the
learner that a job names.
"""

from __future__ import annotations

import json
import sys
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def diffprivlib_forest(job: dict[str, Any], data: Any) -> Any:
    """Its own defaults, with the public bounds and classes that it would else read off the records."""
    from diffprivlib.models import RandomForestClassifier

    classes = list(range(int(data["classes"])))
    bounds = (data["low"], data["high"])
    return RandomForestClassifier(epsilon=float(job["epsilon"]), bounds=bounds, classes=classes)


def dp_ebm(job: dict[str, Any], data: Any) -> Any:
    """Its own defaults, with public bounds and types; delta 1e-6."""
    from interpret.privacy import DPExplainableBoostingClassifier

    kinds = ["nominal" if c else "continuous" for c in data["categorical"]]
    bounds = {
        i: (float(a), float(b))
        for i, (a, b) in enumerate(zip(data["low"], data["high"], strict=True))
    }
    return DPExplainableBoostingClassifier(
        epsilon=float(job["epsilon"]), delta=1e-6, feature_types=kinds,
        privacy_bounds={i: b for i, b in bounds.items() if kinds[i] == "continuous"}, n_jobs=1,
    )  # fmt: skip


def sklearn_forest(job: dict[str, Any], data: Any) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(n_jobs=1)


def sklearn_boosting(job: dict[str, Any], data: Any) -> Any:
    from sklearn.ensemble import HistGradientBoostingClassifier

    mask = data["categorical"] & (data["high"] < 255)
    return HistGradientBoostingClassifier(categorical_features=mask, early_stopping=False)


LEARNERS = {
    "diffprivlib forest": diffprivlib_forest,
    "DP-EBM": dp_ebm,
    "scikit-learn forest": sklearn_forest,
    "scikit-learn boosting": sklearn_boosting,
}


def score(job: dict[str, Any], data: Any) -> dict[str, Any]:
    """Mean accuracy, AUC and log loss over the folds, and their standard deviations."""
    from sklearn.metrics import log_loss, roc_auc_score

    X, y, fold = data["X"], data["y"], data["fold"]
    accuracies, aucs, losses = [], [], []
    for number in range(int(job["folds"])):
        test = fold == number
        model = LEARNERS[job["learner"]](job, data)
        model.fit(X[~test], y[~test])
        proba = model.predict_proba(X[test])
        labels = np.asarray(model.classes_)
        accuracies.append(float(np.mean(model.predict(X[test]) == y[test])))
        losses.append(float(log_loss(y[test], _over_all(proba, labels, data), labels=_all(data))))
        if int(data["classes"]) == 2:
            aucs.append(float(roc_auc_score(y[test] == labels[1], proba[:, 1])))
    names = ("accuracy", "spread", "auc", "auc_spread", "log_loss", "log_loss_spread")
    found = [f(v) if v else None for v in (accuracies, aucs, losses) for f in (np.mean, _spread)]
    return {n: None if v is None else float(v) for n, v in zip(names, found, strict=True)}


def _spread(values: list[float]) -> float:
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _all(data: Any) -> list[int]:
    return list(range(int(data["classes"])))


def _over_all(proba: Any, labels: Any, data: Any) -> Any:
    """Chances of every label, also of one that a fold has none of."""
    out = np.full((len(proba), int(data["classes"])), 1e-9)
    out[:, labels.astype(int)] = np.clip(proba, 1e-9, 1)
    return out / out.sum(axis=1, keepdims=True)


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        job = json.loads(line)
        with np.load(folder / f"{job['set']}.npz") as data:
            print(json.dumps(job | score(job, dict(data))), flush=True)


if __name__ == "__main__":
    main()
