"""Where records live: engines give exact sums over one table, and nothing else."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from frith.domain import Domain
from frith.engines.base import Engine
from frith.engines.files import FileEngine
from frith.engines.memory import MemoryEngine

__all__ = ["Engine", "FileEngine", "MemoryEngine", "open_table"]


def open_table(source: Any, domain: Domain, y: Any = None, *, threads: int | None = None) -> Engine:
    """Open a DataFrame, an Arrow table, an array, or a path to Parquet, CSV or Feather files.

    Names and types of the columns are checked here; no record is read before a curator asks.
    """
    if isinstance(source, Engine):
        return source
    if isinstance(source, str | Path):
        return FileEngine(source, domain, threads)
    return MemoryEngine(source, domain, y, threads)
