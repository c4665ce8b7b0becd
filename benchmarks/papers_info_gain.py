"""US 10,726,153: one tree of the information gain forest against several, on ten tables."""

from __future__ import annotations

from typing import Any

import common
import numpy as np
from papers_common import (
    BLUE,
    GREEN,
    ORANGE,
    Claim,
    Experiment,
    Lead,
    Report,
    Scores,
    draw_level,
    draw_lines,
    finish,
    grid,
    learner,
    score_rows,
    score_table,
)

from frith import InfoGainForestClassifier

LEARNERS = {
    "1": learner(InfoGainForestClassifier, n_trees=1),
    "4": learner(InfoGainForestClassifier, n_trees=4),
    "8 half": learner(InfoGainForestClassifier, n_trees=8, max_features=0.5),
}
NAMES = {
    "1": "1 tree",
    "4": "4 trees",
    "8 half": "8 trees of half the attributes",
}
EXPERIMENT = Experiment(
    {"car": 2, "votes": 4, "tic_tac_toe": 2, "balance_scale": 2, "kr_vs_kp": 2, "nursery": 2,
     "mushroom": 2, "phishing": 2, "krkopt": 2, "adult": 2},
    ("0.5", "2"),
    LEARNERS,
)  # fmt: skip

SETUP = """US 10,726,153, claim 1: "a number of decision trees" is determined, by a rule that the claim
does not give. Ours takes one tree for every 20,000 records x epsilon a label, 1 to 8; here the
number is fixed, and each number gets the depth that its share of epsilon allows. Standard errors
of two repeats are rough.
"""


def report(scores: Scores) -> Report:
    cells = [(n, e) for n in scores.values("set") for e in scores.epsilons]
    several = [x for x in LEARNERS if x != "1"]
    leads = {x: {c: scores.lead(c[0], x, "1", c[1]) for c in cells} for x in several}
    best = {c: max(LEARNERS, key=lambda x: scores.mean(c[0], x, c[1])) for c in cells}
    one = sum(x == "1" for x in best.values())
    claims = [
        Claim(
            f"ours: one tree is at least as accurate as {NAMES[x]}, on average",
            "",
            (Lead.average(list(of.values())).mean <= 0, _told(of)),
        )
        for x, of in leads.items()
    ]
    majority = {n: common.majority_accuracy(n, 1) for n in scores.values("set")}
    table = score_table(scores, score_rows(scores, LEARNERS, NAMES))
    words = (
        f"One tree is the best of the three in {one} of {len(cells)} cells. Several trees are clearly "
        f"better than one (by over two standard errors) in: {_where(leads)}.\n"
    )
    title = "One tree or several, by information gain"
    return Report(title, claims, [SETUP, table, words], _plot(scores, majority))


def _told(leads: dict[tuple[str, float], Lead]) -> str:
    up, down = (sum(lead.clear == sign for lead in leads.values()) for sign in (1, -1))
    mean = Lead.average(list(leads.values()))
    return f"{mean} points from one; clearly better {up}, worse {down} of {len(leads)}"


def _where(leads: dict[str, dict[tuple[str, float], Lead]]) -> str:
    clear = {
        cell: max((of[cell] for of in leads.values()), key=lambda lead: lead.mean)
        for cell in next(iter(leads.values()))
    }
    found = [
        f"{name} at {epsilon:g} ({lead})"
        for (name, epsilon), lead in clear.items()
        if lead.clear > 0
    ]
    return ", ".join(found) or "none"


def _plot(scores: Scores, majority: dict[str, float]) -> Any:
    figure, axes = grid(list(majority), 5)
    lines = {
        "1": (BLUE, "-"), "4": (GREEN, "-"),
        "8 half": (ORANGE, "--"),
    }  # fmt: skip
    for axis, (name, most) in zip(axes, majority.items(), strict=True):
        draw_lines(axis, scores, name, lines, NAMES)
        draw_level(axis, most, "majority label")
    return finish(figure, axes, np.array(scores.epsilons).tolist())
