"""Prediction sets: how often they hold the label of new records, and how large they are.

    python benchmarks/prediction_sets.py [--quick] [--resume] [--folds N]

`ForestClassifier(coverage=0.9)` on 20 tables, at two epsilons. Writes docs/results/prediction_sets.md.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import common
import numpy as np
import pandas as pd

from frith import Domain, ForestClassifier

TABLES = (
    "breast_cancer_diagnostic", "breast_cancer_wisconsin", "tic_tac_toe", "german_credit", "car", "votes",
    "credit_approval", "titanic", "kr_vs_kp", "spambase", "waveform", "mushroom", "phishing", "pendigits",
    "nursery", "htru2", "magic", "letter", "adult", "bank_marketing",
)  # fmt: skip
EPSILONS = ("1", "4")
FOLDS = 6
COVERAGE = 0.9
REPEATING = 0.05
"""From this share of records that a table holds more than once on, its records are said to repeat."""
FIELDS = ("covered", "size", "alone", "records", "accuracy")


def measure(job: dict[str, Any]) -> dict[str, Any]:
    X, y, domain = common.load(job["set"])
    X, domain = held_out_anew(X, domain, job["fold"])
    train, test = list(common.folds(y, 0))[job["fold"]]
    model = ForestClassifier(domain, epsilon=job["epsilon"], coverage=COVERAGE)
    model.fit(X.iloc[train], y.iloc[train], notices=False)
    sets = model.predict_set(X.iloc[test])
    truth = y.iloc[test].astype(str).to_numpy()[:, None] == model.classes_.astype(str)
    return {
        "covered": float((sets & truth).any(axis=1).mean()), "size": float(sets.sum(axis=1).mean()),
        "alone": float((sets.sum(axis=1) == 1).mean()), "records": len(train),
        "accuracy": float(np.mean(model.predict(X.iloc[test]) == y.iloc[test])),
    }  # fmt: skip


def held_out_anew(X: pd.DataFrame, domain: Domain, fold: int) -> tuple[pd.DataFrame, Domain]:
    """The same table under another name of its first column: in every fold, others are held out.

    Which records are held out follows from a hash that the domain keys. With one domain they are the
    same ones in every fold, and more folds would not average over them.
    """
    first, *others = domain.attributes
    renamed = replace(first, name=f"{first.name} {fold}")
    return X.rename(columns={first.name: renamed.name}), replace(
        domain, attributes=(renamed, *others)
    )


def main() -> None:
    of_table = {"type": int, "default": FOLDS, "help": "folds of ten that are measured"}
    options = common.parse_options(__doc__ or "", common.RESUME | {"--folds": of_table})
    common.RESULT_FIELDS = FIELDS
    tables, epsilons, folds = common.loadable(TABLES), EPSILONS, options.folds
    if options.quick:
        tables, epsilons, folds = tables[:2], EPSILONS[:1], 1
    jobs = [
        {"set": name, "epsilon": epsilon, "fold": fold}
        for fold in range(folds) for name in tables for epsilon in epsilons
    ]  # fmt: skip
    found = common.run_jobs(jobs, measure, options.out / "prediction_sets.csv", options.resume)
    (options.out / "prediction_sets.md").write_text(page(found, folds), encoding="utf-8")
    print(f"wrote {options.out / 'prediction_sets.md'}")


def page(found: pd.DataFrame, folds: int) -> str:
    rows, means = [], []
    repeating = [name for name in found["set"].unique() if repeated(name) > REPEATING]
    groups = {
        "all": TABLES, "chosen on": TABLES[::2], "checked on": TABLES[1::2],
        "records repeat": repeating, "records do not": [n for n in TABLES if n not in repeating],
    }  # fmt: skip
    for epsilon, part in found.groupby("epsilon"):
        by_table = part.groupby("set", sort=False)[list(FIELDS)].mean()
        for name, row in by_table.iterrows():
            rows.append([
                name, f"{row['records']:,.0f}", f"{100 * repeated(name):.0f}", common.load(name)[2].n_labels,
                epsilon, f"{100 * row['covered']:.1f}", f"{row['size']:.2f}", f"{100 * row['alone']:.0f}",
                f"{100 * row['accuracy']:.1f}",
            ])  # fmt: skip
        for words, names in groups.items():
            means.append([epsilon, words, *averages(by_table[by_table.index.isin(names)])])
    return "\n".join([
        "# Prediction sets\n",
        f"By `benchmarks/prediction_sets.py`: `ForestClassifier(coverage={COVERAGE})`, three tenths of "
        f"the training records held out, {folds} of ten folds, delta 0. Covered is the share of test records "
        f"whose label is in its set, in percent; {100 * COVERAGE:.0f} is asked for.\n",
        "What is claimed: coverage on average over records like those of the table, over held-out records "
        "and noise. Other records are held out in every fold. The level of the quantile is raised for one "
        "more record and for the scale of its noise, which is 1.8 / (0.9 epsilon n) for n held-out records, "
        "so small tables are covered a little more often than asked for. How many records are held out was "
        "chosen at epsilon 1 on every other table of the list below, from the first one on, and checked on "
        "the others, of which earlier variants had been seen.\n",
        "Tables whose records repeat are covered more often than asked for. Equal records are held out "
        "together, so held-out ones repeat no training record, and a new record that does is less strange to "
        "the forest: a part of the reason, and perhaps not all of it. "
        f"Here: tables with more than {100 * REPEATING:.0f}% of such records.\n",
        "## Over tables\n",
        "The error is that of a mean of tables: their standard deviation over the root of their number.\n",
        common.markdown_table(
            ("epsilon", "tables", "number", "covered, mean", "error", "size, mean", "off, mean of tables",
             "least and most"), means),
        "\n## Every table\n",
        "A set's size is its mean number of labels; a set of one label is as sharp as a prediction. "
        "*repeated* is the percentage of records that the table holds more than once, label and all.\n",
        common.markdown_table(
            ("table", "training records", "repeated", "labels", "epsilon", "covered", "size",
             "sets of one label, %", "accuracy"), rows),
    ])  # fmt: skip


def averages(by_table: pd.DataFrame) -> list[Any]:
    covered = 100 * by_table["covered"]
    off = covered - 100 * COVERAGE
    return [
        len(by_table), f"{covered.mean():.1f}", f"{covered.sem():.1f}", f"{by_table['size'].mean():.2f}",
        f"{off.abs().mean():.1f}", f"{off.min():+.1f}, {off.max():+.1f}",
    ]  # fmt: skip


def repeated(name: str) -> float:
    """The share of a table's records that it holds more than once."""
    X, y, _ = common.load(name)
    return float(X.assign(**{"the label": y}).duplicated(keep=False).mean())


if __name__ == "__main__":
    main()
