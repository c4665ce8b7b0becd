"""Other people's private learners on the folds of the scoreboard.

    python benchmarks/scoreboard_peers.py [--repeats 3] [--rows 20000] [--only SETS] [--learners NAMES]

Five settings of diffprivlib's learners (in an environment of its own) and interpret's DP-EBM (two labels
only, delta 1e-6; with the `bench` extra), with their own defaults and everything that the domain makes
public. Rows go to docs/results/scoreboard_peers.csv as they come, so a run resumes where it stopped;
scoreboard.py reads them for its page.
"""

from __future__ import annotations

import argparse
import importlib.util
import itertools
import tempfile
import threading
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any

import common
import numpy as np
import peers
import scoreboard
from scoreboard import EPSILONS, FOLDS, KEYS

from frith._jit import available_threads

FIELDS = (*KEYS, "accuracy", "auc", "log_loss", "seconds")
LEARNERS = (
    "diffprivlib forest", "diffprivlib forest, depth 8", "diffprivlib tree", "diffprivlib naive Bayes",
    "diffprivlib logistic regression", "DP-EBM",
)  # fmt: skip


def wanted(names: list[str], who: list[str], repeats: int) -> list[dict[str, Any]]:
    """Every fit, one repeat after the other; DP-EBM knows two labels only."""
    return [
        {"set": n, "learner": p, "epsilon": e, "repeat": r, "fold": f}
        for r, n, p, f, e in itertools.product(range(repeats), names, who, range(FOLDS), EPSILONS)
        if p != "DP-EBM" or common.load(n)[2].n_labels == 2
    ]


def export(name: str, repeat: int, rows: int, folder: Path) -> None:
    """The rows that the scoreboard takes of a table, each with the fold that tests it."""
    table, folds = peers.as_numbers(name), scoreboard.folds_of(name, repeat, rows)
    fold = np.full(len(table["y"]), -1)
    for number, (_, test) in enumerate(folds):
        fold[test] = number
    kept = fold >= 0
    table |= {"X": table["X"][kept], "y": table["y"][kept], "fold": fold[kept]}
    np.savez(folder / f"{name}, {repeat}.npz", **table)


def measure(jobs: list[dict[str, Any]], folder: Path, path: Path) -> None:
    """All jobs, one a core, each learner where it imports; a fit that fails is left out by name."""
    done = {tuple(row[k] for k in KEYS) for row in common.rows_in(path)}
    queue: SimpleQueue[dict[str, Any]] = SimpleQueue()
    for job in jobs:
        if tuple(str(job[k]) for k in KEYS) not in done:
            queue.put(job)
    print(f"{len(jobs)} fits, {queue.qsize()} of them left", flush=True)
    lock = threading.Lock()

    def work() -> None:
        workers: dict[Path, Any] = {}
        while True:
            try:
                job = queue.get_nowait()
            except Empty:
                break
            row = peers.ask(workers, job | {"set": f"{job['set']}, {job['repeat']}"}, folder)
            with lock:
                if row.get("accuracy") is None:
                    print("failed:", *job.values(), flush=True)
                else:
                    kept = {name: row[name] for name in FIELDS} | {"set": job["set"]}
                    common.append_row(path, kept, FIELDS)
        for worker in workers.values():
            worker.stdin.close()

    peers.own_python()
    threads = [threading.Thread(target=work) for _ in range(available_threads())]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--only", help="names of tables, with commas; or tuned, or checked")
    arguments.add_argument("--learners", help="names, with semicolons")
    arguments.add_argument(
        "--out", type=Path, default=common.RESULTS, help="folder for the results"
    )
    options = arguments.parse_args()
    who = options.learners.split(";") if options.learners else list(LEARNERS)
    if importlib.util.find_spec("interpret") is None:
        print("DP-EBM is left out: it needs the bench extra")
        who = [name for name in who if name != "DP-EBM"]
    names = sorted(scoreboard.tables(options.only), key=common.cost)
    with tempfile.TemporaryDirectory() as folder:
        for name, repeat in itertools.product(names, range(options.repeats)):
            export(name, repeat, options.rows, Path(folder))
        jobs = wanted(names, who, options.repeats)
        measure(jobs, Path(folder), options.out / "scoreboard_peers.csv")


if __name__ == "__main__":
    main()
