"""How much work each rung does: in every test run, and in the proof run."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """The sizes of the rungs.

    draws       draws from each noise source, compared with its law
    worlds      random pairs to replay
    tables      small tables whose output laws are compared
    paths       the most choices to enumerate for one subject
    runs        about how often a subject runs along its paths, for one kind of small table
    pairs       pairs of hard neighbors to fit
    fits        fits on each of two neighbors
    canaries    records that a coin puts into the table or not
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
