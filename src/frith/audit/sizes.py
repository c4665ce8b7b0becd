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
    runs        of a subject along its paths, about, for one kind of small table
    pairs       of hard neighbors that are fitted
    fits        of each of two neighbors
    canaries    records that are in the table or not by a coin
    """

    name: str
    draws: int
    worlds: int
    tables: int
    paths: int
    runs: int
    pairs: int
    fits: int
    canaries: int


QUICK = Size(
    "quick", draws=1_000, worlds=6, tables=16, paths=40, runs=30, pairs=2, fits=120, canaries=800
)
FULL = Size(
    "full",
    draws=20_000,
    worlds=200,
    tables=60,
    paths=600,
    runs=400,
    pairs=7,
    fits=1_200,
    canaries=2_000,
)
