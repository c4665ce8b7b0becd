"""Fletcher and Islam 2015: which part of DP-RF, or of its baseline, makes the distance between them."""

from __future__ import annotations

from dataclasses import replace
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
    draw_lines,
    finish,
    grid,
    learner,
    score_table,
)

from frith import RandomDecisionForestClassifier, SignalForestClassifier
from frith.growing.random_trees import grow_supported_trees
from frith.learners.base import structure_rng
from frith.learners.public_trees import forest_of_leaves
from frith.learners.signal import least_support

# -- the learners ------------------------------------------------------------------------------


class ClippedRDT(RandomDecisionForestClassifier):
    """Private-RDT whose leaves have no count under 0, before trees are added up."""

    def finish(self, answered: Any, trees: Any, leaves: Any) -> Any:
        forest = super().finish(answered, trees, leaves)
        return replace(forest, values=np.maximum(forest.values, 0))


class RDTByConfidence(RandomDecisionForestClassifier):
    """Private-RDT's trees, pruned and asked as DP-RF does."""

    def finish(self, answered: Any, trees: Any, leaves: Any) -> Any:
        return SignalForestClassifier().finish(answered, trees, leaves)


class Unpruned(SignalForestClassifier):
    def finish(self, answered: Any, trees: Any, leaves: Any) -> Any:
        return forest_of_leaves(answered, trees, leaves, vote="confident")


class ByCounts(SignalForestClassifier):
    """DP-RF's trees, asked as Private-RDT does: nothing is pruned, counts add up."""

    def finish(self, answered: Any, trees: Any, leaves: Any) -> Any:
        return forest_of_leaves(answered, trees, leaves, vote="counts")


class TenTrees(SignalForestClassifier):
    """DP-RF with ten trees, or one for each attribute, whatever equation 9 says."""

    def grow(self, curator: Any) -> Any:
        domain = curator.domain
        self.tau_ = min(10, sum(a.size > 1 for a in domain.attributes))
        self.theta_ = least_support(curator, self.tau_)
        rng = structure_rng(self.random_state)
        return grow_supported_trees(domain, self.tau_, domain.records, self.theta_, rng)


LEARNERS = {
    "rdt": learner(RandomDecisionForestClassifier, n_trees=common.N_TREES),
    "rdt clipped": learner(ClippedRDT, n_trees=common.N_TREES),
    "rdt by confidence": learner(RDTByConfidence, n_trees=common.N_TREES),
    "dp_rf": learner(SignalForestClassifier),
    "dp_rf unpruned": learner(Unpruned),
    "dp_rf by counts": learner(ByCounts),
    "dp_rf ten trees": learner(TenTrees),
}
NAMES = {
    "rdt": "Private-RDT",
    "rdt clipped": "Private-RDT, no count under 0",
    "rdt by confidence": "Private-RDT's trees, DP-RF's pruning and vote",
    "dp_rf": "DP-RF",
    "dp_rf unpruned": "DP-RF, not pruned",
    "dp_rf by counts": "DP-RF's trees, Private-RDT's vote",
    "dp_rf ten trees": "DP-RF, ten trees",
}
BINNED = "pendigits, five bins"
EXPERIMENT = Experiment(
    {"car": 2, "nursery": 2, "mushroom": 2, "votes": 2, "tic_tac_toe": 2, "balance_scale": 2,
     BINNED: 2},
    ("0.05", "0.25", "1"),
    LEARNERS,
)  # fmt: skip

# -- the report --------------------------------------------------------------------------------

SETUP = """Each row changes one thing of DP-RF or of Private-RDT; fewer sets, epsilons and repeats than
above, so its standard errors are rough. The paper says of Private-RDT that "a count cannot go
below 0", so its baseline may have had no counts under 0, where ours adds them up as they are;
and it made five bins of each number.
"""


