"""Compile ahead: every loop that a fit or a prediction runs, into numba's cache."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import pandas as pd

from frith import _jit
from frith.curator import Curator
from frith.domain import Attribute, Categorical, Domain, Numeric
from frith.domain.synthetic import synthetic_table
from frith.engines import MemoryEngine
from frith.forest import Forest
from frith.learners import BY_NAME, ForestRegressor, RandomDecisionForestRegressor
from frith.learners.base import PrivateForest
from frith.privacy.budget import Budget

_RECORDS = 500
_DECLARED = 5_000  # public: enough for the flagship to take steps and to buy cells
_LABELS: tuple[Attribute, ...] = (
    Categorical("label", ("no", "yes")),
    Categorical("label", ("low", "middle", "high")),
    Numeric("label", 0, 1),
)
_CELLS = (64, 1_024)  # codes of 8 and of 16 bits


@dataclass(frozen=True)
class Warmed:
    """How many loops were compiled, or found in the cache, and where that is; "" if nowhere."""

    loops: int
    folder: str


def warm() -> Warmed:
    """Fit every learner to records made up from a domain, and predict from it. Charges nothing."""
    for cells in _CELLS:
        for label in _LABELS:
            domain = _domain(cells, label)
            for make in _learners(label):
                _fit(make, domain)
    folders = {loop.stats.cache_path for loop in _jit.LOOPS if hasattr(loop, "stats")}
    found = sum(len(getattr(loop, "signatures", ())) for loop in _jit.LOOPS)
    return Warmed(found, os.path.commonpath(filter(None, folders)) if any(folders) else "")


def _domain(cells: int, label: Attribute) -> Domain:
    numbers = [Numeric(f"x{i}", 0, 1, cells=cells) for i in range(3)]
    values = Categorical("color", ("red", "green", "a longer one"))
    return Domain((*numbers, values), label, records=_DECLARED)


def _learners(label: Attribute) -> list[type[PrivateForest]]:
    if isinstance(label, Numeric):
        return [ForestRegressor, RandomDecisionForestRegressor]
    return list(BY_NAME.values())


def _fit(make: type[PrivateForest], domain: Domain) -> None:
    table = synthetic_table(domain, _RECORDS, np.random.default_rng(0))
    frame = table.to_pandas()
    for source in (table, frame):
        engine = MemoryEngine(source, domain)
        forest = make(domain=domain, epsilon=1).learn(Curator(engine, Budget.of(1)))
        _predict(forest, frame.drop(columns=domain.label.name))


def _predict(forest: Forest, frame: pd.DataFrame) -> None:
    forest.predict(frame)
    if not forest.domain.has_target:
        forest.predict_proba(frame)
