"""What a public prior is worth, and what a misleading one costs.

    python benchmarks/public_priors.py [--repeats 20] [--only PAIRS] [--report] [--out FOLDER]

A pair is a table cut in two by a public fact: records of an earlier year, another country, another
group. One side, at most 4,000 records of it, is public; 500 records of the other side are protected,
and up to 4,000 further ones are scored. Priors: none; the public side; the same with labels in a random
order, which tells nothing; and with every label replaced by the next one, which misleads. A pair is
tuned or checked by its table's name, as in flagship_halves.py. Rows are written as they come, so a run
resumes where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import itertools
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd
from flagship_halves import half_of

from frith import ForestClassifier

EPSILONS = ("0.05", "0.5", "2")
RECORDS, MOST = 500, 4_000
PRIORS = ("none", "public", "shuffled", "misleading")
KEYS = ("pair", "epsilon", "prior", "repeat")
FIELDS = (*KEYS, "labels", "majority", "accuracy", "log_loss")
SECONDS_A_FIT = 0.6


def older(share: float) -> Callable[[pd.DataFrame], Any]:
    """The first rows: these tables are in the order of time."""
    return lambda X: np.arange(len(X)) < share * len(X)


PAIRS: dict[str, tuple[str, Callable[[pd.DataFrame], Any]]] = {
    "adult, from the United States": ("adult", lambda X: X["native-country"] == "United-States"),
    "adult, under 40": ("adult", lambda X: X["age"] < 40),
    "bank_marketing, under 40": ("bank_marketing", lambda X: X["age"] < 40),
    "compas, African-American": ("compas", lambda X: X["race"] == "African-American"),
    "covertype_first20k, first wilderness": (
        "covertype_first20k", lambda X: X["Wilderness_Area1"].astype(str) == "1"
    ),
    "default_credit_card, men": ("default_credit_card", lambda X: X["SEX"].astype(str) == "1"),
    "electricity, earlier": ("electricity", older(0.6)),
    "hotel_reservations, 2017": ("hotel_reservations", lambda X: X["arrival_year"] == 2017),
    "nass_crashes, before 2000": ("nass_crashes", lambda X: X["yearacc"] < 2000),
    "nursery, convenient finance": ("nursery", lambda X: X["finance"] == "convenient"),
    "obesity_levels, women": ("obesity_levels", lambda X: X["Gender"] == "Female"),
    "online_shoppers, first region": ("online_shoppers", lambda X: X["Region"].astype(str) == "1"),
    "telco_churn, not senior": ("telco_churn", lambda X: X["SeniorCitizen"].astype(str) == "0"),
}  # fmt: skip


def half_of_pair(pair: str) -> str:
    return half_of(PAIRS[pair][0])


# -- a fit -------------------------------------------------------------------------------------


def fit(job: dict[str, Any]) -> dict[str, Any]:
    from sklearn.metrics import log_loss

    name, is_public = PAIRS[job["pair"]]
    X, y, domain = common.load(name)
    rng, side = np.random.default_rng(job["repeat"]), np.asarray(is_public(X))
    public = rng.permutation(np.flatnonzero(side))[:MOST]
    own = rng.permutation(np.flatnonzero(~side))
    train, test = own[:RECORDS], own[RECORDS : RECORDS + MOST]
    model = ForestClassifier(
        replace(domain, records=len(train)),
        epsilon=job["epsilon"],
        public=prior_of(job["prior"], X.iloc[public], y.iloc[public], domain, rng),
        n_jobs=1,
    )
    model.fit(X.iloc[train], y.iloc[train], notices=False)
    truth, proba = y.iloc[test].to_numpy(), model.predict_proba(X.iloc[test])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a rare label may be in no test row
        loss = log_loss(truth, np.clip(proba, 1e-9, 1), labels=model.classes_)
    return {
        "labels": domain.n_labels,
        "majority": round(float(np.mean(truth == y.iloc[train].mode()[0])), 5),
        "accuracy": round(float(np.mean(model.predict(X.iloc[test]) == truth)), 5),
        "log_loss": round(float(loss), 5),
    }


def prior_of(kind: str, X: pd.DataFrame, y: pd.Series, domain: Any, rng: Any) -> Any:
    if kind == "none":
        return None
    if kind == "shuffled":
        return X, rng.permutation(y.to_numpy())
    if kind == "misleading":
        labels = list(domain.label_values)
        following = dict(zip(labels, labels[1:] + labels[:1], strict=True))
        return X, y.map(following)
    return X, y


# -- the run -----------------------------------------------------------------------------------


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--repeats", type=int, default=20)
    arguments.add_argument("--only", help="names of pairs, with semicolons; or tuned, or checked")
    arguments.add_argument("--report", **common.flag("write the report from the rows there are"))
    arguments.add_argument(
        "--out", type=Path, default=common.RESULTS, help="folder for the results"
    )
    options = arguments.parse_args()
    path = options.out / "public_priors.csv"
    if not options.report:
        measure(options, path)
    page = path.with_suffix(".md")
    page.write_text(report(pd.read_csv(path)), encoding="utf-8")
    print(f"wrote {page}")


def measure(options: argparse.Namespace, path: Path) -> None:
    here = set(common.loadable(sorted({name for name, _ in PAIRS.values()})))
    only = options.only
    pairs = [
        p for p in PAIRS
        if PAIRS[p][0] in here
        and (only is None or half_of_pair(p) == only or p in only.split(";"))
    ]  # fmt: skip
    jobs = [
        dict(zip(("repeat", "pair", "epsilon", "prior"), job, strict=True))
        for job in itertools.product(range(options.repeats), pairs, EPSILONS, PRIORS)
    ]
    done = set()
    if path.is_file():
        with path.open(newline="") as file:
            done = {tuple(row[k] for k in KEYS) for row in csv.DictReader(file)}
    left = [job for job in jobs if tuple(str(job[k]) for k in KEYS) not in done]
    print(
        f"{len(pairs)} pairs, {len(jobs)} fits, {len(left)} of them left, about "
        f"{len(left) * SECONDS_A_FIT / 60:.0f} minutes"
    )
    for job in left:
        row, is_new = {**job, **fit(job)}, not path.is_file()
        with path.open("a", newline="") as file:
            writer = csv.DictWriter(file, FIELDS, lineterminator="\n")
            if is_new:
                writer.writeheader()
            writer.writerow(row)


# -- the report --------------------------------------------------------------------------------

HEAD = """# What a public prior is worth

