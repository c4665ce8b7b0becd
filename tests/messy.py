"""Four tables as people have them: identifiers, dates, free text, outliers, missing booleans."""

from __future__ import annotations

import numpy as np
import pandas as pd


def passengers(n, rng):
    return pd.DataFrame({
        "PassengerId": np.arange(n), "Name": [f"Doe, Mx. Jo {i}" for i in range(n)],
        "Sex": rng.choice(["male", "female"], n), "Age": np.where(rng.random(n) < 0.2, np.nan, 30.5),
        "Fare": rng.lognormal(3, 1, n), "Cabin": [f"C{i}" if i % 3 else None for i in range(n)],
        "Survived": rng.choice([0, 1], n),
    })  # fmt: skip


def customers(n, rng):
    return pd.DataFrame({
        "customer_id": [f"{i:08x}" for i in rng.permutation(10 * n)[:n]],
        "active": rng.choice([True, False], n), "plan": rng.choice(["a", "b", "c"], n),
        "joined": pd.date_range("2020-01-01", periods=n, freq="h"),
        "spend": np.where(np.arange(n) == 5, 1e12, rng.uniform(0, 90, n)),
        "churn": rng.choice([True, False], n),
    })  # fmt: skip


def visits(n, rng):
    return pd.DataFrame({
        "visit": np.arange(n) + 10_000, "notes": [f"patient {i} said that it hurts" for i in range(n)],
        "smoker": pd.array(rng.choice([True, False, None], n), "boolean"),
        "town": rng.choice([f"town{i}" for i in range(12)], n), "score": rng.integers(0, 11, n),
        "outcome": rng.choice(["well", "ill"], n),
    })  # fmt: skip


def sensors(n, rng):
    return pd.DataFrame({
        "uuid": [f"dev-{i}" for i in range(n)], "reading": rng.lognormal(0, 3, n),
        "flag": rng.choice(["True", "False", "unknown"], n), "empty": [None] * n,
        "fault": rng.choice(["yes", "no"], n),
    })  # fmt: skip


MESSY = {
    "passengers": (passengers, "Survived", ["Sex", "Age", "Fare"], "Jo 17"),
    "customers": (customers, "churn", ["active", "plan", "joined", "spend"], "000000"),
    "visits": (visits, "outcome", ["smoker", "town", "score"], "hurts"),
    "sensors": (sensors, "fault", ["reading", "flag"], "dev-17"),
}
"""How to make each table, its label, the attributes that a draft keeps, and what must not come out."""
