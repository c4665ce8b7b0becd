"""Domains that are paid for: how much of each number they cover, and what they cost the flagship.

    python benchmarks/private_domains.py [--quick] [--fresh]

Coverage: on every table with numbers and at most 100,000 records, bounds are drafted three times at
epsilon 0.1 and 1. Accuracy: on eight tables, three folds of ten, with declared bounds, with bounds drafted
from the training records (which no guarantee covers), and with bounds that are paid for with a quarter of
the same epsilon. Categories and labels are declared throughout, so that bounds alone differ.

One core, about ten minutes, and it says so; rows go to docs/results/private_domains.csv as they come, and
a run resumes there.
"""

from __future__ import annotations

import itertools
import time
import warnings
from dataclasses import replace
from typing import Any

import common
import numpy as np
import pandas as pd

import frith
from frith.domain import Categorical, Domain
from frith.domain.columns import columns_of
from frith.domain.draft import draft_attributes

EPSILONS = ("0.1", "1")
TABLES = (
    "adult", "bank_marketing", "default_credit_card", "electricity", "eeg_eye", "dry_bean",
    "magic", "hotel_reservations", "covertype_2v4",
)  # fmt: skip
QUICK = ("adult", "breast_cancer_diagnostic")
DRAFTS, FOLDS, LARGEST = 3, 3, 100_000
PRICE = 4  # a paid domain has one part in so many of epsilon
FIELDS = ("part", "set", "epsilon", "domain", "run")
EACH = {"coverage": 1.5, "accuracy": 3.0}  # seconds of a job, for the estimate


def numbers_of(domain: Domain) -> list[str]:
    return [a.name for a in domain.attributes if not isinstance(a, Categorical)]


def draft(table: pd.DataFrame, domain: Domain, epsilon: Any) -> Domain:
    """Bounds of the numbers; everything else is as declared."""
    kinds = {a.name: a if isinstance(a, Categorical) else "number" for a in domain.attributes}
    columns = kinds | {domain.label.name: domain.label}
    return frith.draft_privately(
        table, domain.label.name, columns, epsilon=epsilon, records=len(table), n_jobs=1
    )


def cover(job: dict[str, Any]) -> dict[str, Any]:
    """Of the records between the true 1% and 99% quantiles, how many lie within drafted bounds."""
    X, y, domain = common.load(job["set"])
    row = {"records": len(X), "numbers": len(numbers_of(domain))}
    try:
        made = draft(X.assign(**{domain.label.name: y}), domain, job["epsilon"])
    except frith.FrithError:
        return row | {"value": "", "width": ""}
    inside, width = [], []
    for name in numbers_of(domain):
        (found,) = made.view([name]).attributes
        x = X[name].to_numpy(dtype=float)
        x = x[np.isfinite(x)]
        low, high = np.quantile(x, [0.01, 0.99])
        middle = x[(x >= low) & (x <= high)]
        inside.append(np.mean((middle >= found.low) & (middle <= found.high)))
        if high > low:
            width.append((found.high - found.low) / (high - low))
    return row | {"value": float(np.mean(inside)), "width": float(np.median(width))}


def score(job: dict[str, Any]) -> dict[str, Any]:
    """The accuracy of the flagship on one fold."""
    X, y, domain = common.load(job["set"])
    train, test = next(itertools.islice(common.folds(y, 0), job["run"], None))
    table, budget = (
        X.iloc[train].assign(**{domain.label.name: y.iloc[train]}),
        float(job["epsilon"]),
    )
    row = {"records": len(X), "numbers": len(numbers_of(domain)), "width": ""}
    domain = replace(domain, records=len(train))
    if job["domain"] == "drafted":
        attributes = draft_attributes(columns_of(X.iloc[train])[0], domain.names)
        kept = (
            a if isinstance(a, Categorical) else b
            for a, b in zip(domain.attributes, attributes, strict=True)
        )
        domain = replace(domain, attributes=tuple(kept), learned=True)
    elif job["domain"] == "paid for":
        try:
            domain = draft(table, domain, budget / PRICE)
        except frith.FrithError:
            return row | {"value": ""}
        budget -= budget / PRICE
    model = frith.ForestClassifier(domain, epsilon=budget, n_jobs=1)
    model.fit(table, notices=False)
    return row | {"value": float(np.mean(model.predict(X.iloc[test]) == y.iloc[test]))}


