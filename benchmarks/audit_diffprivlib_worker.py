"""Looks at an installed diffprivlib forest, in an environment that it imports in. Reads jobs, writes results.

    python benchmarks/audit_diffprivlib_worker.py < jobs.jsonl > results.jsonl

A job names a check and its sizes; what comes back is what was seen, without a verdict. It is run by
benchmarks/audit_diffprivlib.py and needs NumPy, scikit-learn and diffprivlib alone. Tables are lists of
(attribute, label), the attribute a number from 0 to 1 and the label 0 or 1.
"""

from __future__ import annotations

import itertools
import json
import pickle
import platform
import sys
import warnings
from importlib.metadata import version
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np
from diffprivlib import BudgetAccountant
from diffprivlib.models import RandomForestClassifier
from diffprivlib.models.forest import DecisionTreeClassifier
from diffprivlib.utils import BudgetError, PrivacyLeakWarning
from sklearn.model_selection import GridSearchCV, cross_val_score

CLAIM = 1.0
PUBLIC = {"bounds": (0, 1), "classes": [0, 1]}
PROBES = np.array([[0.0], [1.0]], dtype=np.float32)
Table = list[tuple[float, int]]


def forest(**settings: Any) -> RandomForestClassifier:
    """Its defaults, with public bounds and classes, no seed, and an accountant of its own."""
    return RandomForestClassifier(
        **{"epsilon": CLAIM, "accountant": BudgetAccountant()} | PUBLIC | settings
    )


def fitted(table: Table, **settings: Any) -> RandomForestClassifier:
    return forest(**settings).fit([[x] for x, _ in table], [label for _, label in table])


def rebuilt(tree: Any, table: Table) -> bool:
    """Whether a tree grown again with the seed that it holds, on a guessed table, is the same tree."""
    again = DecisionTreeClassifier(
        max_depth=tree.max_depth, epsilon=tree.epsilon, random_state=tree.random_state,
        accountant=BudgetAccountant(), **PUBLIC,
    )  # fmt: skip
    rows = np.array(table, dtype=float).reshape(-1, 2)
    again.fit(rows[:, :1].astype(np.float32), rows[:, 1:], check_input=False)
    return np.array_equal(again.tree_.value, tree.tree_.value) and np.array_equal(
        again.tree_.threshold, tree.tree_.threshold
    )


# -- checks ------------------------------------------------------------------------------------


def about(job: dict[str, Any]) -> dict[str, Any]:
    packages = ("diffprivlib", "scikit-learn", "numpy")
    plain, said = RandomForestClassifier(), str(RandomForestClassifier.__doc__).lower()
    return {
        "versions": {"python": platform.python_version()} | {p: version(p) for p in packages},
        "epsilon": CLAIM, "trees": plain.n_estimators, "depth": plain.max_depth,
        "shuffle": plain.shuffle, "names_neighbors": "neighbo" in said or "adjacent" in said,
    }  # fmt: skip


def seeds(job: dict[str, Any]) -> dict[str, Any]:
    """What a pickle says about its noise: seeds, trees made again, and tables that it rules out."""
    rng = np.random.default_rng(0)
    table = [(float(x), int(x > 0.5)) for x in rng.random(200)]
    model = pickle.loads(pickle.dumps(fitted(table)))
    parts = [table[20 * i : 20 * (i + 1)] for i in range(10)]  # no shuffle: tree i has these rows
    kept = [t.random_state for t in model.estimators_]
    whole = [isinstance(s, int | np.integer) for s in kept]
    same = [rebuilt(t, p) for t, p in zip(model.estimators_, parts, strict=True)]
    others = [rebuilt(t, table[:20]) for t in model.estimators_[1:]]
    seen = {
        "trees": len(kept), "kept": sum(whole), "same": sum(same), "same_on_other_rows": sum(others),
        "counts_in_nodes": int(sum(t.tree_.n_node_samples.sum() for t in model.estimators_)),
    }  # fmt: skip
    return seen | _used(model, job) if all(whole) else seen


def _used(model: Any, job: dict[str, Any]) -> dict[str, Any]:
    return {
        "largest": max(int(t.random_state) for t in model.estimators_),
        "guesses": [guesses(job["most"]) for _ in range(job["models"])],
        "search": search(model.estimators_[0], job["seeds"]),
    }


TRUTH = (3, 1, 1, 2)  # records of each (attribute, label), which the guesses are to find
CELLS = ((0.0, 0), (0.0, 1), (1.0, 0), (1.0, 1))


def guesses(most: int) -> dict[str, Any]:
    """Of all tables with up to `most` records a cell, those that grow the published tree again."""
    tree = fitted(_table(TRUTH), n_estimators=1).estimators_[0]
    every = list(itertools.product(range(most + 1), repeat=len(CELLS)))
    left = [c for c in every if rebuilt(tree, _table(c))]
    return {"tables": len(every), "left": len(left), "truth": TRUTH in left}


def _table(counts: tuple[int, ...]) -> Table:
    return [cell for cell, count in zip(CELLS, counts, strict=True) for _ in range(count)]


