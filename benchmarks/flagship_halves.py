"""The flagship before and after, on two halves of the tables: one tuned on, one only checked.

    python benchmarks/flagship_halves.py COMMIT [--two] [--splits 3] [--only SETS] [--report] [--out FOLDER]

A table is in the tuned half if the SHA-256 of its name is even, else in the checked one. Both
sources, that of COMMIT and this one, learn the same training rows in turns, each in a process of
its own, and are scored on the same test rows: 80% and 20% of at most 20,000 rows, stratified.
Tables of more than two labels go to docs/results/flagship_halves.csv; with --two those of two
labels go to flagship_halves_two.csv. Rows are written as they come, so a run resumes where it stopped.
"""

from __future__ import annotations

import argparse
import hashlib
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
PEERS = ROOT / "benchmarks" / "peers_accuracy.csv"
EPSILONS = ("0.05", "0.25", "1")
MOST_ROWS = 20_000
SOURCES = ("before", "after")
KEYS = ("set", "epsilon", "split", "source")
FIELDS = (*KEYS, "labels", "records", "majority", "accuracy", "auc", "log_loss", "seconds")
ROOMS = {False: (0, 5, 30, 120, np.inf), True: (0, 10, 50, 350, 2_000, np.inf)}
"""Records times epsilon a label, about where the flagship changes its ways; and for two labels."""
SECONDS_A_FIT = 1.2


def half_of(name: str) -> str:
    """The published rule: by the parity of the hash of the table's name."""
    return "checked" if int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2 else "tuned"


# -- a worker: one source, one fit after another -----------------------------------------------


def work() -> None:
    """Answer jobs, one JSON line each."""
    for line in sys.stdin:
        print(json.dumps(fit(json.loads(line))), flush=True)


def fit(job: dict[str, Any]) -> dict[str, Any]:
    from dataclasses import replace

    from sklearn.metrics import log_loss, roc_auc_score
    from sklearn.model_selection import train_test_split

    from frith import ForestClassifier

    X, y, domain = common.load(job["set"])
    rows = np.random.default_rng(job["split"]).permutation(len(X))[:MOST_ROWS]
    labels = y.iloc[rows]
    stratify = labels if labels.value_counts().min() > 1 else None
    train, test = train_test_split(
        rows, test_size=0.2, random_state=job["split"], stratify=stratify
    )
    domain, truth = replace(domain, records=len(train)), y.iloc[test].to_numpy()
    model = ForestClassifier(domain, epsilon=job["epsilon"], n_jobs=1)
    start = time.process_time()
    model.fit(X.iloc[train], y.iloc[train])
    seconds = time.process_time() - start
    proba = model.predict_proba(X.iloc[test])
    is_two = len(model.classes_) == 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rare label may be in no test row
        loss = log_loss(truth, np.clip(proba, 1e-9, 1), labels=model.classes_)
    return {
        "labels": domain.n_labels,
        "records": len(train),
        "majority": round(float(np.mean(truth == y.iloc[train].mode()[0])), 5),
        "accuracy": round(float(np.mean(model.predict(X.iloc[test]) == truth)), 5),
        "auc": round(roc_auc_score(truth == model.classes_[1], proba[:, 1]), 5) if is_two else "",
        "log_loss": round(float(loss), 5),
        "seconds": round(seconds, 3),
    }


# -- the run -----------------------------------------------------------------------------------


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("commit", nargs="?", help="the earlier source")
    arguments.add_argument("--two", **common.flag("tables of two labels instead"))
    arguments.add_argument("--splits", type=int, default=3)
    arguments.add_argument("--only", help="names of tables, with commas")
    arguments.add_argument("--report", **common.flag("write the report from the rows there are"))
    arguments.add_argument(
        "--out", type=Path, default=common.RESULTS, help="folder for the results"
    )
    arguments.add_argument("--worker", **common.flag("for the script itself"))
    options = arguments.parse_args()
    if options.worker:
        return work()
    path = options.out / f"flagship_halves{'_two' if options.two else ''}.csv"
    if not options.report:
        if options.commit is None:
            arguments.error("name the commit to compare with, or --report")
        measure(options, path)
    page = path.with_suffix(".md")
    page.write_text(report(pd.read_csv(path)))
    print(f"wrote {page}")


