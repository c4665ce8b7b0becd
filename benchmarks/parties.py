"""Accuracy of forests that several parties make together, beside those of one curator.

Jagannathan, Pillaipakkamnatt and Wright 2012, sections 5.3, 6.2 and 6.3: records split over parties
(horizontal), attributes split over parties (vertical). Beyond the paper: secure sums, and learners
that choose their splits.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import common
import numpy as np
import pandas as pd

SETS, VERTICAL_SET = ("nursery", "mushroom"), "votes"
EPSILON = "0.5"
EPSILONS = ("inf", "5", "4", "3", "2", "1", "0.75", "0.5", "0.25", "0.1", "0.01")
PARTIES, COLLUDERS, FEW = (2, 4, 6, 8, 10), 1, 3
WAYS = ("open", "secure", "scaled")
VERTICAL = {
    "whole": 1,
    "each epsilon": 1,
    "each half": 2,
}  # what each forest's epsilon is divided by
LEARNERS = {"gini": "0", "info-gain": "0", "c45": "0", "forest": "1e-6"}  # and their delta
LEARNER_EPSILONS = ("0.5", "2")
ENSEMBLES, VERTICAL_ENSEMBLES, RUNS = 5, 10, 5
VOTES_TREES = 5


def main() -> None:
    options = common.parse_options("Accuracy of forests that several parties make together.")
    repeats = (2, 2, 1) if options.quick else (ENSEMBLES, VERTICAL_ENSEMBLES, RUNS)
    path = options.out / "parties.csv"
    rows, majority = common.measure(list(all_jobs(*repeats)), score, path, options.resume)
    write_words(rows, majority, path.with_suffix(".md"), repeats)
    plot(rows, majority, path.with_suffix(".png"))


def all_jobs(ensembles: int, vertical_ensembles: int, runs: int) -> Iterator[dict[str, Any]]:
    def job(part: str, name: str, learner: str, way: str, m: int, epsilon: str, n: int) -> Any:
        return {
            "part": part, "set": name, "learner": learner, "way": way, "parties": m,
            "epsilon": epsilon, "ensemble": n,
        }  # fmt: skip

    for n in range(ensembles):
        for name in SETS:
            yield job("horizontal", name, "random-decision", "pooled", 1, EPSILON, n)
            for m in PARTIES:
                for way in WAYS:
                    yield job("horizontal", name, "random-decision", way, m, EPSILON, n)
    for n in range(vertical_ensembles):
        for epsilon in EPSILONS:
            for way in VERTICAL:
                yield job("vertical", VERTICAL_SET, "random-decision", way, 2, epsilon, n)
    for n in range(runs):
        for name in SETS:
            for learner in LEARNERS:
                for epsilon in LEARNER_EPSILONS:
                    for way in ("pooled", "open", "secure"):
                        m = 1 if way == "pooled" else FEW
                        yield job("learners", name, learner, way, m, epsilon, n)


def score(job: dict[str, Any]) -> dict[str, Any]:
    """Mean accuracy over the folds of one ensemble, each fold dealt to the parties anew."""
    X, y, domain = common.load(job["set"])
    learn = {"horizontal": horizontal, "vertical": vertical, "learners": horizontal}[job["part"]]
    hits = []
    seed = job["ensemble"] if job["part"] == "learners" else 0
    for fold, (train, test) in enumerate(common.folds(y, seed)):
        rng = np.random.default_rng((job["ensemble"], fold))
        forest = learn(job, X.iloc[train], y.iloc[train], domain, rng)
        hits.append(np.mean(forest.predict(X.iloc[test]) == y.iloc[test]))
    return {"accuracy": f"{np.mean(hits):.6f}"}


# -- one fold ----------------------------------------------------------------------------------


def horizontal(job: dict[str, Any], X: Any, y: Any, domain: Any, rng: np.random.Generator) -> Any:
    from frith import Budget
    from frith.parties import OpenSum, SecureSum, train_together

    m, way = job["parties"], job["way"]
    budget = Budget.of(epsilon_of(job), LEARNERS.get(job["learner"], "0"))
    learner = make_learner(job, domain, budget)
    dealt = np.array_split(rng.permutation(len(X)), 1 if way == "scaled" else m)
    parties = {
        f"party {i}": curator_of(X.iloc[rows], y.iloc[rows], domain, budget)
        for i, rows in enumerate(dealt)
    }
    if way in ("pooled", "scaled"):
        return learner.learn(parties["party 0"])
    panel = (
        SecureSum(with_keys(parties), colluders=COLLUDERS, disjoint=True)
        if way == "secure"
        else OpenSum(parties, disjoint=True)
    )
    forest = train_together(learner, panel).forest_
    # the words beside the table say so; a run in which it is not true must not write them
    assert forest.guarantee.epsilon == budget.epsilon
    return forest


def epsilon_of(job: dict[str, Any]) -> str:
    """A pooled forest whose variance is m / (m - t) times the central one's spends so much."""
    if job["way"] != "scaled":
        return str(job["epsilon"])
    return repr(float(job["epsilon"]) * ((job["parties"] - COLLUDERS) / job["parties"]) ** 0.5)


