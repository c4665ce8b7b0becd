"""Whether private scores hold: every interval beside the exact value on the scored records.

    python benchmarks/private_scores.py [--quick] [--resume] [--runs N]

A forest of epsilon 1 is trained on one half of a table, and the other half is scored 50 times by
`score_forest`; then the next forest. The exact values are scikit-learn's and pandas', from the raw
half. Writes docs/results/private_scores.md.
"""

from __future__ import annotations

from typing import Any

import common
import numpy as np
import pandas as pd
from sklearn.metrics import brier_score_loss, log_loss, roc_auc_score
from sklearn.model_selection import train_test_split

from frith import ForestClassifier
from frith.curator import Curator
from frith.curator.group_rates import RATES
from frith.curator.label_score import CLIP, LabelScore
from frith.curator.scoring import ScoreRequest, score_forest
from frith.engines import open_table
from frith.privacy.budget import Budget

GROUPS = {  # two attributes of each table: values of one, quarters of the other if it is a number
    "breast_cancer_diagnostic": (0, 5),
    "german_credit": (0, 1),
    "tic_tac_toe": (0, 4),
    "mushroom": (0, 4),
    "adult": (9, 0),
    "bank_marketing": (2, 0),
}
EPSILONS = ("0.1", "1")
RUNS = 500
OF_A_FOREST = 50
NUMBERS = ("accuracy", "auc", "log_loss", "brier")
HELD = (*NUMBERS, "calibration", "rates")
FIELDS = (*HELD, *(f"{name} {what}" for name in NUMBERS for what in ("width", "error")), "rates of")


