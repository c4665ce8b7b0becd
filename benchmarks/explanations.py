"""Whether what a forest states of its table is so: every interval, and rules that were counted.

    python benchmarks/explanations.py [--quick] [--resume] [--fits N]

Fits are on whole tables, and the truth is read from the same tables by pandas, from what rules say as
JSON: none of the code that counts, encodes or prints is used for it. Writes docs/results/explanations.md.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import common
import numpy as np
import pandas as pd

from frith import ForestClassifier
from frith.curator import Curator
from frith.curator.confusion import score_confusion
from frith.engines import open_table
from frith.learners import BY_NAME
from frith.privacy.budget import Budget

TABLES = (
    "nursery", "mushroom", "car", "tic_tac_toe", "kr_vs_kp", "german_credit", "credit_approval",
    "breast_cancer_wisconsin",
)  # fmt: skip
EPSILONS = ("0.5", "2", "20")
FITS = 9  # of each learner in each of the 24 cells: 216 in all
BOUGHT = ("nursery", "adult", "mushroom")
RULES_SHARE = "0.2"
RUNS = 10
SAMPLE = 300  # rules looked at in a forest, beside the ten shown first
COUNTED = re.compile(r"\((\d+)%(?: \[(\d+)% to (\d+)%\])? of (-?[\d,]+)(?: ± ([\d,]+))?\)$")


# -- the truth ---------------------------------------------------------------------------------


class Table:
    """A raw table, and which of its records meet what a rule's JSON says."""

    def __init__(self, X: pd.DataFrame, y: pd.Series, domain: dict[str, Any]):
        self.labels = y.astype(str).to_numpy()
        self.columns = {a["name"]: self._read(X[a["name"]], a) for a in domain["attributes"]}
        self.seen: dict[str, np.ndarray] = {}

    @staticmethod
    def _read(cells: pd.Series, attribute: dict[str, Any]) -> pd.Series:
        """Numbers clipped to their bounds; of categories, missing and foreign ones as declared."""
        if "values" not in attribute:
            numbers = pd.to_numeric(cells, errors="coerce").clip(
                attribute["low"], attribute["high"]
            )
            return numbers if attribute.get("missing") else numbers.fillna(attribute["low"])
        declared = {_text(v) for v in attribute["values"]}
        other = attribute.get("other")
        missing = attribute.get("missing", other)
        first = attribute["values"][0]
        missing, other = (_text(first if v is None else v) for v in (missing, other))
        return cells.map(
            lambda c: missing if pd.isna(c) else _text(c) if _text(c) in declared else other
        )

    def meets(self, condition: dict[str, Any]) -> np.ndarray:
        key = json.dumps(condition, sort_keys=True, default=str)
        if key not in self.seen:
            self.seen[key] = self._meets(condition)
        return self.seen[key]

    def _meets(self, condition: dict[str, Any]) -> np.ndarray:
        cells = self.columns[condition["attribute"]]
        if "values" in condition:
            return cells.isin({_text(v) for v in condition["values"]}).to_numpy()
        low, high = condition["at_least"], condition["below"]
        inside = pd.Series(condition["numbers"], index=cells.index) & cells.notna()
        inside &= True if low is None else cells >= low
        inside &= True if high is None else cells < high
        return (inside | (cells.isna() & condition["missing"])).to_numpy()

    def truth(self, rule: dict[str, Any]) -> tuple[int, float | None]:
        """The number of records that a rule is about, and the share that has its label."""
        inside = np.ones(len(self.labels), dtype=bool)
        for condition in rule["conditions"]:
            inside &= self.meets(condition)
        right = self.labels[inside] == _text(rule["label"])
        return len(right), float(right.mean()) if len(right) else None


def _text(value: Any) -> str:
    """One spelling of a value: 1, 1.0 and "1" are the same cell in a file."""
    text = str(value)
    return (
        text[:-2]
        if re.fullmatch(r"-?\d+\.0", text)
        else text.lower()
        if isinstance(value, bool)
        else text
    )


def stated(line: str) -> tuple[float, float, float, float] | None:
    """Both ends of the share and of the support, as the printed rule has them."""
    found = COUNTED.search(line)
    if found is None:
        return None
    share, low, high, support, margin = (g and float(g.replace(",", "")) for g in found.groups())
    low, high = (share - 0.5, share + 0.5) if low is None else (low, high)
    return low / 100, high / 100, support - (margin or 0.5), support + (margin or 0.5)


# -- intervals ---------------------------------------------------------------------------------


def check_intervals(job: dict[str, Any]) -> dict[str, Any]:
    """Fit one forest; how many of its printed intervals hold, and how many of the first ten rules'."""
    X, y, domain = common.load(job["set"])
    more = {"rules_share": RULES_SHARE} if job["learner"] == "forest" else {}
    forest = BY_NAME[job["learner"]](domain, epsilon=job["epsilon"], **more).fit(X, y).forest_
    rules = (forest.measured or forest).rules()
    rng = np.random.default_rng()
    later = rng.choice(
        np.arange(10, len(rules)), min(SAMPLE, max(0, len(rules) - 10)), replace=False
    )
    table = Table(X, y, domain.to_json())
    first = list(_held(table, [rules[i] for i in range(min(10, len(rules)))]))
    rest = list(_held(table, [rules[int(i)] for i in later]))
    score = score_confusion(Curator(open_table(X.assign(**{domain.label.name: y}), domain),
                                  Budget.of(job["epsilon"])), forest)  # fmt: skip
    low, high = score.accuracy_interval
    accuracy = float(np.mean(forest.predict(X).astype(str) == y.astype(str).to_numpy()))
    return {
        "first": sum(first), "first_of": len(first), "all": sum(first + rest),
        "all_of": len(first + rest), "score": int(low <= accuracy <= high),
    }  # fmt: skip


