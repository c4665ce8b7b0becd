"""The flagship on every classification table there is, at eight epsilons: where it is weak.

    python benchmarks/scoreboard.py [--repeats 3] [--rows 20000] [--others] [--only SETS] [--report]

Stratified 5-fold cross-validation of at most --rows rows of a table. A table is in the tuned half or in the
checked one by the hash of its name, as in flagship_halves.py. Beside means of accuracy, AUC and log loss it
counts cells under the most frequent label, falls as epsilon grows, and cells whose log loss is above that of
the label frequencies. With --others our other learners run too; scoreboard_peers.py runs other people's. It
says how long it will take before it starts, and resumes where it stopped: rows go to
docs/results/scoreboard.csv as they come.
"""

from __future__ import annotations

import argparse
import functools
import itertools
import multiprocessing
import os
import time
import warnings
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd
from flagship_halves import half_of, with_error
from scoreboard_beside import beside

from frith import learners
from frith._jit import available_threads

EPSILONS = ("0.01", "0.02", "0.05", "0.1", "0.25", "0.5", "1", "2")
FOLDS = 5
FLAGSHIP = "forest"
OTHERS = tuple(name for name in learners.BY_NAME if name != FLAGSHIP)
KEYS = ("set", "learner", "epsilon", "repeat", "fold")
FIELDS = (
    *KEYS, "labels", "records", "majority", "frequencies", "accuracy", "auc", "log_loss", "seconds",
)  # fmt: skip
BANDS = (0, 10, 50, 100, 350, 1_000, 4_000, np.inf)
"""Records times epsilon, with more than two labels for each two of them."""
ENOUGH = 50  # records times epsilon from which on a cell should not be under the constant
_SECONDS = 2.5e-7  # of a fit, for a cell of a table and a label; beside a constant


def seconds_of(name: str, rows: int) -> float:
    X, _, domain = common.load(name)
    return 0.15 + _SECONDS * min(len(X), rows) * len(domain.attributes) * domain.n_labels


# -- fits --------------------------------------------------------------------------------------


@functools.lru_cache(maxsize=8)
def folds_of(name: str, repeat: int, rows: int) -> list[tuple[Any, Any]]:
    """The training and test rows of each fold, of at most so many rows of a table."""
    from sklearn.model_selection import StratifiedKFold

    labels = common.load(name)[1]
    kept = np.sort(np.random.default_rng(repeat).permutation(len(labels))[:rows])
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=repeat)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a label may have fewer records than there are folds
        parts = list(folds.split(kept, labels.iloc[kept]))
    return [(kept[train], kept[test]) for train, test in parts]


