"""What the benchmarks share: tables, folds, a resumable run over jobs, tables in words, plots."""

from __future__ import annotations

import argparse
import csv
import functools
import multiprocessing
import re
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from prepared import PREPARATIONS
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from frith import datasets
from frith._jit import available_threads

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results"
FOLDS = 10
N_TREES = 10

NOTES = {
    "nursery": (
        "Nursery keeps its 5 labels, two of which are rare; the paper groups them into 3. Its "
        "accuracies are therefore not the paper's."
    ),
    "mushroom": (
        "Mushroom keeps the attribute that has missing entries, with a declared value for a "
        "missing one; the paper removed that attribute."
    ),
}


def flag(words: str) -> dict[str, Any]:
    return {"action": "store_true", "help": words}


RESUME = {"--resume": flag("keep the rows an earlier run wrote")}
FRESH = {"--fresh": flag("measure again what has been measured")}


def parse_options(description: str, more: dict[str, dict[str, Any]] = RESUME) -> argparse.Namespace:
    """--quick, more, and --out, with quick results kept away from the full ones."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--quick", **flag("a small run, to see that it works"))
    for name, argument in more.items():
        parser.add_argument(name, **argument)
    parser.add_argument("--out", type=Path, help="folder for the results (default: docs/results)")
    options = parser.parse_args()
    if options.out is None:
        options.out = Path(tempfile.gettempdir()) / "frith-quick" if options.quick else RESULTS
    options.out.mkdir(parents=True, exist_ok=True)
    return options


# -- tables and folds --------------------------------------------------------------------------


@functools.cache
def load(name: str) -> Any:
    """A table by its name; "votes, imputed" is votes as a paper prepared it."""
    table, _, preparation = name.partition(", ")
    found = datasets.load(table)
    return PREPARATIONS[preparation](*found) if preparation else found


def loadable(names: Sequence[str]) -> list[str]:
    """The tables that this machine has; says which ones it leaves out."""
    found = []
    for name in names:
        try:
            load(name)
        except ValueError as reason:
            print(f"skipped {name}: {reason}")
        else:
            found.append(name)
    return found


def cost(name: str) -> int:
    """About what a fit on a table takes: cells times labels."""
    X, _, domain = load(name)
    return X.size * domain.n_labels


def folds(labels: pd.Series, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Train and test rows of a stratified 10-fold split."""
    from sklearn.model_selection import StratifiedKFold

    with warnings.catch_warnings():
        # nursery has a label of two records, which cannot be in every fold
        warnings.filterwarnings("ignore", message="The least populated class")
        yield from StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(labels, labels)


def majority_accuracy(name: str, runs: int) -> float:
    """What predicting the training part's most frequent label scores, over the same folds."""
    labels = load(name)[1]
    scores = []
    for seed in range(runs):
        for train, test in folds(labels, seed):
            scores.append(np.mean(labels.iloc[test] == labels.iloc[train].mode()[0]))
    return float(np.mean(scores))


# -- jobs --------------------------------------------------------------------------------------


def rows_in(path: Path) -> list[dict[str, str]]:
    """What an earlier run wrote; nothing, if there was none."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append_row(path: Path, row: dict[str, Any], fields: Sequence[str]) -> None:
    """One more row, so that an interrupted run resumes."""
    is_new = not path.is_file()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        if is_new:
            writer.writeheader()
        writer.writerow(row)


def run_jobs(
    jobs: Sequence[dict[str, Any]],
    work: Callable[[dict[str, Any]], dict[str, Any]],
    path: Path,
    resume: bool,
) -> pd.DataFrame:
    """Do every job on all cores; `path` gets a row of job and result as each one ends.

    With `resume`, jobs that have a row in `path` are not done again, and rows of other jobs stay.
    """
    done = _read_rows(path) if resume else {}
    wanted = {_key(job) for job in jobs}
    others = [row for key, row in done.items() if key not in wanted]
    done = {key: row for key, row in done.items() if key in wanted}
    missing = [job for job in jobs if _key(job) not in done]
    context = multiprocessing.get_context("spawn")  # forking would copy locked threads
    with _progress() as bar, ProcessPoolExecutor(available_threads(), context) as pool:
        task = bar.add_task(path.stem, total=len(jobs), completed=len(done))
        running = {pool.submit(work, job): job for job in missing}
        for future in as_completed(running):
            job = running[future]
            done[_key(job)] = job | future.result()
            _write_rows(path, [*done.values(), *others])
            bar.advance(task)
    rows = [done[_key(job)] for job in jobs]
    _write_rows(path, [*rows, *others])
    return pd.read_csv(path, keep_default_na=False, nrows=len(rows))


def measure(
    jobs: Sequence[dict[str, Any]],
    work: Callable[[dict[str, Any]], dict[str, Any]],
    path: Path,
    resume: bool,
    runs: int = 1,
) -> tuple[pd.DataFrame, dict[str, float]]:
    """`run_jobs` on the tables that are here, and each one's accuracy of the majority label."""
    sets = loadable(list(dict.fromkeys(job["set"] for job in jobs)))
    if not sets:
        raise SystemExit("no table could be loaded")
    rows = run_jobs([job for job in jobs if job["set"] in sets], work, path, resume)
    return rows, {name: majority_accuracy(name, runs) for name in sets}