Made by `python benchmarks/public_priors.py`. A table is cut in two by a public fact. At most 4,000 records of
the side named are public; 500 records of the other side are protected, and at most 4,000 more are scored.
Gains are in points of accuracy over the same fit without a prior, means over {repeats} repeats; their
standard errors are over pairs. "Shuffled" has the public labels in a random order, "misleading" has each
label replaced by the next. A pair is tuned on or only checked by the hash of its table's name.

"""


def report(rows: pd.DataFrame) -> str:
    rows = rows.drop_duplicates(list(KEYS), keep="last")
    repeats = rows.groupby(list(KEYS[:3])).repeat.nunique().min()
    cells = rows.groupby(["pair", "epsilon", "prior"])[["accuracy", "log_loss", "majority"]].mean()
    wide = cells.unstack("prior")
    gains = {p: 100 * (wide["accuracy", p] - wide["accuracy", "none"]) for p in PRIORS[1:]}
    losses = {p: wide["log_loss", p] - wide["log_loss", "none"] for p in PRIORS[1:]}
    lines = []
    for half in ("tuned", "checked"):
        for epsilon in EPSILONS:
            pairs = [p for p, e in wide.index if half_of_pair(p) == half and e == float(epsilon)]
            if pairs:
                at = [(p, float(epsilon)) for p in pairs]
                lines.append(
                    [half, epsilon, str(len(at)), *(_mean(gains[p][at], 1) for p in PRIORS[1:]),
                     *(_mean(losses[p][at], 2) for p in PRIORS[1:])]
                )  # fmt: skip
    text = HEAD.format(repeats=repeats) + common.markdown_table(
        ["half", "epsilon", "pairs", "public", "shuffled", "misleading",
         "log loss (less is better): public", "shuffled", "misleading"], lines
    )  # fmt: skip
    table = [
        [half_of_pair(pair), pair, f"{epsilon:g}", f"{100 * row['majority', 'none']:.1f}",
         *(f"{100 * row['accuracy', p]:.1f}" for p in PRIORS)]
        for (pair, epsilon), row in wide.iterrows()
    ]  # fmt: skip
    return f"{text}\n## Every pair\n\n" + common.markdown_table(
        ["half", "public side", "epsilon", "most frequent", *PRIORS], table
    )


def _mean(values: pd.Series, digits: int) -> str:
    error = values.std(ddof=1) / np.sqrt(len(values)) if len(values) > 1 else np.nan
    return f"{values.mean():+.{digits}f} ± {error:.{digits}f}"


if __name__ == "__main__":
    main()