def _held(table: Table, rules: list[Any]) -> Iterator[bool]:
    """For each printed interval, whether it holds the truth."""
    for rule in rules:
        low, high, least, most = stated(str(rule))  # type: ignore[misc]
        records, share = table.truth(json.loads(json.dumps(rule.to_json())))
        yield least <= records <= most
        if share is not None:
            yield low <= share <= high


# -- rules that are bought ---------------------------------------------------------------------


def buy_rules(job: dict[str, Any]) -> dict[str, Any]:
    """Rules within two points of the truth of the training part, and accuracy on the other part."""
    X, y, domain = common.load(job["set"])
    train, test = next(common.folds(y, job["run"]))
    kept = {"rules_share": RULES_SHARE} if job["rules"] == "bought" else {}
    model = ForestClassifier(domain, epsilon=1, **kept).fit(X.iloc[train], y.iloc[train])
    result = {"accuracy": float(np.mean(model.predict(X.iloc[test]) == y.iloc[test]))}
    rules = model.forest_.measured.rules() if kept else []
    table = Table(X.iloc[train], y.iloc[train], domain.to_json())
    near = 0
    for rule in rules:
        share = table.truth(json.loads(json.dumps(rule.to_json())))[1]
        near += share is not None and abs(share - rule.confidence) <= 0.02
    return result | {"n_rules": len(rules), "near": near}


# -- the page ----------------------------------------------------------------------------------


def interval_rows(found: pd.DataFrame) -> list[list[str]]:
    rows = []
    for learner, part in found.groupby("learner", sort=False):
        sums = part[["first", "first_of", "all", "all_of", "score"]].sum()
        rows.append([
            learner, len(part), f"{sums['all'] / sums['all_of']:.2%}", f"{sums['all_of']:,}",
            f"{sums['first'] / sums['first_of']:.2%}", f"{sums['score'] / len(part):.1%}",
        ])  # fmt: skip
    return rows


def bought_rows(found: pd.DataFrame) -> list[list[str]]:
    rows = []
    for name, part in found.groupby("set", sort=False):
        without, bought = (part[part["rules"] == r] for r in ("none", "bought"))
        rows.append([
            name, f"{bought['n_rules'].mean():.1f}", f"{bought['near'].mean():.1f}",
            f"{bought['near'].min()}", f"{100 * without['accuracy'].mean():.1f}",
            f"{100 * bought['accuracy'].mean():.1f}",
        ])  # fmt: skip
    return rows


def main() -> None:
    of_cell = {"type": int, "default": FITS, "help": "fits of a learner in each cell"}
    options = common.parse_options(__doc__ or "", common.RESUME | {"--fits": of_cell})
    common.RESULT_FIELDS = (
        "accuracy", "n_rules", "near", "first", "first_of", "all", "all_of", "score",
    )  # fmt: skip
    tables, bought = common.loadable(TABLES), common.loadable(BOUGHT)
    fits, runs, epsilons = options.fits, RUNS, EPSILONS
    if options.quick:
        tables, bought, fits, runs, epsilons = tables[2:4], bought[:1], 1, 1, EPSILONS[1:2]
    jobs = [
        {"set": name, "epsilon": epsilon, "learner": learner, "fit": fit}
        for fit in range(fits) for name in tables for epsilon in epsilons for learner in BY_NAME
    ]  # fmt: skip
    buys = [
        {"set": name, "rules": rules, "run": run}
        for name in bought for rules in ("none", "bought") for run in range(runs)
    ]  # fmt: skip
    counted = common.run_jobs(
        buys, buy_rules, options.out / "explanations_rules.csv", options.resume
    )
    held = common.run_jobs(
        jobs, check_intervals, options.out / "explanations_intervals.csv", options.resume
    )
    held = held.astype(dict.fromkeys(("first", "first_of", "all", "all_of", "score"), int))
    page = "\n".join([
        "# What a forest states of its table, and whether it is so\n",
        f"By `benchmarks/explanations.py`, on {len(tables)} tables at epsilon "
        f"{', '.join(epsilons)}; {fits} fits of each learner in each of {len(tables) * len(epsilons)} "
        "cells. The truth is read by pandas from the raw training table.\n",
        "## Intervals\n",
        "An interval states 95%, and all intervals of a forest together do, so that those of a sorted "
        "list hold too: each alone holds nearly always. The flagship's are those of the rules it counts "
        f"for {RULES_SHARE} of its budget; its own scores have no true value and state none. A private "
        "score's interval is for itself alone.\n",
        common.markdown_table(
            ("learner", "fits", "intervals that hold", "of", "of the ten rules shown first",
             "private scores that hold"), interval_rows(held)),
        "\n## Rules that were counted\n",
        f"Epsilon 1, of which {RULES_SHARE} for rules; {runs} runs on nine tenths of a table, accuracy on "
        "the rest. A rule is near if its stated confidence is within two points of the table's own.\n",
        common.markdown_table(
            ("table", "rules", "near", "near, least of all runs", "accuracy without", "accuracy with"),
            bought_rows(counted)),
    ])  # fmt: skip
    (options.out / "explanations.md").write_text(page, encoding="utf-8")
    print(f"wrote {options.out / 'explanations.md'}")


if __name__ == "__main__":
    main()
