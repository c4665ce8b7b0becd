"""Public tables with their domains, for examples, tests and benchmarks.

A table comes from the folder that the environment variable FRITH_DATA names, else from a folder
`shared/data` beside a source checkout, else from a package that carries it.
"""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from frith.datasets import carried, folder
from frith.domain import Domain

__all__ = ["load", "names", "origin"]


def names() -> list[str]:
    """The names of the tables that can be loaded on this machine."""
    return sorted({*folder.names(), *carried.names()})


def origin(name: str) -> str:
    """Where `load(name)` gets a table: from a folder, from a package, or generated."""
    path = folder.find(name)
    return str(Path(path).parent) if path else carried.origin(name)


def load(name: str) -> tuple[pd.DataFrame, pd.Series, Domain]:
    """The attributes, the labels and the public domain of a table.

    >>> X, y, domain = load("tic_tac_toe")
    >>> len(X), sorted(set(y))
    (958, ['negative', 'positive'])
    """
    path = folder.find(name)
    table, domain = folder.read(path) if path else carried.read(name)
    return table[list(domain.names)], table[domain.label.name], domain
