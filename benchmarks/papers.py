"""What four papers report, measured again: our sound learners, and their own forms, side by side.

dp_rf   Fletcher and Islam 2015: a forest tuned by signal-to-noise ratios, against Private-RDT
dpdf    Fletcher and Islam 2015: Gini forests, against DiffPID3 and an exact random forest
c45     Shang, Zhao, Shu and Liu 2019, Table 2: arithmetic against geometric budgets, on car
id3     Jagannathan, Pillaipakkamnatt and Wright 2012, Table 1: ID3 from noisy counts
"""

from __future__ import annotations

import argparse
import functools
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

from frith import (
    C45Classifier,
    GiniForestClassifier,
    ID3Classifier,
    RandomDecisionForestClassifier,
    SignalForestClassifier,
)
from frith.published import AS_PUBLISHED
from frith.scores import SCALE, GiniMass

# -- the learners ------------------------------------------------------------------------------


class GlobalGini(GiniMass):
    """The Gini index as a share of the node's records, with the weights exp(epsilon score) that
    a sensitivity of 0.5 gives: DiffPID3 as the DPDF paper ran it. Categorical attributes only."""

    def __init__(self) -> None:
        super().__init__(range_=SCALE)

    def mass(self, counts: np.ndarray) -> np.ndarray:
        size = np.maximum(counts.sum(axis=(-2, -1)), 1)
        return super().mass(counts) // size[..., None]


class GlobalID3Classifier(ID3Classifier):
    def _criterion(self, curator: Any) -> GlobalGini:
        return GlobalGini()


PUBLISHED = {"as_published": True}
DIFFPID3 = {"queries": "exponential", "criterion": "gini"}
ALLOCATIONS = ("arithmetic", "geometric", "uniform")
DEPTHS = (6, 4)

LEARNERS: dict[str, tuple[type, dict[str, Any]]] = {
    "rdt": (RandomDecisionForestClassifier, {"n_trees": common.N_TREES}),
    "dp_rf": (SignalForestClassifier, {}),
    "dp_rf published": (SignalForestClassifier, PUBLISHED),
    "diffpid3": (ID3Classifier, DIFFPID3 | {"max_depth": 5}),
    "diffpid3 global": (GlobalID3Classifier, DIFFPID3 | {"max_depth": 4}),
    "id3": (ID3Classifier, {"queries": "counts"}),
    "id3 full": (ID3Classifier, {"queries": "counts", "max_depth": None, "min_support": 0}),
}
for trees in (1, 4):
    forest = {"n_trees": trees, "depth": 5}
    LEARNERS[f"dpdf {trees}"] = GiniForestClassifier, forest
    LEARNERS[f"dpdf {trees} raw"] = GiniForestClassifier, forest | {"consistent": False}
    LEARNERS[f"dpdf {trees} published"] = GiniForestClassifier, forest | PUBLISHED
for depth in DEPTHS:
    for allocation in ALLOCATIONS:
        tree = {"max_depth": depth, "allocation": allocation}
        LEARNERS[f"c45 {depth} {allocation}"] = C45Classifier, tree
        LEARNERS[f"c45 {depth} {allocation} published"] = C45Classifier, tree | PUBLISHED


def build(name: str, domain: Any, epsilon: float, seed: int) -> Any:
    """A learner on one thread; the seed reaches public tree shapes and the exact forest only."""
    if name == "random forest":
        return random_forest(seed)
    kind, parameters = LEARNERS[name]
    model = kind(domain, epsilon=epsilon, n_jobs=1, **parameters)
    return model.set_params(random_state=seed) if "random_state" in model.get_params() else model