def report(scores: Scores) -> Report:
    names = scores.values("set")
    claims = [
        Claim(
            "DP-RF beats Private-RDT in 55 of 63 cells, on the paper's terms: five bins, no count under 0",
            "55 of 63",
            _wins(scores, names, "rdt clipped"),
        ),
        Claim(
            "the same, with five bins alone",
            "55 of 63",
            _wins(scores, names, "rdt"),
        ),
        Claim(
            "ours: DP-RF's pruning helps, on average",
            "",
            _lead(scores, names, "dp_rf", "dp_rf unpruned"),
        ),
        Claim(
            "ours: DP-RF's vote is better than adding counts up, on its own trees",
            "",
            _lead(scores, names, "dp_rf", "dp_rf by counts"),
        ),
        Claim(
            "ours: equation 9 is better than ten trees, on average",
            "",
            _lead(scores, names, "dp_rf", "dp_rf ten trees"),
        ),
    ]
    rows = [
        [
            NAMES[x],
            *(
                f"{100 * np.mean([scores.mean(n, x, e) for n in names]):.1f}"
                for e in scores.epsilons
            ),
        ]
        for x in LEARNERS
    ]
    bins = [[NAMES[x], *(scores.cell(BINNED, x, e) for e in scores.epsilons)] for x in LEARNERS]
    paragraphs = [
        SETUP,
        f"Accuracy, the mean of {len(names)} sets:\n",
        score_table(scores, rows),
        "Of these, pendigits with five bins:\n",
        score_table(scores, bins),
        _findings(scores, names),
    ]
    return Report("What makes the distance to Private-RDT", claims, paragraphs, _plot(scores))


def _wins(scores: Scores, names: list[str], base: str) -> tuple[bool, str]:
    leads = [scores.lead(n, "dp_rf", base, e).mean for n in names for e in scores.epsilons]
    wins = sum(lead > 0 for lead in leads)
    text = f"{wins} of {len(leads)}; {100 * min(leads):+.0f} to {100 * max(leads):+.0f} points"
    return wins >= len(leads) * 55 / 63, text


def _lead(scores: Scores, names: list[str], first: str, second: str) -> tuple[bool, str]:
    lead = _mean_lead(scores, names, first, second, scores.epsilons)
    return lead.mean > 0, f"{lead} points"


def _mean_lead(
    scores: Scores, names: list[str], first: str, second: str, epsilons: list[float]
) -> Lead:
    return Lead.average([scores.lead(n, first, second, e) for n in names for e in epsilons])


def _findings(scores: Scores, names: list[str]) -> str:
    def changes(first: str, second: str) -> str:
        leads = [_mean_lead(scores, names, first, second, [e]) for e in scores.epsilons]
        return ", ".join(map(str, leads))

    return (
        f"At {', '.join(f'{e:g}' for e in scores.epsilons)} DP-RF is {changes('dp_rf', 'rdt')} points "
        f"from Private-RDT, and with Private-RDT's vote, nothing pruned, "
        f"{changes('dp_rf by counts', 'rdt')}: its trees are not what holds it back, its pruning and its "
        "vote by the most confident node are. On Private-RDT's trees they cost "
        f"{changes('rdt by confidence', 'rdt')}. Counts that are never under 0 change Private-RDT by "
        f"{changes('rdt clipped', 'rdt')}. On pendigits with five bins at 0.25 DP-RF is "
        f"{scores.lead(BINNED, 'dp_rf', 'rdt', 0.25)} points from Private-RDT.\n"
    )


def _plot(scores: Scores) -> Any:
    names = scores.values("set")
    figure, axes = grid(names, 4)
    lines = {
        "rdt": (ORANGE, "-"), "rdt clipped": (ORANGE, "--"), "dp_rf": (BLUE, "-"),
        "dp_rf unpruned": (BLUE, "--"), "dp_rf by counts": (GREEN, "-"),
        "dp_rf ten trees": (GREEN, "--"),
    }  # fmt: skip
    for axis, name in zip(axes, names, strict=True):
        draw_lines(axis, scores, name, lines, NAMES)
    return finish(figure, axes, scores.epsilons)