def fit(job: dict[str, Any], rows: int) -> dict[str, Any]:
    from sklearn.metrics import log_loss

    X, y, domain = common.load(job["set"])
    train, test = folds_of(job["set"], job["repeat"], rows)[job["fold"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kind = learners.BY_NAME[job["learner"]]
        model = kind(replace(domain, records=len(train)), epsilon=job["epsilon"], n_jobs=1)
        start = time.process_time()
        model.fit(X.iloc[train], y.iloc[train], notices=False)
        seconds = time.process_time() - start
        proba, truth = model.predict_proba(X.iloc[test]), y.iloc[test].to_numpy()
        loss = log_loss(truth, np.clip(proba, 1e-9, 1), labels=model.classes_)
    shares = y.iloc[train].value_counts(normalize=True)
    plain = -np.log([max(shares.get(label, 0.0), 1e-9) for label in truth]).mean()
    return {
        "labels": domain.n_labels,
        "records": len(train),
        "majority": round(float(np.mean(truth == shares.index[0])), 5),
        "frequencies": round(float(plain), 5),
        "accuracy": round(float(np.mean(model.predict(X.iloc[test]) == truth)), 5),
        "auc": round(_auc(truth, proba, model.classes_), 5),
        "log_loss": round(float(loss), 5),
        "seconds": round(seconds, 3),
    }


def _auc(truth: Any, proba: Any, classes: Any) -> float:
    """Of two labels; of more, each against the rest, weighted by how frequent it is."""
    from sklearn.metrics import roc_auc_score

    if len(classes) == 2:
        return float(roc_auc_score(truth == classes[1], proba[:, 1]))
    is_there = [(i, np.mean(truth == c)) for i, c in enumerate(classes) if np.any(truth == c)]
    scores = [roc_auc_score(truth == classes[i], proba[:, i]) for i, _ in is_there]
    return float(np.average(scores, weights=[share for _, share in is_there]))


# -- the run -----------------------------------------------------------------------------------


def main() -> None:
    for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(threads, "1")
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=3)
    arguments.add_argument("--rows", type=int, default=20_000)
    arguments.add_argument("--others", **common.flag("our other learners too"))
    arguments.add_argument("--only", help="names of tables, with commas; or tuned, or checked")
    arguments.add_argument("--report", **common.flag("write the report from the rows there are"))
    arguments.add_argument(
        "--out", type=Path, default=common.RESULTS, help="folder for the results"
    )
    options = arguments.parse_args()
    path = options.out / "scoreboard.csv"
    if not options.report:
        measure(options, path)
    page = path.with_suffix(".md")
    theirs = options.out / "scoreboard_peers.csv"
    peers = pd.read_csv(theirs) if theirs.is_file() else None
    page.write_text(report(pd.read_csv(path), peers), encoding="utf-8")
    print(f"wrote {page}")


def tables(only: str | None) -> list[str]:
    from frith.datasets import folder

    names = folder.names()
    if only in ("tuned", "checked"):
        names = [n for n in names if half_of(n) == only]
    elif only:
        names = only.split(",")
    return [n for n in common.loadable(names) if not common.load(n)[2].has_target]


def measure(options: argparse.Namespace, path: Path) -> None:
    names = sorted(tables(options.only), key=lambda n: seconds_of(n, options.rows))
    everybody = (FLAGSHIP, *(OTHERS if options.others else ()))
    order = ("repeat", "learner", "set", "fold", "epsilon")
    jobs = [
        dict(zip(order, job, strict=True))
        for job in itertools.product(
            range(options.repeats), everybody, names, range(FOLDS), EPSILONS
        )
    ]
    done = {tuple(row[k] for k in KEYS) for row in common.rows_in(path)}
    left = [job for job in jobs if tuple(str(job[k]) for k in KEYS) not in done]
    hours = sum(seconds_of(job["set"], options.rows) for job in left) / 3600
    print(
        f"{len(names)} tables ({sum(half_of(n) == 'checked' for n in names)} checked), "
        f"{len(jobs)} fits, {len(left)} of them left, about {hours / available_threads():.1f} hours",
        flush=True,
    )
    context = multiprocessing.get_context("spawn")  # forking would copy locked threads
    with ProcessPoolExecutor(available_threads(), context) as pool:
        found = pool.map(functools.partial(fit, rows=options.rows), left, chunksize=len(EPSILONS))
        for job, row in zip(left, found, strict=True):
            common.append_row(path, job | row, FIELDS)


# -- the report --------------------------------------------------------------------------------

HEAD = """# The scoreboard

`python benchmarks/scoreboard.py --repeats {repeats} --rows {rows}`: stratified {folds}-fold cross-validation
of each of {tables} tables; delta 0. A table is tuned on if the SHA-256 of its name is even,
and only checked if it is odd. A cell is a table and an epsilon. Points are percent correct above the
training part's most frequent label. Signal is records times epsilon, with more than two labels for each two
of them. Standard errors are over tables; "two errors" are two standard errors of a cell's mean.

"""


def cells_of(rows: pd.DataFrame) -> pd.DataFrame:
    rows = rows.drop_duplicates(list(KEYS), keep="last").copy()
    rows["half"] = [half_of(n) for n in rows["set"]]
    rows["points"] = 100 * (rows.accuracy - rows.majority)
    rows["beyond"] = rows.log_loss - rows.frequencies
    keys = ["half", "set", "labels", "learner", "epsilon"]
    cells = rows.groupby(keys).mean(numeric_only=True)
    count = rows.groupby(keys).size()
    for name in ("points", "accuracy", "beyond"):
        cells[f"{name}_error"] = rows.groupby(keys)[name].std(ddof=1) / np.sqrt(count)
    cells["signal"] = cells.records * cells.index.get_level_values("epsilon").astype(float)
    labels = cells.index.get_level_values("labels")
    cells["band"] = pd.cut(cells.signal / (labels / 2), BANDS, right=False)
    return cells


def report(rows: pd.DataFrame, peers: pd.DataFrame | None) -> str:
    cells = cells_of(rows)
    own = cells.xs(FLAGSHIP, level="learner")
    text = HEAD.format(
        folds=FOLDS, rows=round(rows.records.max() * FOLDS / (FOLDS - 1)), tables=rows["set"].nunique(),
        repeats=rows[rows.learner == FLAGSHIP].repeat.nunique(),
    )  # fmt: skip
    text += "## By signal\n\n" + by_signal(own) + "\n## Where it is weak\n\n" + weak(own)
    text += "\n## Beside other learners\n\n" + beside_others(
        rows.drop_duplicates(list(KEYS)), peers
    )
    return text + "## Every table\n\n" + every(own)


def by_signal(own: pd.DataFrame) -> str:
    lines = []
    for half, many, band in itertools.product(
        ("tuned", "checked"), (False, True), [*own.band.cat.categories, None]
    ):
        part = own[own.index.get_level_values("half") == half]
        part = part[(part.index.get_level_values("labels") > 2) == many]
        part = part if band is None else part[part.band == band]
        if len(part):
            where = "all" if band is None else f"{band.left:g} to {band.right:g}"
            lines.append(
                [half, "three or more" if many else "two", where, str(len(part)),
                 with_error(part.points, 1), with_error(100 * part.auc, 1).lstrip("+"),
                 with_error(part.beyond, 3)]
            )  # fmt: skip
    return common.markdown_table(
        ["half", "labels", "signal", "cells", "points over the most frequent label", "AUC",
         "log loss over the label frequencies'"], lines
    )  # fmt: skip


def weak(own: pd.DataFrame) -> str:
    text = ""
    for half in ("tuned", "checked"):
        part = own[own.index.get_level_values("half") == half]
        known = part[part.signal >= ENOUGH]
        under = known[known.points + 2 * known.points_error < -0.5]
        worse = known[known.beyond - 2 * known.beyond_error > 0]
        falls = falls_of(part)
        deep = falls[falls > 1]
        text += (
            f"**{half}**: from n epsilon = {ENOUGH} on, {len(under)} of {len(known)} cells are under the "
            f"most frequent label by over 0.5 points beyond two errors ({_named(under.points, 1)}); "
            f"{len(worse)} have a log loss above that of the label frequencies beyond two errors "
            f"({_named(worse.beyond, 3)}); accuracy falls by over 1 point beyond two errors, as epsilon "
            f"grows, on {len(deep)} of {len(falls)} tables ({_named(deep, 1)}).\n\n"
        )
    return text


def falls_of(part: pd.DataFrame) -> pd.Series:
    """For each table the largest fall from one epsilon to a larger one, less two errors of it."""
    part = part[part.signal >= ENOUGH]
    found = {}
    for name, table in part.groupby(level="set"):
        table = table.sort_values("signal")
        accuracy, error = 100 * table.accuracy.to_numpy(), 100 * table.accuracy_error.to_numpy()
        pairs = itertools.combinations(range(len(accuracy)), 2)
        falls = [accuracy[i] - accuracy[j] - 2 * np.hypot(error[i], error[j]) for i, j in pairs]
        found[name] = max([0.0, *falls])
    return pd.Series(found, dtype=float)


def _named(values: pd.Series, digits: int) -> str:
    worst = values.reindex(values.abs().sort_values(ascending=False).index)[:8]
    names = [
        f"{i[1]} at {i[3]:g} {v:+.{digits}f}" if isinstance(i, tuple) else f"{i} {v:.{digits}f}"
        for i, v in worst.items()
    ]
    return "; ".join(names) or "none"


def beside_others(rows: pd.DataFrame, peers: pd.DataFrame | None) -> str:
    """Beside our other learners and beside other people's, on the same folds."""
    own, halves = rows[rows.learner == FLAGSHIP], {n: half_of(n) for n in set(rows["set"])}
    text = (
        "In each fold the learner is taken that is best on the other folds. A cell is reached if the mean "
        "difference is above minus one standard error of it; cells are left out in which nobody is better "
        "than the most frequent label by two errors.\n\n"
    )
    others = rows[rows.learner != FLAGSHIP]
    if len(others):
        text += f"### The best of our other learners, {_repeats(others)}\n\n"
        text += beside(own, others, halves) + "\n"
    if peers is not None:
        names = "; ".join(sorted(set(peers.learner)))
        text += f"### The best of other people's, {_repeats(peers)}\n\n{names}.\n\n"
        text += beside(own, peers, halves) + "\n"
    return text


def _repeats(rows: pd.DataFrame) -> str:
    return f"{rows.repeat.nunique()} x {FOLDS} folds of {rows['set'].nunique()} tables"


def every(own: pd.DataFrame) -> str:
    lines = []
    for (half, name, labels), part in own.groupby(level=["half", "set", "labels"]):
        by = {f"{e:g}": row for e, row in part.droplevel(["half", "set", "labels"]).iterrows()}
        cells = [
            f"{100 * by[e].accuracy:.1f} / {100 * by[e].auc:.1f}" if e in by else ""
            for e in EPSILONS
        ]
        first = part.iloc[0]
        lines.append(
            [half, name, str(labels), f"{first.records:.0f}", f"{100 * first.majority:.1f}", *cells]
        )
    return "Accuracy / AUC, in percent.\n\n" + common.markdown_table(
        ["half", "table", "labels", "records", "most frequent", *EPSILONS], lines
    )


if __name__ == "__main__":
    main()
