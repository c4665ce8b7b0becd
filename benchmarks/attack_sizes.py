"""How large an attack run is, and which cases it has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

EPSILONS = ("0.1", "1", "10", "30")
TABLES = ("adult", "compas", "credit")
RECORDS = 100
"""Records that reconstruction looks for, as published."""

FLAGSHIP, RANDOM, GREEDY = "ForestClassifier", "RandomDecisionForest", "GiniForest"
PEER, SKLEARN, EXACT, BAD = (
    "diffprivlib forest", "scikit-learn forest", "exact counts", "noise of 1/100",
)  # fmt: skip
MEMORIZER = "a memorizer that claims epsilon"
NEARLY_EXACT = "1e6"
"""The flagship's exact limit makes hundreds of steps; this is as good as exact, and quicker."""
OTHERS = ("SignalForest", "ID3", "C45", "InfoGainForest")
BAD_FITS = ("half the noise", "records counted twice", "depth by parity", "seed from records")
OURS = (FLAGSHIP, RANDOM, GREEDY, *OTHERS)


@dataclass(frozen=True)
class Sizes:
    """One run: seeds, seconds of CP-SAT a case, moves of annealing, shadow forests, candidates, neighbors."""

    name: str
    seeds: int
    solver_seconds: float
    moves: int
    shadows: int
    candidates: int
    neighbors: int
    heavier: float = 1.0
    larger: tuple[str, ...] = ()  # sizes at which a case that is there need not be measured again
    epsilons: tuple[str, ...] = EPSILONS
    tables: tuple[str, ...] = TABLES

    def words_for(self, attack: str) -> str:
        """The sizes that matter to an attack."""
        solver = f"{self.solver_seconds:g} s of CP-SAT" if self.solver_seconds else "no CP-SAT"
        by_attack = {
            "reconstruction": f"{self.moves:,} moves of annealing, then {solver}",
            "membership": f"{self.shadows} shadow forests on {self.candidates} candidates",
            "replay": f"{self.neighbors} neighbors",
        }
        return f"{self.name} size ({by_attack[attack]})"

    def quick(self) -> Sizes:
        """One table, one epsilon: to see that it works."""
        return replace(
            self, name="quick", solver_seconds=5, moves=20_000, shadows=4, candidates=80, neighbors=2,
            epsilons=("1",), tables=("compas",),
        )  # fmt: skip


BRIEF = Sizes("brief", 3, 0, 1_000_000, 20, 400, 6, larger=("small", "full"))
SMALL = Sizes("small", 1, 20, 1_000_000, 20, 400, 6, larger=("full",))
FULL = Sizes("full", 3, 600, 10_000_000, 100, 1_000, 24, heavier=5.0)


def _cases(
    sizes: Sizes, seeds: int, systems: dict[str, tuple[str, ...]]
) -> Iterator[dict[str, Any]]:
    for seed in range(seeds):
        for table in sizes.tables:
            for system, epsilons in systems.items():
                for epsilon in epsilons:
                    case = {"table": table, "system": system, "epsilon": epsilon, "seed": seed}
                    yield {"size": sizes.name} | case


def _reconstruction(sizes: Sizes) -> Iterator[dict[str, Any]]:
    every = dict.fromkeys((FLAGSHIP, RANDOM, GREEDY, PEER), sizes.epsilons)
    return _cases(sizes, sizes.seeds, every | {EXACT: ("inf",), BAD: ("0.1", "1")})


def _membership(sizes: Sizes) -> Iterator[dict[str, Any]]:
    every = dict.fromkeys((FLAGSHIP, RANDOM, GREEDY, PEER), sizes.epsilons)
    every |= {f"{RANDOM}, exact": ("inf",)}
    if sizes.name == "full":
        every |= {f"{FLAGSHIP}, hardly any noise": (NEARLY_EXACT,)}
    bad = dict.fromkeys((MEMORIZER, BAD), ("0.1", "1"))
    return _cases(sizes, sizes.seeds, every | {SKLEARN: ("inf",)} | bad)


def _replay(sizes: Sizes) -> Iterator[dict[str, Any]]:
    every = dict.fromkeys((*OURS, PEER), sizes.epsilons)
    return _cases(sizes, 1, every | {SKLEARN: ("1",)} | dict.fromkeys(BAD_FITS, ("1",)))


JOBS: dict[str, Callable[[Sizes], Iterator[dict[str, Any]]]] = {
    "replay": _replay,
    "reconstruction": _reconstruction,
    "membership": _membership,
}
