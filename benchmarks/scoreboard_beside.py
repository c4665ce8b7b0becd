"""The flagship beside other learners on the scoreboard's folds: in how many cells it reaches the best.

Whom it is beside is picked for every fold by its mean over the other folds, so that nobody is picked by the
records that they are compared on. A cell is reached if the mean difference over folds is above minus one
standard error of it. Cells in which nobody is better than the most frequent label by two standard errors say
nothing, and are left out and counted.
"""

from __future__ import annotations

import common
import numpy as np
import pandas as pd

CELL, FOLD = ["set", "epsilon"], ["repeat", "fold"]
SAME = {e: e for e in (0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.0)}
LARGER = {0.01: 0.05, 0.02: 0.1, 0.05: 0.25, 0.1: 0.5, 0.25: 1.0, 0.5: 2.0}
TEN = {0.01: 0.1, 0.05: 0.5, 0.1: 1.0}


def picked(others: pd.DataFrame, metric: str) -> pd.Series:
    """For every cell and fold what the learner has there that is best on the other folds."""
    wide = others.pivot_table(index=[*CELL, *FOLD], columns="learner", values=metric)
    found = []
    for _, cell in wide.groupby(level=CELL):
        values = cell.dropna(axis="columns").to_numpy()
        if values.shape[1] and len(values) > 1:
            best = (values.sum(axis=0) - values).argmax(axis=1)
            found.append(pd.Series(values[np.arange(len(values)), best], index=cell.index))
    return pd.concat(found)


def says_something(rows: pd.DataFrame) -> set[tuple[str, float]]:
    """The cells in which somebody is better than the most frequent label by two standard errors."""
    gains = rows.assign(gain=rows.accuracy - rows.majority).groupby([*CELL, "learner"]).gain
    error = gains.std(ddof=1) / np.sqrt(gains.size())
    better = gains.mean() - 2 * error
    return set(better[better > 0].groupby(level=CELL).size().index)


def reached(
    own: pd.DataFrame, best: pd.Series, metric: str, epsilons: dict[float, float]
) -> pd.Series:
    """For each cell whether the flagship reaches the best at the epsilon that stands beside its own."""
    own = own.set_index([*CELL, *FOLD])[metric].sort_index()
    found = {}
    for name, epsilon in own.groupby(level=CELL).size().index:
        theirs = (name, epsilons.get(epsilon, np.nan))
        if theirs in best.index.droplevel(FOLD):
            gain = (own.loc[name, epsilon] - best.loc[theirs]).dropna()
            error = float(gain.std(ddof=1)) / np.sqrt(len(gain))
            found[name, epsilon] = bool(gain.mean() >= -error)
    return pd.Series(found, dtype=bool)


def beside(own: pd.DataFrame, others: pd.DataFrame, half_of: dict[str, str]) -> str:
    """A table: the shares of cells in which the flagship reaches the best of the others."""
    majority = own.set_index([*CELL, *FOLD])["majority"]
    others = others.drop(columns="majority", errors="ignore")
    others = others.join(majority, on=[*CELL, *FOLD], how="inner")
    telling = says_something(pd.concat([own, others]))
    kinds = [("accuracy", SAME), ("accuracy", LARGER), ("accuracy", TEN), ("auc", SAME)]
    found = [reached(own, picked(others, metric), metric, pairs) for metric, pairs in kinds]
    lines = []
    for half in ("tuned", "checked"):
        shares = []
        for cells in found:
            kept = cells[[c in telling and half_of[c[0]] == half for c in cells.index]]
            shares.append(f"{100 * kept.mean():.0f}% of {len(kept)}" if len(kept) else "")
        here = [c for c in found[0].index if half_of[c[0]] == half]
        lines.append([half, *shares, str(sum(c not in telling for c in here))])
    return common.markdown_table(
        ["half", "accuracy, same epsilon", "accuracy, theirs 4 to 5 times", "accuracy, theirs 10 times",
         "AUC, same epsilon", "cells left out"], lines
    )  # fmt: skip
