"""Small tables and domains that many tests use."""

from __future__ import annotations

import numpy as np
import pandas as pd

from frith import Categorical, Domain, Numeric, Person

COLORS = ("red", "green", "blue")


def small_domain(**kwargs) -> Domain:
    """Two categorical attributes, one number, two labels."""
    attributes = [
        Categorical("color", COLORS),
        Categorical("round", ("no", "yes"), missing="no"),
        Numeric("size", 0, 10, cells=16, missing=True),
    ]
    return Domain(attributes, Categorical("good", ("no", "yes")), **kwargs)


def person_domain(records: int = 2, **kwargs) -> Domain:
    return small_domain(person=Person("who", records), **kwargs)


def small_table(n: int = 200, seed: int = 0, people: int = 30) -> pd.DataFrame:
    """Records of the small domain with a learnable label, each of one of `people` persons."""
    rng = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "color": rng.choice(COLORS, n),
            "round": rng.choice(["no", "yes"], n),
            "size": rng.uniform(0, 10, n).round(2),
            "who": rng.integers(0, people, n).astype(str),
        }
    )
    good = (table["color"] == "red") ^ (table["size"] > 5)
    table["good"] = np.where(good, "yes", "no")
    return table