def exact_values(chances: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    return {
        "accuracy": float(np.mean((chances > 0.5) == truth)),
        "auc": float(roc_auc_score(truth, chances)),
        "log_loss": float(log_loss(truth, np.clip(chances, CLIP, 1 - CLIP))),
        "brier": float(brier_score_loss(truth, chances)),
    }


def exact_rates(said: np.ndarray, truth: np.ndarray) -> dict[str, float | None]:
    """None where a group has no records that a rate is of."""
    parts = {
        "share": (truth, np.ones_like(truth)), "predicted": (said, np.ones_like(truth)),
        "recall": (said & truth, truth), "false_alarms": (said & ~truth, ~truth),
        "precision": (said & truth, said), "accuracy": (said == truth, np.ones_like(truth)),
    }  # fmt: skip
    return {n: float(a.sum() / b.sum()) if b.sum() else None for n, (a, b) in parts.items()}


def is_in(value: float, found: Any) -> bool:
    return bool(found.low - 1e-9 <= value <= found.high + 1e-9)


def curve_holds(score: LabelScore, chances: np.ndarray, truth: np.ndarray) -> bool:
    """Whether all points of the curve hold at once."""
    for point in score.calibration:
        inside = (chances > point.low) & (chances <= point.high)
        inside |= (chances == 0) & (point.low == 0)
        if inside.any() and not is_in(float(truth[inside].mean()), point.share):
            return False
    return True


def check(job: dict[str, Any]) -> dict[str, Any]:
    """One forest, and how many of its scores hold what."""
    X, y, domain = common.load(job["set"])
    seed = job["forest"]
    X, other, y, label = train_test_split(X, y, test_size=0.5, random_state=seed, stratify=y)
    forest = ForestClassifier(domain, epsilon=1).fit(X, y, notices=False).forest_
    table = open_table(other, domain, label)
    chances = forest.predict_proba(other)[:, 1]
    truth = label.astype(str).to_numpy() == str(domain.label_values[1])
    values = exact_values(chances, truth)
    by = tuple(domain.names[a] for a in GROUPS[job["set"]])
    groups = {name: _groups(domain, name, forest.encode(other)) for name in by}
    sums = dict.fromkeys(FIELDS, 0.0)
    for _ in range(job["scores"]):
        plain = score_forest(Curator(table, Budget.of(job["epsilon"])), forest, ScoreRequest())
        for name, value in values.items():
            found = getattr(plain, name)
            sums[name] += is_in(value, found)
            sums[f"{name} width"] += found.high - found.low
            sums[f"{name} error"] += abs(found.value - value)
        sums["calibration"] += curve_holds(plain, chances, truth)
        budget = Budget.of(job["epsilon"])
        grouped = score_forest(Curator(table, budget), forest, ScoreRequest("accuracy", by))
        for name in by:
            rows = grouped.by(name)
            exact = [exact_rates(*(v[groups[name] == g] for v in (chances > 0.5, truth)))
                     for g in range(len(rows))]  # fmt: skip
            for rate in RATES:
                pairs = zip(exact, rows, strict=True)
                sums["rates"] += all(
                    is_in(e[rate], r[rate]) for e, r in pairs if e[rate] is not None
                )
                sums["rates of"] += 1
    return {name: round(total, 6) for name, total in sums.items()}


def _groups(domain: Any, name: str, codes: np.ndarray) -> np.ndarray:
    place = domain.names.index(name)
    column, attribute = codes[:, place].astype(int), domain.attributes[place]
    cells = getattr(attribute, "cells", 0)
    return column * 4 // cells if cells > 16 else column


def main() -> None:
    of_cell = {"type": int, "default": RUNS, "help": "scores in each cell"}
    options = common.parse_options(__doc__ or "", common.RESUME | {"--runs": of_cell})
    common.RESULT_FIELDS = FIELDS
    tables, epsilons, runs = common.loadable(tuple(GROUPS)), EPSILONS, options.runs
    if options.quick:
        tables, epsilons, runs = tables[:2], EPSILONS[1:], OF_A_FOREST
    jobs = [
        {"set": name, "epsilon": epsilon, "forest": forest, "scores": OF_A_FOREST}
        for forest in range(runs // OF_A_FOREST) for name in tables for epsilon in epsilons
    ]  # fmt: skip
    found = common.run_jobs(jobs, check, options.out / "private_scores.csv", options.resume)
    found = found.astype(dict.fromkeys((*FIELDS, "scores"), float))
    (options.out / "private_scores.md").write_text(page(found), encoding="utf-8")
    print(f"wrote {options.out / 'private_scores.md'}")


def held(part: pd.DataFrame) -> list[float]:
    sums = part.sum(numeric_only=True)
    return [sums[n] / sums["rates of" if n == "rates" else "scores"] for n in HELD]


def page(found: pd.DataFrame) -> str:
    cells = [(name, epsilon, part)
             for (epsilon, name), part in found.groupby(["epsilon", "set"], sort=False)]  # fmt: skip
    shares = np.array([held(part) for *_, part in cells])
    of_each = int(cells[0][2]["scores"].sum())
    rows = [[name, len_half(name), epsilon, *(f"{100 * v:.1f}" for v in values)]
            for (name, epsilon, _), values in zip(cells, shares, strict=True)]  # fmt: skip
    widths = [
        [name, epsilon,
         *(f"{part[f'{n} error'].sum() / of_each:.3f}, {part[f'{n} width'].sum() / of_each:.2f}"
           for n in NUMBERS)]
        for name, epsilon, part in cells
    ]  # fmt: skip
    return "\n".join([
        "# Private scores, and whether they hold\n",
        f"By `benchmarks/private_scores.py`: {of_each} scores in each of {len(cells)} cells, of forests of "
        f"epsilon 1 ({OF_A_FOREST} scores each) on the half of a table that they were not trained on. The "
        "exact values are scikit-learn's and pandas'.\n",
        "## How often intervals hold, in percent\n",
        "Stated are 95. A calibration curve holds if all its points do, a rate if it does in all groups of "
        f"an attribute. Over all cells: {100 * np.mean(shares):.1f}; the least of all cells and columns: "
        f"{100 * shares.min():.1f}.\n",
        common.markdown_table(
            ("table", "records scored", "epsilon", *(n.replace("_", " ") for n in HELD)), rows),
        "\n## How far off, and how wide\n",
        "The mean distance of the stated value from the exact one, and the mean width of the interval. A "
        "width of 1 (2 and more for the log loss) says that nothing can be told at that budget.\n",
        common.markdown_table(
            ("table", "epsilon", *(n.replace("_", " ") for n in NUMBERS)), widths),
    ])  # fmt: skip


def len_half(name: str) -> str:
    return f"{len(common.load(name)[1]) // 2:,}"


if __name__ == "__main__":
    main()