def make_learner(job: dict[str, Any], domain: Any, budget: Any) -> Any:
    from frith.learners import BY_NAME

    options: dict[str, Any] = {"epsilon": budget.epsilon, "delta": budget.delta, "n_jobs": 1}
    if job["learner"] == "random-decision":
        options |= {"n_trees": common.N_TREES, "random_state": job["ensemble"]}
    return BY_NAME[job["learner"]](domain, **options)


def curator_of(X: pd.DataFrame, y: pd.Series, domain: Any, budget: Any) -> Any:
    from frith import open_table
    from frith.curator import Curator

    return Curator(open_table(X, domain, y, threads=1), budget)


def with_keys(curators: dict[str, Any]) -> dict[str, Any]:
    from frith.parties import Keys, LocalParty

    keys = {name: Keys.new(name) for name in curators}
    public = {name: key.public for name, key in keys.items()}
    return {n: LocalParty(c, keys[n].knowing(public)) for n, c in curators.items()}


def vertical(job: dict[str, Any], X: Any, y: Any, domain: Any, rng: np.random.Generator) -> Any:
    """Two parties, each with half of the attributes, dealt at random as in the paper."""
    from dataclasses import replace
    from fractions import Fraction

    from frith.parties import join

    epsilon: Any = job["epsilon"]
    if epsilon != "inf":
        epsilon = Fraction(epsilon) / VERTICAL[job["way"]]
    if job["way"] == "whole":
        return tree_forest(job, X, y, domain, epsilon)
    order = rng.permutation(len(domain.attributes))
    forests = {}
    for party, places in zip(("alice", "bob"), np.array_split(order, 2), strict=True):
        own = tuple(domain.attributes[i] for i in sorted(places))
        forests[party] = tree_forest(job, X, y, replace(domain, attributes=own), epsilon)
    return join(forests)


def tree_forest(job: dict[str, Any], X: Any, y: Any, domain: Any, epsilon: Any) -> Any:
    from frith import RandomDecisionForestClassifier

    model = RandomDecisionForestClassifier(
        domain, epsilon=epsilon, n_trees=VOTES_TREES, random_state=job["ensemble"], n_jobs=1
    )
    return model.fit(X[list(domain.names)], y).forest_


# -- words -------------------------------------------------------------------------------------


def write_words(
    rows: pd.DataFrame, majority: dict[str, float], path: Path, repeats: tuple[int, int, int]
) -> None:
    ensembles, vertical_ensembles, runs = repeats
    parts = [
        "# Accuracy of forests that several parties make together\n",
        "Accuracies in percent, with Student's interval for their mean. One accuracy is the mean over "
        f"{common.FOLDS}-fold stratified cross-validation with fresh noise for every fold. Noise has "
        "no seed, so another run differs a little.\n",
        "Made by `python benchmarks/parties.py`; every accuracy is in parties.csv.\n",
        "![accuracy by number of parties and by epsilon](parties.png)\n",
        *horizontal_words(rows[rows["part"] == "horizontal"], majority, ensembles),
        *vertical_words(rows[rows["part"] == "vertical"], majority, vertical_ensembles),
        *learner_words(rows[rows["part"] == "learners"], runs),
    ]
    path.write_text("\n".join(parts), encoding="utf-8")
    print(f"wrote {path}")


def horizontal_words(rows: pd.DataFrame, majority: dict[str, float], ensembles: int) -> list[str]:
    parts = [
        "## Records at several parties\n",
        f"Random decision trees, epsilon {EPSILON} at each party, {common.N_TREES} trees, {ensembles} "
        f"ensembles (seeds 0 to {ensembles - 1}, fold seed 0). The training records are dealt at random "
        "to m parties of equal size, which declare disjoint people, so the epsilon of all of them "
        f"together is {EPSILON} too. *Open*: every party publishes noisy counts, so their sum has m "
        "times the variance of one curator's noise. *Secure*: parties hide their counts under masks "
        f"and add shares of noise, for {COLLUDERS} colluder: m / (m - 1) times that variance. *Same "
        "variance, pooled*: one curator with all records and noise of that variance. The last column "
        "is the difference of those two, ensemble by ensemble: an interval that holds 0 means that "
        "none was seen.\n",
    ]
    for name, group in rows.groupby("set", sort=False):
        pooled = mean_of(group[group["way"] == "pooled"])
        table = [horizontal_row(m, part) for m, part in group.groupby("parties") if m > 1]
        head = ("parties", "open", "secure", "same variance, pooled", "secure less that")
        parts += [
            f"### {name.capitalize()}\n",
            f"Predicting the majority label scores {100 * majority[name]:.1f}; one curator with all "
            f"records at epsilon {EPSILON} scores {pooled}.\n",
            common.markdown_table(head, table),
            common.NOTES[name] + "\n",
        ]
    return parts


def horizontal_row(m: int, part: pd.DataFrame) -> list[str]:
    by_way = {way: g.set_index("ensemble")["accuracy"] for way, g in part.groupby("way")}
    cells = [mean_of(part[part["way"] == way]) for way in WAYS]
    return [str(m), *cells, interval(by_way["secure"] - by_way["scaled"], sign="+")]


