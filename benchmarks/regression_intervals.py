"""Coverage of prediction intervals, and what share of targets is below quantiles, on 16 public tables.

    python benchmarks/regression_intervals.py [--folds 3] [--repeats 2] [--epsilons 0.1,1] [--report]

Every figure is of predictions for records outside the training folds, over all folds together. Rows go to
docs/results/regression_intervals.csv as they come, so a run resumes where it stopped. Coverage of a table
that is made up, where noise does most harm, is measured whenever the page is written.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import replace
from typing import Any

import common
import numpy as np
import pandas as pd

CSV = common.RESULTS / "regression_intervals.csv"
REPORT = common.RESULTS / "regression_intervals.md"
COVERAGE, QUANTILES = "0.9", ("0.1", "0.5", "0.9")
APART, FITS = ((500, "0.5"), (500, "1"), (2_000, "0.1"), (5_000, "0.1"), (5_000, "1")), 60
LEAST_SIGNAL, TOLERANCE = 500, 0.02
common.RESULT_FIELDS = ("records", "table", "share", "relative")


def work(job: dict[str, Any]) -> dict[str, Any]:
    """For intervals the share inside and the width over the declared range; for quantiles the share below
    and the pinball loss over that of the training records' own quantile."""
    from sklearn.model_selection import KFold

    from frith import ForestRegressor

    X, y, domain = common.load(job["set"])
    truth, target = y.to_numpy(dtype=float), domain.target
    inside, relative, sizes = [], [], []
    for train, test in KFold(job["folds"], shuffle=True, random_state=job["repeat"]).split(X):
        known = replace(domain, records=len(train))
        kind, _, level = job["learner"].partition(" ")
        options = (
            {"interval": level} if kind == "interval" else {"loss": "quantile", "quantile": level}
        )
        model = ForestRegressor(known, epsilon=job["epsilon"], n_jobs=1, **options)
        model.fit(X.iloc[train], truth[train], notices=False)
        t, sizes = truth[test], [*sizes, len(train)]
        if kind == "interval":
            low, high = model.predict_interval(X.iloc[test]).T
            inside.append(np.mean((t >= low) & (t <= high)))
            relative.append(np.mean(high - low) / (target.high - target.low))
        else:
            q, said = float(level), model.predict(X.iloc[test])
            inside.append(np.mean(t < said))
            relative.append(_pinball(t, said, q) / _pinball(t, np.quantile(truth[train], q), q))
    return {
        "records": round(float(np.mean(sizes))),
        "table": len(y),
        "share": round(float(np.mean(inside)), 4),
        "relative": round(float(np.mean(relative)), 4),
    }


def two_values(n: int, epsilon: str) -> tuple[float, float]:
    """Coverage, and its error, where targets are 0 or, one in five, 1, and nothing tells which."""
    from frith import Domain, ForestRegressor, Numeric

    domain, rng = (
        Domain([Numeric("x", 0, 1)], Numeric("y", 0, 1), records=n),
        np.random.default_rng(0),
    )
    inside = []
    for _ in range(FITS):
        model = ForestRegressor(
            domain, epsilon=epsilon, loss="quantile", interval=COVERAGE, n_jobs=1
        )
        model.fit(rng.random((n, 1)), (rng.random(n) < 0.2) * 1.0, notices=False)
        truth = (rng.random(1_000) < 0.2) * 1.0
        low, high = model.predict_interval(rng.random((1_000, 1))).T
        inside.append(np.mean((truth >= low - 1e-3) & (truth <= high + 1e-3)))
    return float(np.mean(inside)), float(np.std(inside) / math.sqrt(FITS))


def _pinball(truth: Any, said: Any, q: float) -> float:
    return float(np.mean(np.maximum(q * (truth - said), (q - 1) * (truth - said))))


