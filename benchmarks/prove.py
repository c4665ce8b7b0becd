"""Run every claim of the project at full size and write the dated report docs/measured.md.

A step that passed for the same source is not run again, so an interrupted run resumes, on another
machine too: docs/results/proved.json has every outcome. A step passes when its command ends with exit code
0. Rows that a command would keep from an earlier source are removed first, so that none is told as new.

    python benchmarks/prove.py [--fresh | --report] [STEP ...]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
REPORT = ROOT / "docs" / "measured.md"
OUTCOMES = ROOT / "docs" / "results" / "proved.json"
PACKAGES = ("numpy", "numba", "pyarrow", "pandas", "scikit-learn", "opendp", "dp-accounting")


@dataclass(frozen=True)
class Step:
    """One command and what it shows."""

    name: str
    claim: str
    command: tuple[str, ...]
    results: str = ""
    parts: tuple[str, ...] = ()  # files beside the command's own that it is made of
    rows: tuple[str, ...] = ()  # of docs/results, which the command resumes


PYTHON = sys.executable
STEPS = (
    Step(
        "fresh-clone",
        "In a fresh clone, `make demo` and `make test` set everything up and pass.",
        ("bash", str(ROOT / "benchmarks" / "fresh_clone.sh")),
    ),
    Step(
        "tests",
        "All tests pass with many times the random examples: exact sums against naive loops for every "
        "engine, batching and order; noise against its law; replay for records and persons.",
        (PYTHON, "-m", "pytest", "-n", "2", "--dist", "loadgroup"),
    ),
    Step(
        "server",
        "The private database at full size: 64 clients and one budget on both databases, 100 rounds of "
        "`kill -9` on SQLite and of two replicas on PostgreSQL, a full disk, a PostgreSQL restart, a restore "
        "to a point in time, a rolling upgrade, attacks, schemathesis, two servers one record apart, and the "
        "pages in a real browser.",
        (
            PYTHON,
            "-m",
            "pytest",
            "-n",
            "2",
            "--dist",
            "loadgroup",
            "tests/server",
            "tests/browser",
            "tests/ledger",
        ),
    ),
    Step(
        "server-load",
        "A run on a budget, quotes a second, and pages while eight jobs train.",
        (PYTHON, "benchmarks/server_load.py"),
        "results/server.md",
    ),
    Step(
        "server-against",
        "Quotes a second and pages while jobs train, beside an earlier source, and with a history of 100,000 "
        "jobs and 400,000 entries of the ledger.",
        (PYTHON, "benchmarks/server_against.py"),
        "results/server_against.md",
    ),
    Step(
        "server-exhaustion",
        "20 minutes of attacks at 10 requests a second: no 5xx, at most 300 MB more memory, others' 95th "
        "percentile under 500 ms.",
        (PYTHON, "benchmarks/server_exhaustion.py"),
        "results/server_exhaustion.md",
    ),
    Step(
        "server-timing",
        "Two tables one record apart, 200 jobs: nothing that analysts can time tells them apart.",
        (PYTHON, "benchmarks/server_timing.py"),
        "results/server_timing.md",
    ),
    Step(
        "hostile",
        "100,000 mutated questions and 50,000 mutated forests: each refused with a clear error, or answered "
        "within the sensitivity it was charged for; no hang, no crash, no access outside an array.",
        (PYTHON, "-m", "pytest", "-n", "2", "tests/kernels/test_hostile.py"),
    ),
    Step(
        "audit",
        "Every learner on every rung at full size, and every known flaw flagged, its sound twin not.",
        (PYTHON, "benchmarks/audit.py", "--full"),
        "audit.md",
    ),
    Step(
        "audit-diffprivlib",
        "A forest that is not ours under the same audit: a demonstration.",
        (PYTHON, "benchmarks/audit_diffprivlib.py"),
        "results/audit_diffprivlib.md",
    ),
    Step(
        "attacks",
        "Other people's attacks: no forest of ours gives away more than its epsilon allows, and forests "
        "that are bad on purpose do.",
        (PYTHON, "benchmarks/attacks.py", "--full"),
        "results/attacks.md",
        tuple(
            f"benchmarks/attack_{part}.py"
            for part in (
                "reconstruction",
                "solver",
                "membership",
                "replay",
                "forests",
                "cases",
                "bounds",
            )
        ),
        rows=(
            "attacks_reconstruction.csv",
            "attacks_membership.csv",
            "attacks_replay.csv",
        ),
    ),
    Step(
        "private-scores",
        "Intervals of AUC, log loss, calibration and rates in groups hold the exact value as often as they "
        "say: 500 runs on 6 tables at two epsilons.",
        (PYTHON, "benchmarks/private_scores.py"),
        "results/private_scores.md",
    ),
    Step(
        "selection",
        "What a private search finds beside the best candidate and beside the flagship, budgets equal.",
        (PYTHON, "benchmarks/selection.py", "--folds", "10"),
        "results/selection.md",
    ),
    Step(
        "prediction-sets",
        "Prediction sets hold the label of new records as often as they say, on 20 tables.",
        (PYTHON, "benchmarks/prediction_sets.py", "--folds", "10"),
        "results/prediction_sets.md",
    ),
    Step(
        "private-domains",
        "What domains that are paid for cover of each column, and what they cost the flagship.",
        (PYTHON, "benchmarks/private_domains.py"),
        "results/private_domains.md",
        rows=("private_domains.csv",),
    ),
    Step(
        "draws",
        "A hundred million draws of noise and a million choices against each law; speeds beside OpenDP's.",
        (PYTHON, "benchmarks/draws.py"),
        "results/draws.md",
    ),
    Step(
        "noise",
        "What drawing noise takes of every learner's fit, on every table.",
        (PYTHON, "benchmarks/noise.py"),
        "results/noise.md",
    ),
    Step(
        "mutants",
        "The privacy code broken in hundreds of small ways: which test noticed, and why some did not.",
        (PYTHON, "benchmarks/mutants.py"),
        "results/mutants.md",
    ),
    Step(
        "mutants-learners",
        "The learners of the papers broken in hundreds of small ways, every equation by hand among them.",
        (PYTHON, "benchmarks/mutants.py", "--set", "learners"),
        "results/mutants_learners.md",
    ),
    Step(
        "rdt-accuracy",
        "Private-RDT on nursery and mushroom at the paper's eleven epsilons, beside the exact forest.",
        (PYTHON, "benchmarks/rdt_accuracy.py"),
        "results/rdt_accuracy.md",
    ),
    Step(
        "rdt-updates",
        "Private-RDT with 1 to 10 batches at epsilon 0.5: how accuracy falls as updates add noise.",
        (PYTHON, "benchmarks/rdt_updates.py"),
        "results/rdt_updates.md",
    ),
    Step(
        "parties",
        "Forests of 2 to 10 parties beside those of one curator: open and secure sums, vertical parts.",
        (PYTHON, "benchmarks/parties.py"),
        "results/parties.md",
    ),
    Step(
        "papers",
        "The papers' tables again, in sound and published form, and which of their claims hold.",
        (PYTHON, "benchmarks/papers.py"),
        "results/papers.md",
        tuple(f"benchmarks/papers_{part}.py" for part in ("common", "dp_rf", "dpdf", "c45", "id3")),
    ),
    Step(
        "papers-spark",
        "C4.5 as the map-reduce job of its paper: without noise the tree of memory, with noise its accuracy.",
        (PYTHON, "benchmarks/papers_c45_spark.py"),
        "results/papers_c45_spark.md",
    ),
    Step(
        "accuracy",
        "The flagship against every private tree learner one can install, at six budgets.",
        (PYTHON, "benchmarks/accuracy.py"),
        "results/accuracy.md",
        rows=("accuracy.csv",),
    ),
    Step(
        "peers",
        "All our learners and other people's on the same folds of at least 20 sets, at six budgets.",
        (PYTHON, "benchmarks/peers.py"),
        "results/peers.md",
        rows=("peers.csv",),
    ),
    Step(
        "scoreboard",
        "The flagship on all 73 classification tables at eight budgets, tuned and checked halves apart, "
        "beside our other learners on the same folds.",
        (PYTHON, "benchmarks/scoreboard.py", "--rows", "10000", "--repeats", "3", "--others"),
        "results/scoreboard.md",
        rows=("scoreboard.csv",),
    ),
    Step(
        "scoreboard-peers",
        "Other people's learners on the folds of the scoreboard.",
        (PYTHON, "benchmarks/scoreboard_peers.py", "--rows", "10000", "--repeats", "1"),
        "results/scoreboard.md",
        ("benchmarks/peer_worker.py",),
        rows=("scoreboard_peers.csv",),
    ),
    Step(
        "public-priors",
        "What a public prior is worth on pairs of tables, and that a misleading one costs little.",
        (PYTHON, "benchmarks/public_priors.py"),
        "results/public_priors.md",
        rows=("public_priors.csv",),
    ),
    Step(
        "published",
        "AUC of adult and spambase at tiny budgets, beside what S-BDT published.",
        (PYTHON, "benchmarks/published.py"),
        "results/published.md",
        rows=("published.csv",),
    ),
    Step(
        "explanations",
        "Every interval that a rule, a count or a score prints holds the training table's value as often as "
        "it says, for every learner; what counted rules cost.",
        (PYTHON, "benchmarks/explanations.py", "--resume"),
        "results/explanations.md",
        rows=(
            "explanations_rules.csv",
            "explanations_intervals.csv",
        ),
    ),
    Step(
        "flagship-speed",
        "A million records of 20 numbers: CPU time against DP-EBM, and memory a cell.",
        (PYTHON, "benchmarks/flagship_speed.py"),
        "results/flagship_speed.md",
    ),
    Step(
        "regression",
        "R2 on 16 tables, tuned and checked halves apart, beside a private mean and gradient boosting.",
        (PYTHON, "benchmarks/regression.py"),
        "results/regression.md",
        rows=("regression.csv",),
    ),
    Step(
        "regression-intervals",
        "Prediction intervals hold new targets as often as they say, and quantiles are where they should be.",
        (PYTHON, "benchmarks/regression_intervals.py"),
        "results/regression_intervals.md",
        rows=("regression_intervals.csv",),
    ),
    Step(
        "regression-log",
        "What a log scale of the label changes on tables with skewed targets.",
        (PYTHON, "benchmarks/regression_log.py"),
        "results/regression_log.md",
        rows=("regression_log.csv",),
    ),
    Step(
        "levels",
        "A greedy level in one pass: record-levels a second, and a fit against scikit-learn's tree.",
        (PYTHON, "benchmarks/levels.py"),
        "results/levels.md",
    ),
    Step(
        "scale",
        "Time and peak memory against records for every engine; 50 million from files under 1 GB.",
        (PYTHON, "benchmarks/scale.py"),
        "results/scale.md",
    ),
    Step(
        "spark-cluster",
        "A two-worker Spark cluster on 20 million records: exact sums, only sums travel.",
        (PYTHON, "benchmarks/spark_cluster.py"),
        "results/spark.md",
    ),
    Step(
        "warehouse",
        "A pass over PostgreSQL, Spark and DuckDB beside the bare stream of packed codes.",
        (PYTHON, "benchmarks/warehouse.py"),
        "results/warehouse.md",
    ),
    Step(
        "cores",
        "One thread and all threads, and scikit-learn's boosting, in turns.",
        (PYTHON, "benchmarks/cores.py"),
        "results/cores.md",
    ),
    Step(
        "speed",
        "Records a second, memory and noise against their limits, and against scikit-learn's forest.",
        (PYTHON, "benchmarks/speed.py"),
        "results/speed.md",
    ),
)


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("steps", nargs="*", choices=[[], *(s.name for s in STEPS)])
    arguments.add_argument("--fresh", action="store_true", help="run passed steps again")
    arguments.add_argument("--report", action="store_true", help="only write the report")
    options = arguments.parse_args()
    wanted = [s for s in STEPS if not options.steps or s.name in options.steps]
    todo = [s for s in wanted if not options.report and (options.fresh or not passed(s))]
    if todo:
        print(plan(todo), flush=True)
    for step in todo:
        run(step)
    REPORT.write_text(report(), encoding="utf-8")
    print(f"wrote {REPORT.relative_to(ROOT)}")
    return 0 if all(map(passed, wanted)) else 1


def plan(todo: list[Step]) -> str:
    """How long the steps took when they last ran, added up."""
    known = {s.name: outcome_of(s)["seconds"] for s in todo if outcome_of(s)}
    hours = sum(known.values()) / 3600
    unknown = [s.name for s in todo if s.name not in known]
    text = f"{len(todo)} of {len(STEPS)} steps to run: about {hours:.1f} hours by their last runs"
    return text + (f"; not timed yet: {', '.join(unknown)}" if unknown else "")


def run(step: Step) -> None:
    print(f"== {step.name}: {step.claim}", flush=True)
    source, start = source_hash(step), time.monotonic()
    if outcome_of(step).get("source") != source:
        for name in step.rows:
            (OUTCOMES.parent / name).unlink(missing_ok=True)
        keep(step, {"source": source, "ok": None, "seconds": 0})  # begun: rows are of this source
    environment = os.environ | {"FRITH_FULL": "1"}
    code = subprocess.run(step.command, cwd=ROOT, env=environment, check=False).returncode
    seconds = round(time.monotonic() - start)
    keep(step, {"source": source, "ok": code == 0, "seconds": seconds})
    print(f"== {step.name}: {'passed' if code == 0 else 'FAILED'} in {seconds} s", flush=True)


def outcomes() -> dict[str, dict[str, Any]]:
    return json.loads(OUTCOMES.read_text()) if OUTCOMES.exists() else {}


def keep(step: Step, outcome: dict[str, Any]) -> None:
    """Write an outcome down, with its day and commit; time adds up over interrupted runs."""
    known, before = outcomes(), outcome_of(step)
    if before.get("source") == outcome["source"] and not before.get("ok"):
        outcome["seconds"] += before["seconds"]
    day, commit = f"{datetime.now(UTC):%Y-%m-%d}", _git("rev-parse", "--short", "HEAD")
    known[step.name] = outcome | {"day": day, "commit": commit}
    OUTCOMES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def outcome_of(step: Step) -> dict[str, Any]:
    return outcomes().get(step.name, {})


def passed(step: Step) -> bool:
    outcome = outcome_of(step)
    return bool(outcome.get("ok")) and outcome["source"] == source_hash(step)


def word_of(step: Step) -> str:
    """The outcome in words; where the source has changed since, that too."""
    outcome = outcome_of(step)
    if not outcome:
        return "not run"
    word = {True: "passed", False: "**failed**", None: "begun"}[outcome["ok"]]
    return word if outcome["source"] == source_hash(step) else f"{word} (earlier source)"


def source_hash(step: Step) -> str:
    """A hash of what the step runs, as committed; uncommitted changes differ from every commit."""
    script = step.command[1] if step.command[1].startswith("benchmarks/") else "tests"
    inputs = ("src", script, *step.parts)
    found = [_git("rev-parse", f"HEAD:{path}")[:12] for path in inputs]
    changed = _git("status", "--porcelain", *inputs)
    return " ".join(found) + (" (with uncommitted changes)" if changed else "")


def report() -> str:
    lines = [
        "# What was measured, and when",
        "",
        "Written by `make prove`, which runs every claim at full size. Figures in the other pages come from "
        "the result files named here. *Earlier source* is said where what a step runs has changed since: "
        "its figures are of the commit beside it.",
        "",
        f"- machine: {os.cpu_count()} cores, Python {platform.python_version()}",
        f"- versions: {', '.join(f'{p} {version(p)}' for p in PACKAGES)}",
        "",
        "| step | claim | outcome | day, commit | seconds | figures |",
        "|---|---|---|---|---|---|",
    ]
    for step in STEPS:
        outcome = outcome_of(step)
        when = f"{outcome['day']}, {outcome['commit']}" if outcome else ""
        has_page = step.results and (REPORT.parent / step.results).exists()
        figures = f"[{Path(step.results).stem}]({step.results})" if has_page else ""
        seconds = outcome.get("seconds", "")
        lines.append(
            f"| {step.name} | {step.claim} | {word_of(step)} | {when} | {seconds} | {figures} |"
        )
    return "\n".join(lines) + "\n"


def _git(*arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=True)
    return done.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
