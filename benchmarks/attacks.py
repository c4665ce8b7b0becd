"""What attackers get: other people's attacks on our forests, on diffprivlib's and on scikit-learn's.

    make attack                                # a small run, in an hour or so; it resumes
    python benchmarks/attacks.py --full        # ten minutes of CP-SAT a case, three seeds
    python benchmarks/attacks.py --brief       # without CP-SAT: annealing alone
    python benchmarks/attacks.py --only reconstruction,replay
    python benchmarks/attacks.py --report

Three attacks, a file each: the most likely table behind a forest (attack_reconstruction.py), membership by
SACRO-ML (attack_membership.py), record and replay by another hand (attack_replay.py). All run in `.attacks`,
an environment of its own. Forests that are bad on purpose are attacked too: where an attack does not light up
on them, its silence elsewhere says nothing. Rows go to docs/results/attacks_*.csv as they come, so a run that
was cut off resumes; the page is docs/results/attacks.md. Ends with exit code 1 if an attack got more out of a
forest of ours than its epsilon allows, or if a bad forest went unnoticed.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from attack_page import bad_unnoticed, summary, too_much, write_page
from attack_sizes import BRIEF, FULL, JOBS, SMALL, Sizes
from common import RESULTS, write_between

ROOT = Path(__file__).resolve().parents[1]
OWN = ROOT / ".attacks"
GUIDE = ROOT / "docs" / "guide" / "what-attackers-get.md"
PINNED = ("sacroml==2.0.1", "ortools>=9.15", "diffprivlib==0.6.6", "scikit-learn<1.9")


def own_python() -> Path:
    """The interpreter of an environment that has the attacks, this checkout and diffprivlib; made once."""
    python = OWN / "bin" / "python"
    if not (OWN / ".ready").exists():
        print(
            f"setting up {OWN.name} for {', '.join(PINNED)} (once; gigabytes, as sacroml needs torch)"
        )
        venv.create(OWN, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*install, "--editable", f"{ROOT}[data,plot]", *PINNED], check=True)
        (OWN / ".ready").touch()
    return python


# -- jobs --------------------------------------------------------------------------------------


def reconstruct(job: dict[str, Any], sizes: Sizes) -> dict[str, Any]:
    from attack_cases import reconstruction

    return reconstruction(job, sizes)


def infer_members(job: dict[str, Any], sizes: Sizes) -> dict[str, Any]:
    from attack_membership import attack

    most = {"candidates": sizes.candidates, "shadows": sizes.shadows}
    epsilon = float(job["epsilon"])
    return attack(job["system"], job["table"], epsilon, int(job["seed"]), most)


def replay_fits(job: dict[str, Any], sizes: Sizes) -> dict[str, Any]:
    from attack_cases import replays

    return replays(job, sizes)


WORK: dict[str, Callable[[dict[str, Any], Sizes], dict[str, Any]]] = {
    "replay": replay_fits,
    "reconstruction": reconstruct,
    "membership": infer_members,
}
USUAL = {"replay": 10.0, "reconstruction": 30.0, "membership": 60.0}
"""Seconds a case that has not been timed yet, beside what CP-SAT is given."""


def run(attack: str, sizes: Sizes, out: Path, limit: float) -> None:
    """Every case of an attack that has no row yet, one after another, until `limit` on the clock."""
    path = out / f"attacks_{attack}.csv"
    rows = read(path)
    known = {_key(row) for row in rows}
    for job in JOBS[attack](sizes):
        if _is_known(job, sizes, known):
            continue
        if time.monotonic() > limit:
            print(f"{attack}: out of time; the next run goes on")
            return
        start = time.monotonic()
        found = WORK[attack](job, sizes)
        rows.append(job | found | {"took": round(time.monotonic() - start, 1)})
        write(path, rows)
        print(f"{attack}: {', '.join(map(str, job.values()))}, {rows[-1]['took']} s", flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    if not path.is_file():
        return []
    return pd.read_csv(path, dtype={"epsilon": str}, keep_default_na=False).to_dict("records")


def write(path: Path, rows: list[dict[str, Any]]) -> None:
    """Through a second file, so that a run cut off leaves a whole one."""
    draft = path.with_suffix(".part")
    pd.DataFrame(rows).to_csv(draft, index=False)
    draft.replace(path)


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[k]) for k in ("size", "table", "system", "epsilon", "seed"))


def _is_known(job: dict[str, Any], sizes: Sizes, known: set[tuple[str, ...]]) -> bool:
    """Whether a case has a row, of this size or of a larger one."""
    return any(_key(job | {"size": size}) in known for size in (sizes.name, *sizes.larger))


def plan(attacks: list[str], sizes: Sizes, out: Path) -> str:
    """How many cases are missing, and about how many hours they take."""
    seconds, cases = 0.0, 0
    for attack in attacks:
        rows = read(out / f"attacks_{attack}.csv")
        known = {_key(row) for row in rows}
        timed = [float(r["took"]) for r in rows if r["size"] == sizes.name]
        missing = [job for job in JOBS[attack](sizes) if not _is_known(job, sizes, known)]
        each = sum(timed) / len(timed) if timed else USUAL[attack] * sizes.heavier
        if attack == "reconstruction" and not timed:
            each += sizes.solver_seconds / 2  # half of the cases have counts to solve
        cases, seconds = cases + len(missing), seconds + each * len(missing)
    words = "; ".join(f"{attack} at {sizes.words_for(attack)}" for attack in attacks)
    return f"{cases} cases to run, about {seconds / 3600:.1f} hours: {words}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="as published; many hours")
    parser.add_argument("--brief", action="store_true", help="small, without CP-SAT")
    parser.add_argument("--only", help="some attacks, with commas between them")
    parser.add_argument(
        "--quick", action="store_true", help="one small case each, results elsewhere"
    )
    parser.add_argument("--minutes", type=float, default=math.inf, help="begin no case after that")
    parser.add_argument("--report", action="store_true", help="only write the page again")
    options = parser.parse_args()
    out = Path(tempfile.gettempdir()) / "frith-quick" if options.quick else RESULTS
    out.mkdir(parents=True, exist_ok=True)
    sizes = FULL if options.full else BRIEF if options.brief else SMALL
    if options.quick:
        sizes = sizes.quick()
    attacks = options.only.split(",") if options.only else list(WORK)
    if not options.report:
        if Path(sys.prefix).resolve() != OWN.resolve() and not _has_all():
            return subprocess.run([own_python(), *sys.argv], check=False).returncode
        print(plan(attacks, sizes, out), flush=True)
        for attack in attacks:
            run(attack, sizes, out, time.monotonic() + 60 * options.minutes)
    found = {attack: pd.DataFrame(read(out / f"attacks_{attack}.csv")) for attack in WORK}
    print(f"wrote {write_page(found, out)}")
    if not options.quick:
        write_between(GUIDE, "attacks", summary(found))
    wrong = too_much(found) + bad_unnoticed(found)
    for line in wrong:
        print(line)
    return 1 if wrong else 0


def _has_all() -> bool:
    try:
        import diffprivlib  # noqa: F401
        import ortools  # noqa: F401
        import sacroml  # noqa: F401
    except ImportError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())