def vertical_words(rows: pd.DataFrame, majority: dict[str, float], ensembles: int) -> list[str]:
    if rows.empty:
        return []
    table = [
        [f"{float(epsilon):g}", *(mean_of(part[part["way"] == way]) for way in VERTICAL)]
        for epsilon, part in rows.groupby("epsilon", sort=False)
    ]
    return [
        "## Attributes at two parties\n",
        f"Congressional voting records, {ensembles} ensembles of {VOTES_TREES} random decision trees "
        "(as in the paper) at each party; the attributes are dealt at random to two parties, fold by "
        "fold. *Whole*: one curator with all attributes spends epsilon. *Each epsilon*: both parties "
        "spend epsilon, as in the paper, which is 2 epsilon in all: the releases are about the same "
        "people. *Each half*: both spend half of it, so that the whole is epsilon too. A missing vote "
        "counts as a declared value of its own; the paper put the majority vote in its place.\n",
        f"Predicting the majority label scores {100 * majority[VERTICAL_SET]:.1f}.\n",
        common.markdown_table(("epsilon", *VERTICAL), table),
    ]


def learner_words(rows: pd.DataFrame, runs: int) -> list[str]:
    if rows.empty:
        return []
    table = []
    for (name, learner, epsilon), part in rows.groupby(["set", "learner", "epsilon"], sort=False):
        delta = LEARNERS[learner]
        budget = f"{float(epsilon):g}" + ("" if delta == "0" else f", delta {delta}")
        cells = [mean_of(part[part["way"] == way]) for way in ("pooled", "open", "secure")]
        table.append([f"{name}, {learner}", budget, *cells])
    return [
        "## Learners that choose their splits\n",
        f"{FEW} parties with disjoint people, {runs} rounds of cross-validation (fold seeds 0 to "
        f"{runs - 1}). *Pooled*: one curator with all records, who chooses privately. *Open* and "
        "*secure*: splits are chosen from noisy sums of what the choice is scored by. The flagship "
        "(`forest`) is asked with a delta: its pure noise is too wide to be drawn in exact shares.\n",
        common.markdown_table(("table, learner", "epsilon", "pooled", "open", "secure"), table),
    ]


def mean_of(part: pd.DataFrame) -> str:
    return interval(part["accuracy"])


def interval(values: pd.Series, sign: str = "") -> str:
    """A mean and the reach of Student's interval for it, in percent."""
    from scipy.stats import t

    reach = np.nan
    if len(values) > 1:
        reach = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    text = f"{100 * values.mean():{sign}.1f}"
    return f"{text} ± {100 * reach:.1f}" if np.isfinite(reach) else text


# -- plots -------------------------------------------------------------------------------------

NAMES = {"open": "open", "secure": "secure", "scaled": "same variance, pooled"}
LINES = {"open": common.GUIDE, "secure": common.LINE, "scaled": "#7a7a7a"}


def plot(rows: pd.DataFrame, majority: dict[str, float], path: Path) -> None:
    figure, axes = common.panels(list(majority))
    for axis, name in zip(axes, majority, strict=True):
        group = rows[(rows["set"] == name) & (rows["part"] != "learners")]
        (plot_vertical if name == VERTICAL_SET else plot_horizontal)(axis, group)
        axis.axhline(
            100 * majority[name],
            color="#aaaaaa",
            linestyle=":",
            linewidth=1,
            label="majority label",
        )
        axis.legend(frameon=False)
    common.save(figure, path)


def plot_horizontal(axis: Any, group: pd.DataFrame) -> None:
    for way in WAYS:
        draw_line(axis, group[group["way"] == way], "parties", NAMES[way], LINES[way])
    pooled = 100 * group[group["way"] == "pooled"]["accuracy"].mean()
    axis.axhline(pooled, color=common.INK, linestyle="--", linewidth=1, label="pooled")
    axis.set_xticks(PARTIES)
    axis.set_xlabel(f"parties m (epsilon {EPSILON})")


def plot_vertical(axis: Any, group: pd.DataFrame) -> None:
    places = {float(e): i for i, e in enumerate(EPSILONS)}
    group = group.assign(place=group["epsilon"].astype(float).map(places))
    for way, color in zip(VERTICAL, (common.INK, common.GUIDE, common.LINE), strict=True):
        draw_line(axis, group[group["way"] == way], "place", way, color)
    inverse = ["0" if e == "inf" else f"{round(1 / float(e), 2):g}" for e in EPSILONS]
    axis.set_xticks(range(len(EPSILONS)), inverse)
    axis.set_xlabel("1 / epsilon")


def draw_line(axis: Any, part: pd.DataFrame, by: str, name: str, color: str) -> None:
    """Means with their range over the ensembles."""
    found = 100 * part.groupby(by)["accuracy"].agg(["mean", "min", "max"])
    axis.plot(found.index, found["mean"], color=color, marker="o", markersize=4, label=name)
    axis.fill_between(found.index, found["min"], found["max"], color=color, alpha=0.12, linewidth=0)


if __name__ == "__main__":
    main()
