"""An installed diffprivlib forest under the black-box audit, and simpler looks at it.

    python benchmarks/audit_diffprivlib.py [--quick] [--python PATH] [--report]

A demonstration that the audit also works on a forest that is not ours. The fits are made by
audit_diffprivlib_worker.py in an environment of its own (see peers.py), or in the one of --python; the
judging is ours: the best event on one half of the fits, its Clopper-Pearson bound on the other. Writes
audit_diffprivlib.json and .md to docs/results, with what this run saw and nothing else. Ends with exit
code 0 when the run finished, whatever it saw, and with 1 when the worker failed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from audit_diffprivlib_page import page
from common import RESULTS

from frith.audit.black_box import CONFIDENCE, FALSE_FAILURE
from frith.audit.events import epsilon_bound, lower_bound

WORKER = Path(__file__).with_name("audit_diffprivlib_worker.py")
Table = list[tuple[float, int]]
Ask = Callable[[dict[str, Any]], Any]


# -- neighbors ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Neighbors:
    """Two tables one record apart, the forest that is fitted on both, and what is looked at."""

    name: str
    words: str
    tables: tuple[Table, Table]
    trees: int = 1
    depth: int = 5
    rebuild: bool = False

    @property
    def names(self) -> list[str]:
        """Of the outcomes: every tree's label at both ends, and the tables that make it again."""
        told = [f"label of tree {t} at {x}" for t in range(self.trees) for x in (0, 1)]
        return told + ["made again with the record", "made again without it"] * self.rebuild


# Ten trees of ten rows each, when rows are dealt in order; the first row of each is alone at 1.
DEALT: Table = [(1.0, i // 10 % 2) if i % 10 == 0 else (0.0, 0) for i in range(100)]
FEW: Table = [(0.0, 0), (0.0, 0), (0.0, 1), (1.0, 1)]

PAIRS = (
    Neighbors(
        "first row removed", "100 records, every tenth at 1 with labels in turn; 10 trees of depth 1",
        (DEALT, DEALT[1:]), 10, 1,
    ),
    Neighbors("last row removed", "the same, without the last", (DEALT, DEALT[:-1]), 10, 1),
    Neighbors(
        "one label replaced", "two records, labels 0 and 0 or 0 and 1; one tree",
        ([(1.0, 0), (1.0, 0)], [(1.0, 0), (1.0, 1)]),
    ),
    Neighbors(
        "lone record removed", "4 records, the last alone at 1; one tree, its labels",
        (FEW, FEW[:-1]),
    ),
    Neighbors(
        "lone record removed, seed used",
        "the same; labels, and whether the tree's seed makes the tree again on either table",
        (FEW, FEW[:-1]), rebuild=True,
    ),
)  # fmt: skip


def judge(pair: Neighbors, sides: Any, claim: float) -> dict[str, Any]:
    """The bound that is reported, and whether the surer one is over the claim; all pairs share the error."""
    first, second = (np.array(side, dtype=np.float64) for side in sides)
    errors = ((1 - CONFIDENCE) / len(PAIRS), FALSE_FAILURE / len(PAIRS))
    shown, sure = (lower_bound(first, second, 0.0, 1 - e, pair.names) for e in errors)
    half = len(first) // 2
    return {
        "neighbors": pair.name, "words": pair.words, "fits": len(first), "event": shown.event,
        "epsilon": shown.epsilon, "over": sure.epsilon > claim,
        "most": epsilon_bound(half, half, 0, half, 0.0, 1 - errors[0]),
    }  # fmt: skip


# -- the run -----------------------------------------------------------------------------------


def run(ask: Ask, fits: int) -> dict[str, Any]:
    """Every check, by asking the worker."""
    found = {"about": ask({"check": "about"})}
    found["seeds"] = ask({"check": "seeds", "most": 3, "models": 20, "seeds": 10_000})
    found["moves"] = ask({"check": "moves", "rows": [10, 100, 1_000]})
    found["spending"] = ask({"check": "spending"})
    found["undeclared"] = ask({"check": "undeclared", "names": [[0, 1], [1, 2], ["a", "b"]]})
    found["bounds"] = []
    for pair in PAIRS:
        job = {"check": "fits", "tables": pair.tables, "trees": pair.trees, "depth": pair.depth}
        runs = (
            3 * fits if pair.trees == 1 else fits
        )  # one tree is quick, and tells little at a time
        sides = ask(job | {"rebuild": pair.rebuild, "fits": runs})
        found["bounds"].append(judge(pair, sides, found["about"]["epsilon"]))
    return found


def ask_by(worker: subprocess.Popen[str]) -> Ask:
    def ask(job: dict[str, Any]) -> Any:
        print(job["check"], flush=True)
        worker.stdin.write(json.dumps(job) + "\n")  # type: ignore[union-attr]
        worker.stdin.flush()  # type: ignore[union-attr]
        line = worker.stdout.readline()  # type: ignore[union-attr]
        if not line:
            raise BrokenPipeError(f"the worker ended in the check {job['check']!r}")
        return json.loads(line)

    return ask


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few fits, results elsewhere")
    parser.add_argument("--python", type=Path, help="an interpreter that has diffprivlib")
    parser.add_argument("--report", action="store_true", help="only write the page again")
    options = parser.parse_args()
    out = Path(tempfile.gettempdir()) / "frith-quick" if options.quick else RESULTS
    out.mkdir(parents=True, exist_ok=True)
    path = out / "audit_diffprivlib.json"
    if not options.report:
        try:
            found = _asked(options.python, 60 if options.quick else 1_000)
        except (OSError, subprocess.CalledProcessError) as failure:
            print(f"the run did not finish: {failure}", file=sys.stderr)
            return 1
        path.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    text = page(json.loads(path.read_text(encoding="utf-8")))
    path.with_suffix(".md").write_text(text, encoding="utf-8")
    print(f"wrote {path.with_suffix('.md')}")
    return 0


def _asked(python: Path | None, fits: int) -> dict[str, Any]:
    if python is None:
        from peers import own_python  # which sets up an environment, where there is none

        python = own_python()
    pipe = subprocess.PIPE
    with subprocess.Popen([python, WORKER], stdin=pipe, stdout=pipe, text=True) as worker:
        return run(ask_by(worker), fits)


if __name__ == "__main__":
    sys.exit(main())
