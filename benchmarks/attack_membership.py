"""Who was in the table? SACRO-ML's attacks on a fitted forest, as they come.

Some records of a public table are candidates; a fair coin for each decides whether it is trained on. The
forest is fitted on those, and given to SACRO-ML's ordinary wrapper of scikit-learn estimators:

LiRA         shadow forests on other halves of the candidates say how sure a forest is of a record that it has
             not seen; a record's own false positive rate is the chance that such a forest is as sure
worst case   a forest learns from the predictions for known members and others who else is a member
attribute    a record's hidden category is guessed as the one of which the forest is surest; on members and
             on others alike if it learned nothing of them
structural   a checklist: how few training records share a prediction, and whether some label has none there

Needs sacroml, in an environment of its own (see attacks.py).
"""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import tempfile
import warnings
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import common
import numpy as np
import pandas as pd
from attack_bounds import judge, roc
from attack_forests import BAD_FACTOR, COUNTING, DEPTH, TREES
from attack_sizes import BAD, FLAGSHIP, GREEDY, MEMORIZER, PEER, RANDOM
from numpy.typing import NDArray

from frith import (
    Categorical,
    Domain,
    ForestClassifier,
    GiniForestClassifier,
    Numeric,
    RandomDecisionForestClassifier,
)
from frith.domain.columns import columns_of
from frith.domain.encoding import encode_label

SOURCES = {"adult": "adult", "compas": "compas", "credit": "default_credit_card"}
HIDDEN = 3  # attributes that the attribute attack hides, one at a time
NOMINAL = 0.05  # the false positive rate that each record's own test aims at


class SeededForest(ForestClassifier):
    """The flagship with the parameter that shadow models set. It has nothing public to seed."""

    def __init__(
        self, domain: Any = None, *, epsilon: Any = 1.0, n_jobs: Any = 1, random_state: Any = None
    ):
        super().__init__(domain, epsilon=epsilon, n_jobs=n_jobs)
        self.random_state = random_state


class SeededGini(GiniForestClassifier):
    """The greedy forest with that parameter, which it has no use for either."""

    def __init__(
        self, domain: Any = None, *, epsilon: Any = 1.0, n_jobs: Any = 1, random_state: Any = None
    ):
        super().__init__(domain, epsilon=epsilon, n_jobs=n_jobs, **COUNTING[GREEDY][1])
        self.random_state = random_state


@functools.cache
def coded(name: str) -> tuple[NDArray[np.float64], NDArray[np.int64], Domain]:
    """A table as numbers: codes of categories, numbers within their public bounds, labels 0 and 1."""
    X, y, domain = common.load(SOURCES[name])
    columns, _ = columns_of(X)
    numbers: list[Any] = []
    attributes: list[Categorical | Numeric] = []
    for a in domain.attributes:
        if isinstance(a, Categorical):
            codes = encode_label(columns(a.name), Categorical(a.name, a.values))
            numbers.append(np.where(codes < 0, a.missing_code, codes).astype(float))
            attributes.append(Categorical(a.name, tuple(range(a.size))))
        else:
            values = pd.to_numeric(X[a.name], errors="coerce").to_numpy(dtype=float)
            numbers.append(np.clip(np.nan_to_num(values, nan=a.low), a.low, a.high))
            attributes.append(Numeric(a.name, a.low, a.high))
    codes = {v: i for i, v in enumerate(domain.label.values)}
    labels = np.array([codes[v] for v in y])
    return np.column_stack(numbers), labels, Domain(attributes, Categorical("label", (0, 1)))


