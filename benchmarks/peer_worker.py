"""Fits of other people's learners, in an environment that they import in. Reads jobs, writes results.

    python benchmarks/peer_worker.py TABLES < jobs.jsonl > results.jsonl

A table is a folder's NAME.npz: codes or numbers (X), label codes (y), public bounds (low, high), and for
every record the fold that tests it (fold). A job names a table, a learner, an epsilon, and either one fold
or how many there are. It is run by benchmarks/peers.py and scoreboard_peers.py, and needs NumPy,
scikit-learn and the learner that a job names.
"""

from __future__ import annotations

import functools
import json
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np


def diffprivlib_forest(job: dict[str, Any], data: Any) -> Any:
    """Its own defaults, with the public bounds and classes that it would else read off the records."""
    from diffprivlib.models import RandomForestClassifier

    return RandomForestClassifier(epsilon=float(job["epsilon"]), **_public(data))


def diffprivlib_deep_forest(job: dict[str, Any], data: Any) -> Any:
    from diffprivlib.models import RandomForestClassifier

    return RandomForestClassifier(epsilon=float(job["epsilon"]), max_depth=8, **_public(data))


def diffprivlib_tree(job: dict[str, Any], data: Any) -> Any:
    from diffprivlib.models import DecisionTreeClassifier

    return DecisionTreeClassifier(epsilon=float(job["epsilon"]), **_public(data))


def _public(data: Any) -> dict[str, Any]:
    return {"bounds": (data["low"], data["high"]), "classes": list(range(int(data["classes"])))}


def diffprivlib_bayes(job: dict[str, Any], data: Any) -> Any:
    from diffprivlib.models import GaussianNB

    return GaussianNB(epsilon=float(job["epsilon"]), bounds=(data["low"], data["high"]))


def diffprivlib_regression(job: dict[str, Any], data: Any) -> Any:
    return OnIndicators(float(job["epsilon"]), data)


class OnIndicators:
    """diffprivlib's logistic regression on categories as indicators and on numbers from -1 to 1.

    So no record is longer than the root of the number of attributes.
    """

    def __init__(self, epsilon: float, data: Any):
        from diffprivlib.models import LogisticRegression

        self.low, self.high, self.categorical = data["low"], data["high"], data["categorical"]
        self.model = LogisticRegression(epsilon=epsilon, data_norm=len(self.low) ** 0.5)

    def fit(self, X: Any, y: Any) -> None:
        self.model.fit(self._numbers(X), y)
        self.classes_ = self.model.classes_

    def predict(self, X: Any) -> Any:
        return self.model.predict(self._numbers(X))

    def predict_proba(self, X: Any) -> Any:
        """Each label against the rest, as it was fitted."""
        scores = self.model.decision_function(self._numbers(X))
        chances = 1 / (1 + np.exp(-np.clip(scores, -500, 500)))
        if chances.ndim == 1:
            chances = np.column_stack([1 - chances, chances])
        return chances / chances.sum(axis=1, keepdims=True)

    def _numbers(self, X: Any) -> Any:
        columns = []
        for x, low, high, is_code in zip(X.T, self.low, self.high, self.categorical, strict=True):
            if is_code:
                columns.append(np.eye(int(high) + 1)[x.astype(int)])
            else:
                columns.append((2 * (x - low) / (high - low) - 1)[:, None])
        return np.hstack(columns)


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
    "diffprivlib forest, depth 8": diffprivlib_deep_forest,
    "diffprivlib tree": diffprivlib_tree,
    "diffprivlib naive Bayes": diffprivlib_bayes,
    "diffprivlib logistic regression": diffprivlib_regression,
    "DP-EBM": dp_ebm,
    "scikit-learn forest": sklearn_forest,
    "scikit-learn boosting": sklearn_boosting,
}


def score(job: dict[str, Any], data: Any) -> dict[str, Any]:
    """One fold's; or the means over folds, and their standard deviations."""
    if "fold" in job:
        return score_fold(job, data, int(job["fold"]))
    found = [score_fold(job, data, number) for number in range(int(job["folds"]))]
    means: dict[str, Any] = {}
    for name in ("accuracy", "auc", "log_loss"):
        values = [f[name] for f in found if name != "auc" or int(data["classes"]) == 2]
        means[name] = float(np.mean(values)) if values else None
        means["spread" if name == "accuracy" else f"{name}_spread"] = _spread(values)
    return means


def score_fold(job: dict[str, Any], data: Any, number: int) -> dict[str, Any]:
    from sklearn.metrics import log_loss

    X, y, test = data["X"], data["y"], data["fold"] == number
    model = LEARNERS[job["learner"]](job, data)
    start = time.process_time()
    model.fit(X[~test], y[~test])
    seconds = time.process_time() - start
    chances = _over_all(model.predict_proba(X[test]), np.asarray(model.classes_), data)
    return {
        "accuracy": round(float(np.mean(model.predict(X[test]) == y[test])), 5),
        "auc": round(_auc(y[test], chances), 5),
        "log_loss": round(float(log_loss(y[test], chances, labels=_all(data))), 5),
        "seconds": round(seconds, 3),
    }


def _auc(truth: Any, chances: Any) -> float:
    """Of two labels; of more, each against the rest, weighted by how frequent it is."""
    from sklearn.metrics import roc_auc_score

    if chances.shape[1] == 2:
        return float(roc_auc_score(truth, chances[:, 1]))
    labels, counts = np.unique(truth, return_counts=True)
    scores = [roc_auc_score(truth == i, chances[:, i]) for i in labels]
    return float(np.average(scores, weights=counts))


def _spread(values: list[float]) -> float | None:
    if not values:
        return None
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def _all(data: Any) -> list[int]:
    return list(range(int(data["classes"])))


def _over_all(proba: Any, labels: Any, data: Any) -> Any:
    """Chances of every label, also of one that a fold has none of; none of them is no number."""
    out = np.full((len(proba), int(data["classes"])), 1e-9)
    out[:, labels.astype(int)] = np.clip(np.nan_to_num(proba), 1e-9, 1)
    return out / out.sum(axis=1, keepdims=True)


@functools.lru_cache(maxsize=4)
def _table(path: Path) -> dict[str, Any]:
    with np.load(path) as data:
        return dict(data)


def main() -> None:
    warnings.simplefilter("ignore")
    folder = Path(sys.argv[1])
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(job | score(job, _table(folder / f"{job['set']}.npz"))), flush=True)


if __name__ == "__main__":
    main()
