"""Tables as the papers prepared them, for names like "votes, imputed".

What is taken from all records here (a majority value) is not private, in the papers or here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from frith import Categorical, Domain, Numeric

Table = tuple[pd.DataFrame, pd.Series, Domain]
BINS = 5


def imputed(X: pd.DataFrame, y: pd.Series, domain: Domain) -> Table:
    """Every missing entry is its column's most frequent one (votes, Private-RDT 6.1)."""
    known = [
        replace(a, values=tuple(v for v in a.values if v != a.missing), missing=None)
        for a in domain.attributes
        if isinstance(a, Categorical)
    ]
    return X.fillna(X.mode().iloc[0]), y, replace(domain, attributes=tuple(known))


def complete(X: pd.DataFrame, y: pd.Series, domain: Domain) -> Table:
    """Without the attributes that have missing entries (mushroom, Private-RDT 6.1)."""
    kept = tuple(a for a in domain.attributes if not X[a.name].isna().any())
    return X[[a.name for a in kept]], y, replace(domain, attributes=kept)


def three_labels(X: pd.DataFrame, y: pd.Series, domain: Domain) -> Table:
    """Nursery's two rare labels are "priority" (Private-RDT, Table 2; which it merged is our guess)."""
    rare = ("recommend", "very_recom")
    kept = tuple(v for v in domain.label_values if v not in rare)
    return (
        X,
        y.replace(dict.fromkeys(rare, "priority")),
        replace(domain, label=Categorical(domain.label.name, kept)),
    )


def five_bins(X: pd.DataFrame, y: pd.Series, domain: Domain) -> Table:
    """Every number is one of five values, bins of equal range (DP-RF, section 5)."""
    columns, attributes = X.copy(), []
    for a in domain.attributes:
        if isinstance(a, Numeric):
            columns[a.name] = _binned(X[a.name], a)
            values = tuple(map(str, range(BINS))) + (("missing",) if a.missing else ())
            a = Categorical(a.name, values, missing="missing" if a.missing else None)
        attributes.append(a)
    return columns, y, replace(domain, attributes=tuple(attributes))


def _binned(numbers: pd.Series, a: Numeric) -> pd.Series:
    place = np.floor(BINS * (numbers.astype(float) - a.low) / (a.high - a.low))
    return place.clip(0, BINS - 1).map(lambda p: None if np.isnan(p) else str(int(p)))


PREPARATIONS: dict[str, Callable[..., Any]] = {
    "imputed": imputed,
    "complete": complete,
    "three labels": three_labels,
    "five bins": five_bins,
}