def _key(job: dict[str, Any]) -> tuple[str, ...]:
    """What tells a job from others, the same from memory and from a file."""
    return tuple(str(value) for name, value in job.items() if name not in RESULT_FIELDS)


RESULT_FIELDS: tuple[str, ...] = ("accuracy",)


def _read_rows(path: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    if not path.is_file():
        return {}
    with path.open(newline="") as file:
        return {_key(row): row for row in csv.DictReader(file)}


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> None:
    """All rows, through a second file, so that a run cut off leaves a whole file behind."""
    if not rows:
        return
    draft = path.with_suffix(".part")
    with draft.open("w", newline="") as file:
        fields = dict.fromkeys(field for row in rows for field in row)
        writer = csv.DictWriter(file, fields, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    draft.replace(path)


def _progress() -> Progress:
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    return Progress(*columns, TimeRemainingColumn())


# -- words -------------------------------------------------------------------------------------


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """A table; columns of figures stand at the right."""
    columns = zip(*rows, strict=True) if rows else ("" for _ in head)
    sides = ["---:" if _holds_figures(column) else "---" for column in columns]
    lines = [head, sides, *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines) + "\n"


def _holds_figures(column: Sequence[Any]) -> bool:
    """Whether most cells begin with a number, perhaps with a mark before it."""
    figures = sum(re.match(r"[*_~<>±+-]*\d", str(cell).strip()) is not None for cell in column)
    return 2 * figures > len(column)


def write_between(path: Path, name: str, text: str) -> None:
    """Replace what is between a page's marks `<!-- name -->` and `<!-- end of name -->`."""
    page = path.read_text(encoding="utf-8")
    begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
    page = page[: page.index(begin) + len(begin)] + text + page[page.index(end) :]
    path.write_text(page, encoding="utf-8")


SUMMARY_HEAD = ("min", "lower quartile", "median", "upper quartile", "max", "mean", "95% interval")


def summary(values: pd.Series) -> list[str]:
    """Five numbers, the mean, and Student's interval for it, in percent."""
    from scipy.stats import t

    five = np.percentile(values, (0, 25, 50, 75, 100))
    mean, reach = values.mean(), np.nan
    if len(values) > 1:
        reach = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    cells = [f"{100 * v:.1f}" for v in (*five, mean)]
    return [*cells, f"± {100 * reach:.1f}" if np.isfinite(reach) else ""]


def sections(rows: pd.DataFrame, majority: dict[str, float], by: str) -> list[str]:
    """For each set its name, its majority label and a table with a row a value of `by`."""
    parts = []
    for name, group in rows.groupby("set", sort=False):
        table = [
            [f"{value:g}", *summary(part["accuracy"])]
            for value, part in group.groupby(by, sort=False)
        ]
        parts += [
            f"## {name.capitalize()}\n",
            f"Predicting the majority label scores {100 * majority[name]:.1f}.\n",
            markdown_table((by, *SUMMARY_HEAD), table),
            NOTES[name] + "\n",
        ]
    return parts


# -- plots -------------------------------------------------------------------------------------

INK, BOX, LINE, GUIDE = "#222222", "#9db8d2", "#1f4e79", "#b3541e"


def panels(names: Sequence[str]) -> tuple[Any, list[Any]]:
    """One panel a table, side by side."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(names), figsize=(6.2 * len(names), 4.4), squeeze=False, layout="constrained"
    )
    for axis, name in zip(axes[0], names, strict=True):
        axis.set_title(name.capitalize(), loc="left", fontweight="bold", color=INK)
        axis.set_ylabel("accuracy (%)")
        axis.grid(axis="y", color="#dddddd", linewidth=0.7)
        axis.set_axisbelow(True)
        axis.spines[["top", "right"]].set_visible(False)
    return figure, list(axes[0])


def boxes(axis: Any, groups: Sequence[pd.Series], labels: Sequence[str], majority: float) -> None:
    """A box a group, whiskers to the extremes as in the paper, and the majority label's line."""
    drawn = axis.boxplot(
        [100 * g.to_numpy() for g in groups], whis=(0, 100), widths=0.55, patch_artist=True,
        medianprops={"color": LINE, "linewidth": 1.8},
    )  # fmt: skip
    for box in drawn["boxes"]:
        box.set(facecolor=BOX, edgecolor=LINE)
    for part in (*drawn["whiskers"], *drawn["caps"]):
        part.set(color=LINE)
    axis.set_xticks(range(1, len(labels) + 1), labels)
    axis.set_ylim(0, 100)  # the same in every panel, so that drops compare by eye
    axis.axhline(100 * majority, color=GUIDE, linestyle="--", linewidth=1.3)
    axis.text(0.6, 100 * majority - 2, "majority label", color=GUIDE, va="top")


def save(figure: Any, path: Path) -> None:
    figure.savefig(path, dpi=150)
    print(f"wrote {path}")
