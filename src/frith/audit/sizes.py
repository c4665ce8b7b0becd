"""How much work each rung does: in every test run, and in the proof run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The sizes of the rungs.

    draws       of each noise source, against its law
    worlds      random pairs that are replayed
    tables      small tables whose output laws are compared
    paths       the most choices that are enumerated for one subject
    fits        of each of two neighbors
    canaries    records that are in the table or not by a coin
    """

    name: str
    draws: int
    worlds: int
    tables: int
    paths: int
    fits: int
    canaries: int


QUICK = Size("quick", draws=3_000, worlds=6, tables=24, paths=60, fits=200, canaries=200)
FULL = Size("full", draws=100_000, worlds=300, tables=150, paths=600, fits=5_000, canaries=2_000)