def model_of(system: str, domain: Domain, records: int, epsilon: float) -> Any:
    """An unfitted forest. Ours get a public constant for the number of records, never the real one."""
    own = Domain(domain.attributes, domain.label, records=records)
    system = system.partition(",")[0]
    if system == FLAGSHIP:
        return SeededForest(own, epsilon=epsilon)
    if system == GREEDY:
        return SeededGini(own, epsilon=epsilon)
    if system in (RANDOM, BAD):
        spent = epsilon * (BAD_FACTOR if system == BAD else 1)
        return RandomDecisionForestClassifier(
            own, epsilon=spent, n_trees=TREES, max_depth=DEPTH, n_jobs=1
        )
    if system == PEER:
        from diffprivlib.models import RandomForestClassifier

        low, high = zip(*(_bounds(a) for a in domain.attributes), strict=True)
        return RandomForestClassifier(epsilon=epsilon, bounds=(low, high), classes=[0, 1])
    from sklearn.ensemble import RandomForestClassifier as Plain

    return Plain(n_jobs=1, bootstrap=system != MEMORIZER)


def _bounds(attribute: Categorical | Numeric) -> tuple[float, float]:
    if isinstance(attribute, Categorical):
        return 0.0, float(max(1, attribute.size - 1))
    return attribute.low, attribute.high