def random_forest(seed: int) -> Any:
    """scikit-learn's forest with its default parameters, on ordinal codes. Not private."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(codes, RandomForestClassifier(random_state=seed, n_jobs=1))


# -- the measurements --------------------------------------------------------------------------

FOLDS, TRAINING = "10-fold", "training set"


def score(job: dict[str, Any]) -> dict[str, Any]:
    """Mean accuracy of ten fits: one repeat of 10-fold, or ten times the training set itself."""
    X, y, domain = common.load(job["set"])
    hits = []
    for number, (train, test) in enumerate(splits(job, y)):
        seed = common.FOLDS * job["repeat"] + number
        model = build(job["learner"], domain, float(job["epsilon"]), seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=f".*{AS_PUBLISHED}")
            model.fit(X.iloc[train], y.iloc[train])
        hits.append(np.mean(model.predict(X.iloc[test]) == y.iloc[test]))
    return {"accuracy": f"{np.mean(hits):.6f}"}


def splits(job: dict[str, Any], labels: pd.Series) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    if job["test"] == FOLDS:
        yield from common.folds(labels, job["repeat"])
    else:
        everyone = np.arange(len(labels))
        yield from [(everyone, everyone)] * common.FOLDS


@dataclass(frozen=True)
class Part:
    """One paper's experiment: which sets how often, which learners at which epsilons."""

    repeats: dict[str, int]
    epsilons: tuple[str, ...]
    learners: tuple[str, ...]
    exact: tuple[str, ...] = ()
    tests: tuple[str, ...] = (FOLDS,)
    fewer: dict[str, int] | None = None  # repeats of slow learners whose scores vary little

    def jobs(self, quick: bool) -> list[dict[str, Any]]:
        runs = [(n, e) for n in self.learners for e in self.epsilons]
        runs += [(n, "inf") for n in self.exact]
        return [
            {"set": name, "learner": learner, "epsilon": epsilon, "test": test, "repeat": repeat}
            for name in common.loadable([n for n in self.repeats if not quick or n in QUICK])
            for learner, epsilon in runs
            for test in self.tests
            for repeat in range(2 if quick else self._repeats(name, learner))
        ]

    def _repeats(self, name: str, learner: str) -> int:
        few = [n for word, n in (self.fewer or {}).items() if learner.endswith(word)]
        return min([self.repeats[name], *few])


QUICK = ("car", "votes", "tic_tac_toe", "nursery")
SMALL, LARGE = 20, 2

PARTS = {
    "dp_rf": Part(
        {"car": SMALL, "nursery": SMALL, "mushroom": 10, "votes": 40, "krkopt": 3,
         "tic_tac_toe": SMALL, "balance_scale": SMALL, "adult": LARGE, "pendigits": LARGE},
        ("0.01", "0.05", "0.1", "0.25", "0.5", "1", "2"),
        ("rdt", "dp_rf", "dp_rf published"),
    ),
    "dpdf": Part(
        {"car": SMALL, "krkopt": 3, "connect4": LARGE, "mushroom": 8, "nursery": 8,
         "tic_tac_toe": SMALL},
        ("0.1", "0.25", "0.5", "1", "2"),
        ("diffpid3", "diffpid3 global", "dpdf 1", "dpdf 4", "dpdf 1 raw", "dpdf 4 raw",
         "dpdf 1 published", "dpdf 4 published"),
        exact=("random forest",),
    ),
    "c45": Part(
        {"car": SMALL},
        ("0.5", "0.6", "0.7", "0.8", "0.9", "1.0"),
        tuple(n for n in LEARNERS if n.startswith("c45")),
        exact=tuple(f"c45 {depth} arithmetic" for depth in DEPTHS),
        tests=(TRAINING, FOLDS),
        fewer={"published": 3},
    ),
    "id3": Part(
        {"nursery": 10, "votes": 60, "mushroom": 30},
        ("0.5",),
        ("id3", "id3 full"),
        exact=("id3", "id3 full"),
    ),
}  # fmt: skip


def main() -> None:
    options = parse_options()
    chosen = [options.only] if options.only else list(PARTS)
    for name in chosen:
        path = options.out / f"papers_{name}.csv"
        common.run_jobs(PARTS[name].jobs(options.quick), score, path, not options.fresh)


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="What four papers report, measured again.")
    parser.add_argument("--quick", action="store_true", help="a small run, to see that it works")
    parser.add_argument("--fresh", action="store_true", help="measure again what has been measured")
    parser.add_argument("--only", choices=PARTS, help="one paper; others are reported as they are")
    parser.add_argument("--out", type=Path, help="folder for the results (default: docs/results)")
    options = parser.parse_args()
    if options.out is None:
        quick = Path(tempfile.gettempdir()) / "frith-quick"
        options.out = quick if options.quick else common.RESULTS
    options.out.mkdir(parents=True, exist_ok=True)
    return options


if __name__ == "__main__":
    main()
