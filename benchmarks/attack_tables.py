"""Tables of yes and no for the attacks: adult, compas and default of credit cards, as DRAFT-DP prepared them.

Each attribute is a question about a record's raw values; the names follow the tables that were published
with "Training Set Reconstruction from Differentially Private Forests: How Effective is DP?" (Gorge, Ferry,
Gambs and Vidal, 2025). Thresholds called "high" are medians of the public table here. `groups` are
attributes of which exactly one is true of every record, which everybody knows, an attacker too.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import common
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from frith import Categorical, Domain

Bits = NDArray[np.int8]


@dataclass(frozen=True, eq=False)
class Binary:
    """A table of zeros and ones, its labels, and the attributes of which exactly one is true."""

    name: str
    names: tuple[str, ...]
    X: Bits
    y: Bits
    groups: tuple[tuple[int, ...], ...]

    def domain(self, records: int | None = None) -> Domain:
        """All that is public of it; the number of records where it is given."""
        attributes = tuple(Categorical(n, ("0", "1")) for n in self.names)
        return Domain(attributes, Categorical("label", ("0", "1")), records=records)

    def sample(self, size: int, rng: np.random.Generator) -> tuple[NDArray[np.int64], Binary]:
        """So many different records in random order, and which rows they are."""
        rows = rng.permutation(len(self.y))[:size]
        return rows, Binary(self.name, self.names, self.X[rows], self.y[rows], self.groups)

    def frame(self) -> pd.DataFrame:
        return as_frame(self.X, self.names)


def as_frame(X: Any, names: tuple[str, ...]) -> pd.DataFrame:
    """Zeros and ones as the texts that the domain declares."""
    return pd.DataFrame(np.where(np.asarray(X) > 0, "1", "0"), columns=list(names))


def random_table(table: Binary, size: int, rng: np.random.Generator) -> tuple[Bits, Bits]:
    """A guess that knows the domain alone: fair coins, and one of each group."""
    X = rng.integers(0, 2, (size, len(table.names)), dtype=np.int8)
    for group in table.groups:
        X[:, group] = np.eye(len(group), dtype=np.int8)[rng.integers(0, len(group), size)]
    return X, rng.integers(0, 2, size, dtype=np.int8)


# -- the three tables --------------------------------------------------------------------------


def _adult(X: pd.DataFrame) -> dict[str, Any]:
    school = ("Prof-school", "9th", "7th-8th", "12th", "1st-4th", "10th", "11th", "5th-6th")
    education = {
        "Assoc": ("Assoc-acdm", "Assoc-voc"), "Bachelors": ("Bachelors",), "HS-grad": ("HS-grad",),
        "Masters or Doctorate": ("Masters", "Doctorate"), "School": (*school, "Preschool"),
        "Some-college": ("Some-college",),
    }  # fmt: skip
    occupation = {
        "Blue-Collar": (
            "Craft-repair", "Farming-fishing", "Handlers-cleaners", "Machine-op-inspct",
            "Transport-moving",
        ),
        "Professional": ("Prof-specialty",), "Sales": ("Sales",),
        "Service": ("Other-service", "Priv-house-serv", "Protective-serv", "Tech-support"),
        "White-Collar": ("Adm-clerical", "Exec-managerial"),
    }  # fmt: skip
    workclass = {
        "Government": ("Federal-gov", "Local-gov", "State-gov"),
        "Private": ("Private",),
        "Self-Employed": ("Self-emp-inc", "Self-emp-not-inc"),
    }
    return (
        {
            "age high": _high(X["age"]), "capital gain": X["capital-gain"] > 0,
            "capital loss": X["capital-loss"] > 0,
        }
        | _one_of(X["education"], "education", education)
        | {"female": X["sex"] == "Female", "hours high": X["hours-per-week"] >= 40}
        | _one_of(X["occupation"], "occupation", occupation)
        | _one_of(X["workclass"], "workclass", workclass)
    )  # fmt: skip


def _compas(X: pd.DataFrame) -> dict[str, Any]:
    age, priors = X["age"], X["priors_count"]
    juvenile = {n: X[f"juv_{n}_count"] > 0 for n in ("fel", "misd", "other")}
    return {
        "male": X["sex"] == "Male",
        "age 18-20": age <= 20, "age 21-22": age.between(21, 22), "age 23-25": age.between(23, 25),
        "age 26-45": age.between(26, 45), "age over 45": age > 45,
        "juvenile felonies": juvenile["fel"], "juvenile misdemeanors": juvenile["misd"],
        "juvenile crimes": juvenile["fel"] | juvenile["misd"] | juvenile["other"],
        "priors 2-3": priors.between(2, 3), "priors 0": priors == 0, "priors 1": priors == 1,
        "priors over 3": priors > 3, "misdemeanor": X["c_charge_degree"] == "M",
    }  # fmt: skip


def _credit(X: pd.DataFrame) -> dict[str, Any]:
    education = {
        "graduate school": ("1",), "high school": ("3",), "others": ("0", "4", "5", "6"),
        "university": ("2",),
    }  # fmt: skip
    marriage = {"married": ("1",), "others": ("0", "3"), "single": ("2",)}
    delays = ("PAY_0", "PAY_2", "PAY_3", "PAY_4", "PAY_5", "PAY_6")
    return (
        _one_of(X["EDUCATION"], "education", education)
        | {"limit high": _high(X["LIMIT_BAL"])}
        | _one_of(X["MARRIAGE"], "marriage", marriage)
        | {f"{n} delayed": X[n] >= 1 for n in delays}
        | {f"PAY_AMT{i} high": _high(X[f"PAY_AMT{i}"]) for i in range(1, 7)}
        | {"female": X["SEX"].astype(str) == "2"}
    )


def _high(numbers: pd.Series) -> pd.Series:
    return numbers > numbers.median()


def _one_of(column: pd.Series, name: str, parts: dict[str, tuple[str, ...]]) -> dict[str, Any]:
    return {f"{name} {part}": column.astype(str).isin(values) for part, values in parts.items()}


_TABLES = {
    "adult": ("adult", _adult, ">50K", (tuple(range(3, 9)),)),
    "compas": ("compas", _compas, "1", (tuple(range(1, 6)), tuple(range(9, 13)))),
    "credit": ("default_credit_card", _credit, "1", (tuple(range(4)), tuple(range(5, 8)))),
}
NAMES = tuple(_TABLES)


@functools.cache
def binary(name: str) -> Binary:
    """One of the three tables, all of its records."""
    source, ask, label, groups = _TABLES[name]
    X, y, _ = common.load(source)
    answers = ask(X)
    bits = np.column_stack([np.asarray(a, dtype=np.int8) for a in answers.values()])
    labels = (y.astype(str) == label).to_numpy().astype(np.int8)
    return Binary(name, tuple(answers), bits, labels, groups)