def jobs_of(quick: bool) -> list[dict[str, Any]]:
    names = QUICK if quick else frith.datasets.names()
    jobs = []
    for name in common.loadable(names):
        X, _, domain = common.load(name)
        if not numbers_of(domain) or len(X) > LARGEST:
            continue
        for epsilon, run in itertools.product(EPSILONS, range(1 if quick else DRAFTS)):
            jobs.append(("coverage", name, epsilon, "paid for", run))
    for name in common.loadable(QUICK if quick else TABLES):
        for epsilon, domain in itertools.product(EPSILONS, ("declared", "drafted", "paid for")):
            jobs += [("accuracy", name, epsilon, domain, k) for k in range(1 if quick else FOLDS)]
    return [dict(zip(FIELDS, job, strict=True)) for job in jobs]


def run(jobs: list[dict[str, Any]], path: Any, fresh: bool) -> pd.DataFrame:
    done = {} if fresh or not path.is_file() else _read(path)
    missing = [job for job in jobs if _key(job) not in done]
    minutes = sum(EACH[job["part"]] for job in missing) / 60
    print(f"{len(missing)} of {len(jobs)} jobs to do, about {minutes:.0f} minutes on one core")
    written = time.monotonic()
    for job in missing:
        done[_key(job)] = job | (cover if job["part"] == "coverage" else score)(job)
        if time.monotonic() - written > 10 or job is missing[-1]:
            pd.DataFrame(done.values()).to_csv(path, index=False)
            written = time.monotonic()
    rows = pd.DataFrame([done[_key(job)] for job in jobs])
    return rows.assign(**{c: pd.to_numeric(rows[c]) for c in ("value", "width")})


def _key(row: dict[str, Any]) -> tuple[str, ...]:
    return tuple(str(row[name]) for name in FIELDS)


def _read(path: Any) -> dict[tuple[str, ...], dict[str, Any]]:
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).to_dict("records")
    return {_key(row): row for row in rows}


# -- the page --------------------------------------------------------------------------------------


def page(rows: pd.DataFrame) -> str:
    covered = rows[rows["part"] == "coverage"]
    scored = rows[rows["part"] == "accuracy"]
    lines = [
        "# Domains that are paid for",
        "",
        "Written by `benchmarks/private_domains.py`. "
        "`frith.draft_privately` finds bounds of numbers by private quantiles; see [domains](../domains.md).",
        "",
        "## Accuracy of the flagship",
        "",
        f"Mean of {FOLDS} folds. *Declared*: the bounds of the table's description. *Drafted*: from the "
        f"training records, which no guarantee covers. *Paid for*: with 1/{PRICE} of the same epsilon, so "
        "that all of a row but the drafted column keeps it. *Majority*: the most frequent label.",
        "",
        common.markdown_table(
            ["table", "records", "numbers", "epsilon", "declared", "drafted", "paid for", "majority"],
            list(_accuracy_rows(scored)),
        ),
        "## Coverage",
        "",
        "Of the records between the true 1% and 99% quantiles of a number, the share within the drafted "
        f"bounds: mean over the table's numbers and {DRAFTS} drafts. *Width*: of the bounds, over the "
        "distance of the two quantiles, the median over numbers. A draft whose budget carries no bounds is "
        "refused.",
        "",
        common.markdown_table(
            ["table", "records", "numbers", *(f"{w} at {e}" for e in EPSILONS for w in ("covered", "width"))],
            list(_coverage_rows(covered)),
        ),
    ]  # fmt: skip
    return "\n".join(lines)


def _accuracy_rows(rows: pd.DataFrame) -> Any:
    for (name, epsilon), part in rows.groupby(["set", "epsilon"], sort=False):
        of = part.groupby("domain")["value"].mean()
        scores = [_shown(of[d], ".3f") for d in ("declared", "drafted", "paid for")]
        y = common.load(name)[1]
        majority = float((y == y.mode()[0]).mean())
        first = part.iloc[0]
        yield [
            name,
            f"{int(first['records']):,}",
            first["numbers"],
            epsilon,
            *scores,
            f"{majority:.3f}",
        ]


def _coverage_rows(rows: pd.DataFrame) -> Any:
    for name, part in rows.groupby("set", sort=False):
        cells = []
        for epsilon in EPSILONS:
            of = part[part["epsilon"] == epsilon]
            cells += [_shown(of["value"].mean(), ".3f"), _shown(of["width"].median(), ".3g")]
        first = part.iloc[0]
        yield [name, f"{int(first['records']):,}", first["numbers"], *cells]


def _shown(value: float, form: str) -> str:
    return "refused" if np.isnan(value) else format(value, form)


def main() -> None:
    options = common.parse_options(__doc__ or "", common.FRESH)
    warnings.simplefilter("ignore")
    rows = run(jobs_of(options.quick), options.out / "private_domains.csv", options.fresh)
    (options.out / "private_domains.md").write_text(page(rows) + "\n", encoding="utf-8")
    print(f"{options.out / 'private_domains.md'} written")


if __name__ == "__main__":
    main()