def search(tree: Any, tries: int) -> dict[str, Any]:
    """As if the seed had been taken out: which seeds near it give the published root split."""
    first = max(0, tree.random_state - tries // 2)
    root, start, found = tree.tree_.threshold[0], perf_counter(), []
    for seed in range(first, first + tries):
        rng = np.random.RandomState(seed)  # the generator that it uses
        rng.randint(1)
        if rng.uniform(0, 1) == root:
            found.append(seed)
    right = found == [tree.random_state]
    return {"tries": tries, "found": len(found), "right": right, "seconds": perf_counter() - start}


def moves(job: dict[str, Any]) -> list[dict[str, Any]]:
    """How many rows come to another tree when one is removed, and how many trees that changes."""
    seen = []
    for n in job["rows"]:
        before = _dealt(list(range(n)))
        for name, gone in (("first", 0), ("last", n - 1)):
            after = _dealt([i for i in range(n) if i != gone])
            moved = [i for i in after if after[i] != before[i]]
            trees = {t for i in moved for t in (before[i], after[i])}
            seen.append({"rows": n, "removed": name, "moved": len(moved), "trees": len(trees)})
    return seen


def _dealt(ids: list[int]) -> dict[int, int]:
    """The tree that each row is given to, heard at the trees' own fit."""
    parts: list[list[int]] = []
    real = DecisionTreeClassifier.fit

    def listen(tree: Any, X: Any, y: Any, *args: Any, **kwargs: Any) -> Any:
        parts.append([int(x) for x in X[:, 0]])
        return real(tree, X, y, *args, **kwargs)

    with patch.object(DecisionTreeClassifier, "fit", listen):
        forest(bounds=(0, 10_000), max_depth=1).fit([[i] for i in ids], [i % 2 for i in ids])
    return {i: tree for tree, part in enumerate(parts) for i in part}


def spending(job: dict[str, Any]) -> list[dict[str, Any]]:
    """What an accountant with room for one fit holds after each step, given or set as the default."""
    rng = np.random.default_rng(0)
    X = rng.random((200, 1))
    y = (X[:, 0] > 0.5).astype(int)
    seen = []
    for how in ("given to the forest", "set as the default"):
        own = BudgetAccountant(epsilon=CLAIM)
        if how == "set as the default":
            own.set_default()
        model = forest(accountant=own if how == "given to the forest" else None)
        steps = {
            "cross_val_score, 5 folds": lambda m: cross_val_score(m, X, y, cv=5),
            "GridSearchCV, 3 depths, 5 folds": lambda m: GridSearchCV(
                m, {"max_depth": [2, 3, 4]}, cv=5
            ).fit(X, y),
            "fit": lambda m: m.fit(X, y),
            "score on the same records": lambda m: m.score(X, y),
            "fit again": lambda m: m.fit(X, y),
        }
        for step, work in steps.items():
            try:
                work(model)
                refused = False
            except BudgetError:
                refused = True
            spent = float(own.total()[0])
            seen.append({"accountant": how, "step": step, "spent": spent, "refused": refused})
        BudgetAccountant.pop_default()
    return seen


def undeclared(job: dict[str, Any]) -> dict[str, Any]:
    """A fit without bounds and classes, on a table and without its one extreme record."""
    table = [(i / 100, i % 2) for i in range(50)]
    sides = []
    for side in ([*table, (0.97, 2)], table):
        with warnings.catch_warnings(record=True) as heard:
            warnings.simplefilter("always")
            model = fitted(side, bounds=None, classes=None)
        told = sum(issubclass(w.category, PrivacyLeakWarning) for w in heard)
        high, labels = float(model.bounds[1][0]), [int(c) for c in model.classes_]
        sides.append({"warnings": told, "high": round(high, 6), "classes": labels})
    return {"with": sides[0], "without": sides[1], "named": [_named(v) for v in job["names"]]}


def _named(names: list[Any]) -> dict[str, Any]:
    """Ten forests' accuracy on their own records, at an epsilon with hardly any noise."""
    X = np.random.default_rng(0).random((1_000, 1))
    y = np.array(names)[(X[:, 0] > 0.5).astype(int)]
    scores = [forest(epsilon=1e3, classes=names).fit(X, y).score(X, y) for _ in range(10)]
    return {"names": names, "accuracy": float(np.mean(scores))}


def fits(job: dict[str, Any]) -> list[list[list[float]]]:
    """Many fits on two tables: what every tree says of the probes, and which table makes it again."""
    sides = []
    for table in job["tables"]:
        rows = []
        for _ in range(job["fits"]):
            model = fitted(table, n_estimators=job["trees"], max_depth=job["depth"])
            told = [_labels(t.tree_) for t in model.estimators_]
            again = [rebuilt(model.estimators_[0], t) for t in job["tables"] if job["rebuild"]]
            rows.append([float(v) for v in (*itertools.chain(*told), *again)])
        sides.append(rows)
    return sides


def _labels(tree: Any) -> list[int]:
    return tree.value[tree.apply(PROBES), 0].argmax(axis=1).tolist()


CHECKS = {f.__name__: f for f in (about, seeds, moves, spending, undeclared, fits)}


def main() -> None:
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        job = json.loads(line)
        print(json.dumps(CHECKS[job["check"]](job)), flush=True)


if __name__ == "__main__":
    main()