def measure(options: argparse.Namespace, path: Path) -> None:
    from frith.datasets import folder

    names = options.only.split(",") if options.only else folder.names()
    tables = {n: common.load(n)[2].n_labels for n in common.loadable(names)}
    names = sorted(n for n, k in tables.items() if (k == 2) == options.two)
    jobs = [
        {"set": n, "epsilon": e, "split": s}
        for s in range(options.splits)
        for n in sorted(names, key=common.cost)
        for e in EPSILONS
    ]
    done = {tuple(row[k] for k in KEYS) for row in common.rows_in(path)}
    left = [j for j in jobs if any(key_of(j, s) not in done for s in SOURCES)]
    fits = sum(key_of(j, s) not in done for j in left for s in SOURCES)
    print(
        f"{len(names)} tables ({sum(half_of(n) == 'checked' for n in names)} checked), "
        f"{len(EPSILONS)} epsilons, {options.splits} splits, 2 sources: {2 * len(jobs)} fits, "
        f"{fits} of them left, about {fits * SECONDS_A_FIT / 60:.0f} minutes"
    )
    with tempfile.TemporaryDirectory() as place:
        earlier = Path(place) / "earlier"
        git("worktree", "add", "--detach", str(earlier), options.commit)
        try:
            run(left, done, {"before": earlier / "src", "after": ROOT / "src"}, path)
        finally:
            git("worktree", "remove", "--force", str(earlier))


def run(
    jobs: list[dict[str, Any]], done: set[tuple[str, ...]], sources: dict[str, Path], path: Path
) -> None:
    workers = {name: start(path) for name, path in sources.items()}
    try:
        for job in jobs:
            for name, worker in workers.items():
                if key_of(job, name) in done:
                    continue
                worker.stdin.write(json.dumps(job) + "\n")
                worker.stdin.flush()
                row = {**job, "source": name, **json.loads(worker.stdout.readline())}
                common.append_row(path, row, FIELDS)
    finally:
        for worker in workers.values():
            worker.stdin.close()
            worker.wait()