def main() -> None:
    from frith.datasets import folder

    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--folds", type=int, default=3)
    arguments.add_argument("--repeats", type=int, default=2)
    arguments.add_argument("--epsilons", default="0.1,1")
    arguments.add_argument("--report", **common.flag("write the page from the rows there are"))
    options = arguments.parse_args()
    asked = [f"interval {COVERAGE}", *(f"quantile {q}" for q in QUANTILES)]
    jobs = [
        {"set": n, "learner": kind, "epsilon": e, "folds": options.folds, "repeat": r}
        for n in sorted(
            common.loadable(folder.names("target")), key=lambda n: common.load(n)[0].size
        )
        for r in range(options.repeats)
        for e in options.epsilons.split(",")
        for kind in asked
        if len(common.load(n)[0]) * float(e) >= 100
    ]
    if not options.report:
        common.run_jobs(jobs, work, CSV, resume=True)
    REPORT.write_text(report(pd.read_csv(CSV, dtype={"epsilon": str}, keep_default_na=False)))
    print(f"wrote {REPORT}")


def report(rows: pd.DataFrame) -> str:
    epsilons = sorted(set(rows["epsilon"]), key=float)
    folds, repeats = int(rows["folds"].max()), rows["repeat"].nunique()
    means = rows.groupby(["set", "epsilon", "learner"])[
        ["records", "table", "share", "relative"]
    ].mean()
    lines, off = [], []
    for name, e in sorted({(n, e) for n, e, _ in means.index}):
        here = means.loc[name, e]
        interval, signal = here.loc[f"interval {COVERAGE}"], here["records"].iloc[0] * float(e)
        quantiles = [here.loc[f"quantile {q}"] for q in QUANTILES]
        inside, width = 100 * interval["share"], 100 * interval["relative"]
        below = [f"{100 * q['share']:.0f}%, {100 * q['relative']:.0f}%" for q in quantiles]
        lines.append([name, e, f"{signal:,.0f}", f"{inside:.1f}%", f"{width:.0f}%", *below])
        sampling = 2 * math.sqrt(0.09 * (1 / interval["table"] + 5 / interval["records"] / 2))
        if signal >= LEAST_SIGNAL:
            off.append((abs(interval["share"] - float(COVERAGE)), TOLERANCE + sampling))
    head = ["table", "epsilon", "s", "inside", "width", *(f"below {q}" for q in QUANTILES)]
    held = sum(found <= most for found, most in off)
    parts = [
        "# Intervals and quantiles of private regression\n",
        f"`python benchmarks/regression_intervals.py --folds {folds} --repeats {repeats} --epsilons "
        f"{','.join(epsilons)}`. *inside*: the share of targets outside the training folds that are in "
        f"the intervals of `ForestRegressor(interval={COVERAGE})`. *width*: that of the intervals, of the "
        'declared range. *below*: the share of targets below `ForestRegressor(loss="quantile")`, and its '
        "pinball loss, of that of the training records' own quantile, which is not private. s is records "
        "times epsilon; nothing was run below 100.\n",
        f"Where s is at least {LEAST_SIGNAL}: intervals are within 2 points of {float(COVERAGE):.0%}, beyond "
        "two standard errors of the table's and of the held-out records' own sampling, in "
        f"{held} of {len(off)} cells; {sum(found <= TOLERANCE for found, _ in off)} are within 2 points "
        "without that allowance.\n",
        common.markdown_table(head, lines),
        "## Where noise takes coverage\n",
        "Targets that are 0 or, one in five, 1, and nothing tells which: a distance that is a little too "
        "short misses one in five, and many distances are. No table above is like that. "
        f"{FITS} fits each, medians, intervals of {float(COVERAGE):.0%}.\n",
        common.markdown_table(
            ["records", "epsilon", "inside"],
            [
                [f"{n:,}", e, f"{100 * share:.1f}% ± {100 * error:.1f}"]
                for n, e in APART
                for share, error in [two_values(n, e)]
            ],
        ),
    ]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