def attack(
    system: str, name: str, epsilon: float, seed: int, sizes: dict[str, int]
) -> dict[str, Any]:
    """All four attacks on one forest."""
    X, y, domain = coded(name)
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[: sizes["candidates"]]
    members = rng.random(len(rows)) < 0.5
    X, y = X[rows], y[rows]
    model = model_of(system, domain, sizes["candidates"] // 2, epsilon)
    with _quiet():
        model.fit(X[members], y[members])
        found = sacro_attacks(model, X, y, members, epsilon, domain, sizes)
    return found | {
        "members": int(members.sum()),
        "accuracy": float(model.score(X[~members], y[~members])),
    }


def sacro_attacks(
    model: Any, X: Any, y: Any, members: Any, epsilon: float, domain: Domain, sizes: dict[str, int]
) -> dict[str, Any]:
    """What each attack of SACRO-ML says, and whether epsilon allows it."""
    from sacroml.attacks.attribute_attack import AttributeAttack
    from sacroml.attacks.likelihood_attack import LIRAAttack
    from sacroml.attacks.structural_attack import StructuralAttack
    from sacroml.attacks.target import Target
    from sacroml.attacks.worst_case_attack import WorstCaseAttack

    parts = {"train": members, "test": ~members}
    data = {f"{n}_{part}": v[rows] for n, v in (("X", X), ("y", y)) for part, rows in parts.items()}
    raw = {f"{key}_orig": value for key, value in data.items()}
    target = Target(model=model, dataset_name="table", **data, **raw)
    small = [
        k for k, a in enumerate(domain.attributes) if isinstance(a, Categorical) and a.size <= 20
    ]
    for k, a in enumerate(domain.attributes):
        target.add_feature(a.name, [k], "int" if k in small[:HIDDEN] else "float")
    found: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as folder:
        settings = {"output_dir": folder, "write_report": False}
        with _listening() as heard:
            LIRAAttack(n_shadow_models=sizes["shadows"], mode="offline", **settings).attack(target)
            found |= _said("lira", *heard[0], epsilon) | own_rates(*heard[0])
        with _listening() as heard:
            WorstCaseAttack(n_reps=1, n_dummy_reps=0, **settings).attack(target)
            found |= _said("worst", *heard[0], epsilon)
        structural = StructuralAttack(**settings)
        structural.attack(target)
        found |= _flags(structural.results)
        with _one_feature_after_another(), _remembering(target.model, X, small[:HIDDEN]):
            attribute = AttributeAttack(n_cpu=1, **settings)
            attribute.attack(target)
        found |= attribute_rates(attribute.attack_metrics["categorical"], epsilon)
    return found


def own_rates(scores: NDArray[np.float64], members: NDArray[np.bool_]) -> dict[str, float]:
    """Each record's own test: in, if hardly any forest that has not seen it would be as sure."""
    rate = 1 - scores
    caught = rate <= NOMINAL
    return {
        "own_fpr": float(np.mean(caught[~members])), "own_tpr": float(np.mean(caught[members])),
        "least_own_fpr": float(rate[members].min()),
    }  # fmt: skip


def attribute_rates(features: list[dict[str, Any]], epsilon: float) -> dict[str, Any]:
    """How often a guessed category was right, of members and of others; no more than e^epsilon apart."""
    rates = {}
    for part in ("train", "test"):
        right = sum(f[part][0] for f in features)
        asked = sum(f[part][4] for f in features)
        rates[part] = (right / asked if asked else 0.0, asked)
    (inside, n), (outside, m) = rates["train"], rates["test"]
    error = math.sqrt(sum(p * (1 - p) / max(1, k) for p, k in ((inside, n), (outside, m))))
    allowed = min(1.0, math.exp(min(50.0, epsilon)) * outside)
    return {
        "attribute_in": inside, "attribute_out": outside,
        "attribute_beats": bool(inside > allowed + 4 * error),
    }  # fmt: skip


def _said(name: str, scores: Any, members: Any, epsilon: float) -> dict[str, Any]:
    verdict = judge(members, scores, epsilon)
    said = roc(members, scores) | {
        "guesses": verdict.guesses, "right": verdict.right, "allowed": verdict.allowed,
        "at_least": verdict.at_least, "beats": verdict.beats,
    }  # fmt: skip
    return {f"{name}_{key}": value for key, value in said.items()}


def _flags(results: Any) -> dict[str, str]:
    raised = {
        "few records share a prediction": results.k_anonymity_risk,
        "a label is ruled out": results.class_disclosure_risk,
        "small groups": results.smallgroup_risk,
        "more parameters than records": results.dof_risk,
        "fits its records better": results.gen_error_risk,
    }
    return {"structural": "; ".join(words for words, flag in raised.items() if flag)}


@contextlib.contextmanager
def _listening() -> Iterator[list[tuple[NDArray[np.float64], NDArray[np.bool_]]]]:
    """The scores and memberships that an attack computes its own metrics of."""
    from sacroml import metrics

    heard: list[tuple[NDArray[np.float64], NDArray[np.bool_]]] = []
    real = metrics.get_metrics

    def listen(scores: Any, members: Any, *args: Any, **kwargs: Any) -> Any:
        heard.append((np.asarray(scores)[:, 1].copy(), np.asarray(members) > 0.5))
        return real(scores, members, *args, **kwargs)

    with patch.object(metrics, "get_metrics", listen):
        yield heard


@contextlib.contextmanager
def _one_feature_after_another() -> Iterator[None]:
    """Without the processes that the attack would start, and without its attack on numbers, which is slow."""
    from sacroml.attacks import attribute_attack

    class Alone:
        def __init__(self, processes: int) -> None: ...
        def __enter__(self) -> Alone:
            return self

        def __exit__(self, *_: Any) -> None: ...
        def starmap(self, work: Any, jobs: Any) -> list[Any]:
            return [work(*job) for job in jobs]

    with (
        patch.object(attribute_attack.mp, "Pool", Alone),
        patch.object(attribute_attack, "_get_bounds_risks", lambda *_: []),
    ):
        yield


@contextlib.contextmanager
def _remembering(model: Any, X: NDArray[np.float64], hidden: list[int]) -> Iterator[None]:
    """Predictions of all records with every value of a hidden attribute, made at once: one by one is slow."""
    variants = [X]
    for k in hidden:
        for value in np.unique(X[:, k]):
            variants.append(X.copy())
            variants[-1][:, k] = value
    rows = np.ascontiguousarray(np.concatenate(variants))
    known = dict(zip((row.tobytes() for row in rows), model.predict_proba(rows), strict=True))

    def recall(records: Any) -> NDArray[np.float64]:
        return np.array([known[row.tobytes()] for row in np.ascontiguousarray(records)])

    with patch.object(model, "predict_proba", recall):
        yield


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    before = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
