"""Parties at hand: the small table dealt to several of them, with curators and keys."""

from __future__ import annotations

import numpy as np
import pandas as pd

from frith import Budget, Categorical, Domain, Numeric, open_table
from frith.curator import Curator
from frith.parties import Keys, LocalParty
from tests.tables import small_domain, small_table

NAMES = ("ada", "bo", "cy", "dee", "eve", "fay")
DOMAIN = small_domain(records=200)


def deal(table: pd.DataFrame, owner: np.ndarray, parties: int) -> dict[str, pd.DataFrame]:
    """Each party's records; some may have none."""
    return {name: table[owner == i] for i, name in enumerate(NAMES[:parties])}


def dealt(parties: int = 3, n: int = 200, seed: int = 0) -> dict[str, pd.DataFrame]:
    owner = np.random.default_rng(seed).integers(0, parties, n)
    return deal(small_table(n), owner, parties)


def curators(tables: dict[str, pd.DataFrame], epsilon="inf", delta=0, domain=DOMAIN):
    budget = Budget.of(epsilon, delta)
    return {name: Curator(open_table(t, domain), budget) for name, t in tables.items()}


def pooled(tables: dict[str, pd.DataFrame], epsilon="inf", delta=0, domain=DOMAIN) -> Curator:
    table = pd.concat(list(tables.values()))
    return Curator(open_table(table, domain), Budget.of(epsilon, delta))


def keyring(names=NAMES[:3]) -> dict[str, Keys]:
    """Keys of parties that know each other's."""
    keys = {name: Keys.new(name) for name in names}
    public = {name: key.public for name, key in keys.items()}
    return {name: key.knowing(public) for name, key in keys.items()}


def secure_parties(tables: dict[str, pd.DataFrame], epsilon="inf", delta=0, domain=DOMAIN):
    keys = keyring(tables)
    made = curators(tables, epsilon, delta, domain)
    return {name: LocalParty(curator, keys[name]) for name, curator in made.items()}


def many_labels(records: int = 300) -> tuple[pd.DataFrame, Domain]:
    """Three labels and numbers, where the flagship chooses a sign for every label."""
    rng = np.random.default_rng(3)
    table = pd.DataFrame({"x": rng.uniform(0, 1, records), "y": rng.uniform(0, 1, records),
                          "z": rng.choice(["a", "b"], records)})  # fmt: skip
    table["kind"] = np.where(table.x > 0.6, "hot", np.where(table.y > 0.5, "warm", "cold"))
    attributes = [Numeric("x", 0, 1, cells=16), Numeric("y", 0, 1, cells=16),
                  Categorical("z", ("a", "b"))]  # fmt: skip
    return table, Domain(attributes, Categorical("kind", ("cold", "warm", "hot")), records=records)