def start(source: Path) -> Any:
    """A process that imports one source; the tables are those of this checkout."""
    from frith.datasets import folder

    place = os.environ | {"PYTHONPATH": str(source), "FRITH_DATA": str(folder.places()[0])}
    command = [sys.executable, __file__, "--worker"]
    return subprocess.Popen(
        command, env=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def git(*words: str) -> None:
    subprocess.run(["git", "-C", str(ROOT), *words], check=True, capture_output=True)


def key_of(job: dict[str, Any], source: str) -> tuple[str, ...]:
    return tuple(str(v) for v in (job["set"], job["epsilon"], job["split"], source))


# -- the report --------------------------------------------------------------------------------


def report(rows: pd.DataFrame) -> str:
    rows = rows.drop_duplicates(list(KEYS), keep="last")
    rows["half"] = [half_of(n) for n in rows["set"]]
    rows["signal"] = rows.records * rows.epsilon
    rows["room"] = rows.signal / rows.labels
    text = (
        "# The flagship before and after\n\n"
        "Made by `python benchmarks/flagship_halves.py`. A table is tuned on if the SHA-256 of its "
        "name is even, and only checked if it is odd. Both sources learn the same rows in turns: "
        "80% of at most 20,000 rows, stratified; the rest is scored. A cell is a table and an "
        "epsilon (0.05, 0.25, 1), its figure the mean over its splits. Standard errors are over "
        "tables. Points are percent correct above the training part's most frequent label.\n\n"
    )
    for title, part in (
        ("More than two labels", rows[rows.labels > 2]),
        ("Two labels", rows[rows.labels == 2]),
    ):
        if len(part):
            text += f"## {title}\n\n" + section(part)
    return text


def section(rows: pd.DataFrame) -> str:
    splits = rows.groupby(["set", "epsilon"]).split.nunique()
    cells = rows.groupby(["half", "set", "epsilon", "labels", "source"]).mean(numeric_only=True)
    cells["points"] = 100 * (cells.accuracy - cells.majority)
    wide = cells.unstack("source")
    text = f"{rows['set'].nunique()} tables, {len(splits)} cells, {splits.min()} splits each.\n\n"
    text += common.markdown_table(
        ["half", "records times epsilon a label", "cells", "before", "after", "gain, points",
         "gain, log loss (less is better)", "gain in AUC, points"],
        [
            line
            for half in ("tuned", "checked")
            for line in bands(wide.xs(half), half)
        ],
    )  # fmt: skip
    text += "\n" + common.markdown_table(
        ["half", "source", "cells under the most frequent label by over 0.5 points, from n epsilon "
         "= 50 on", "worst of these", "mean fall as epsilon grows", "worst fall", "CPU seconds"],
        [falls(cells.xs(half).xs(s, level="source"), half, s)
         for half in ("tuned", "checked") for s in SOURCES],
    )  # fmt: skip
    return text + "\n" + peers(wide) + "\n" + by_table(wide)


def bands(wide: pd.DataFrame, half: str) -> list[list[str]]:
    lines = []
    rooms, has_two = wide["room", "after"], bool((wide.index.get_level_values("labels") == 2).all())
    for low, high in (*itertools.pairwise(ROOMS[has_two]), (0, np.inf)):
        part = wide[(rooms >= low) & (rooms < high)]
        if not len(part):
            continue
        gain = part["points", "after"] - part["points", "before"]
        loss = part["log_loss", "after"] - part["log_loss", "before"]
        auc = 100 * (part["auc", "after"] - part["auc", "before"])
        name = "all" if low == 0 and high == np.inf else f"{low:g} to {high:g}"
        lines.append(
            [half, name, str(len(part)), f"{part['points', 'before'].mean():.1f}",
             f"{part['points', 'after'].mean():.1f}", with_error(gain, 1),
             with_error(loss, 2), with_error(auc, 1)]
        )  # fmt: skip
    return lines


def with_error(values: pd.Series, digits: int) -> str:
    """A mean over cells, and the standard error of the mean over tables."""
    tables = values.dropna().groupby("set").mean()
    if not len(tables):
        return ""
    error = tables.std(ddof=1) / np.sqrt(len(tables)) if len(tables) > 1 else np.nan
    return f"{values.mean():+.{digits}f} ± {error:.{digits}f}"


def falls(cells: pd.DataFrame, half: str, source: str) -> list[str]:
    """How often a cell is under the constant, and how far accuracy falls from one epsilon on."""
    known = cells[cells.signal >= 50]
    under = known.points[known.points < -0.5]
    accuracy = 100 * cells.accuracy.unstack("epsilon")
    drops = (accuracy.cummax(axis=1) - accuracy).max(axis=1)
    return [
        half, source, f"{len(under)} of {len(known)}", f"{under.min():.1f}" if len(under) else "",
        f"{drops.mean():.1f}", f"{drops.max():.1f}", f"{cells.seconds.mean():.2f}",
    ]  # fmt: skip


def peers(wide: pd.DataFrame) -> str:
    """Shares of cells at least as good as the best peer, less half a point; whole tables alone."""
    known = pd.read_csv(PEERS)
    best = known.groupby(["dataset", "eps"]).acc_mean.max()
    lines = []
    for half in ("tuned", "checked"):
        part = wide.xs(half).reset_index()
        part = part[part["records", "after"] < 0.8 * MOST_ROWS]
        keys = zip(part["set"], part["epsilon"].astype(float), strict=True)
        peer = pd.Series([best.get(key, np.nan) for key in keys], index=part.index)
        if peer.notna().any():
            shares = [
                f"{100 * np.mean((part['accuracy', s] >= peer - 0.005)[peer.notna()]):.0f}%"
                for s in SOURCES
            ]
            lines.append([half, str(peer.notna().sum()), *shares])
    if not lines:
        return ""
    return (
        "At least the best peer's setting at the same epsilon, less half a point (peers: 10 folds, so "
        "an eighth more records; the best of their settings picked after the fact):\n\n"
        + common.markdown_table(["half", "cells", "before", "after"], lines)
    )


def by_table(wide: pd.DataFrame) -> str:
    lines = []
    for (half, name, labels), part in wide.groupby(level=["half", "set", "labels"]):
        cells = [
            f"{100 * row['accuracy', 'before']:.1f} → {100 * row['accuracy', 'after']:.1f}"
            for _, row in part.iterrows()
        ]
        majority = f"{100 * part['majority', 'after'].mean():.1f}"
        records = f"{part['records', 'after'].mean():.0f}"
        lines.append([half, name, str(labels), records, majority, *cells])
    lines.sort(key=lambda line: (line[0] != "checked", line[1]))
    return common.markdown_table(
        ["half", "table", "labels", "records", "most frequent", *EPSILONS],
        [line for line in lines if len(line) == 5 + len(EPSILONS)],
    )


if __name__ == "__main__":
    main()
