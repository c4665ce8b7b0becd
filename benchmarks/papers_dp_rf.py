"""Fletcher and Islam 2015: a forest tuned by signal-to-noise ratios, against Private-RDT."""

from __future__ import annotations

from typing import Any

import common
from papers_common import (
    BLUE,
    LARGE,
    ORANGE,
    PUBLISHED,
    SMALL,
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

from frith import RandomDecisionForestClassifier, SignalForestClassifier

LEARNERS = {
    "rdt": learner(RandomDecisionForestClassifier, n_trees=common.N_TREES),
    "dp_rf": learner(SignalForestClassifier),
    "dp_rf published": learner(SignalForestClassifier, **PUBLISHED),
}
NAMES = {"rdt": "Private-RDT", "dp_rf": "DP-RF", "dp_rf published": "DP-RF, as published"}
EXPERIMENT = Experiment(
    {"car": SMALL, "nursery": SMALL, "mushroom": 5, "votes": 30, "krkopt": LARGE,
     "tic_tac_toe": SMALL, "balance_scale": SMALL, "adult": LARGE, "pendigits": LARGE},
    ("0.01", "0.05", "0.1", "0.25", "0.5", "1", "2"),
    LEARNERS,
)  # fmt: skip

SETUP = """Fletcher and Islam 2015, section 5. The paper does not name or tabulate its nine UCI
sets in its text; these are nine that are at hand. Private-RDT has 10 trees of the height its paper
gives; DP-RF chooses everything itself. Both are told the number of records of the whole set, which
the domains declare; DP-RF as published uses the exact number of training records instead, and that
is all the two forms differ in. Numeric attributes (all of pendigits, six of adult) are cut at
random in both, where the paper makes five bins.
"""


def report(scores: Scores) -> Report:
    cells = [(n, e) for n in scores.values("set") for e in scores.epsilons]
    leads = {
        form: {(n, e): scores.lead(n, form, "rdt", e) for n, e in cells}
        for form in ("dp_rf", "dp_rf published")
    }
    claims = [
        Claim(
            "DP-RF beats Private-RDT in 55 of 63 cells (here: in as large a part)",
            "55 of 63",
            *(_wins(leads[form]) for form in leads),
        ),
        Claim(
            "at its best it is 45 points ahead, on sets that the paper does not name",
            "45",
            *((None, _end(leads[form], max)) for form in leads),
        ),
        Claim(
            "at its worst it is 7 points behind",
            "-7",
            *(_worst(leads[form]) for form in leads),
        ),
        Claim(
            "on the mean over epsilon, DP-RF is ahead on every set",
            "9 of 9",
            *(_ahead(scores, form) for form in leads),
        ),
    ]
    wins = [
        [
            NAMES[form],
            *(
                sum(leads[form][n, e].mean > 0 for n in scores.values("set"))
                for e in scores.epsilons
            ),
        ]
        for form in leads
    ]
    majority = {n: common.majority_accuracy(n, 1) for n in scores.values("set")}
    paragraphs = [
        SETUP,
        score_table(scores, score_rows(scores, LEARNERS, NAMES)),
        f"Sets, of {len(majority)}, on which DP-RF is ahead:\n",
        score_table(scores, wins),
        _findings(scores, leads["dp_rf"], majority),
    ]
    return Report("DP-RF against Private-RDT", claims, paragraphs, _plot(scores, majority))


def _wins(leads: dict[Any, Lead]) -> tuple[bool, str]:
    wins = sum(lead.mean > 0 for lead in leads.values())
    up, down = (sum(lead.clear == sign for lead in leads.values()) for sign in (1, -1))
    return wins >= len(
        leads
    ) * 55 / 63, f"{wins} of {len(leads)}; clearly better {up}, worse {down}"


def _worst(leads: dict[Any, Lead]) -> tuple[bool, str]:
    """The paper rounds to whole points."""
    return min(lead.mean for lead in leads.values()) >= -0.075, _end(leads, min)


def _end(leads: dict[Any, Lead], pick: Any) -> str:
    cell = pick(leads, key=lambda c: leads[c].mean)
    return f"{100 * leads[cell].mean:+.1f}, {cell[0]} at {cell[1]:g}"


def _ahead(scores: Scores, form: str) -> tuple[bool, str]:
    names = scores.values("set")
    ahead = sum(scores.mean(n, form) > scores.mean(n, "rdt") for n in names)
    return ahead == len(names), f"{ahead} of {len(names)}"


def _findings(scores: Scores, leads: dict[Any, Lead], majority: dict[str, float]) -> str:
    best, worst = (pick(leads, key=lambda c: leads[c].mean) for pick in (max, min))
    low = [lead.mean > 0 for (_, e), lead in leads.items() if e <= 0.1]
    high = [lead.mean > 0 for (_, e), lead in leads.items() if e >= 0.5]
    plain = sum(abs(scores.mean(n, "dp_rf", e) - majority[n]) < 0.01 for n, e in leads)
    return (
        f"Where epsilon is small we agree with the paper: sound DP-RF is ahead in {sum(low)} of "
        f"{len(low)} cells up to epsilon 0.1. From 0.5 on it is ahead in {sum(high)} of {len(high)}, "
        "so the paper's lead at large epsilons is not found here, on these sets. The best cell is "
        f"{100 * leads[best].mean:+.0f} points ({best[0]} at {best[1]:g}; the paper: +45), the worst "
        f"{100 * leads[worst].mean:+.0f} ({worst[0]} at {worst[1]:g}; the paper: -7). In {plain} "
        f"of {len(leads)} cells DP-RF is within a point of the majority label: what it saves at small "
        "epsilons, by few and low trees, it does not win back at large ones.\n"
    )


def _plot(scores: Scores, majority: dict[str, float]) -> Any:
    figure, axes = grid(list(majority), 3)
    lines = {"rdt": (ORANGE, "-"), "dp_rf": (BLUE, "-"), "dp_rf published": (BLUE, "--")}
    for axis, (name, most) in zip(axes, majority.items(), strict=True):
        draw_lines(axis, scores, name, lines, NAMES)
        draw_level(axis, most, "majority label")
    return finish(figure, axes, scores.epsilons)
