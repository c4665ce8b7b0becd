"""Fletcher and Islam 2015: Gini forests (DPDF), against DiffPID3 and an exact random forest."""

from __future__ import annotations

import functools
from typing import Any

import common
import numpy as np
from papers_common import (
    BLUE,
    GREEN,
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

from frith import GiniForestClassifier, ID3Classifier
from frith.kernels import SplitTables
from frith.kernels.criteria import SCALE, GiniMass, split_scores

# -- the learners ------------------------------------------------------------------------------


class GlobalID3Classifier(ID3Classifier):
    """DiffPID3 as the DPDF paper ran it: by the Gini index as a share of the node's records, with the
    weights exp(epsilon score) that a sensitivity of 0.5 gives. Categorical attributes only."""

    as_published = True  # its noise does not keep what it claims where nodes are small

    def learn(self, curator: Any) -> Any:
        return super().learn(GlobalChoices(curator))


class GlobalChoices:
    """A curator, but for its choices."""

    def __init__(self, curator: Any):
        self._curator = curator

    def __getattr__(self, name: str) -> Any:
        return getattr(self._curator, name)

    def choose_splits(self, question: Any, share: Any, purpose: str, **_: Any) -> Any:
        level, shown = question.kernel, self._curator
        tables = SplitTables(level).take(shown.exact_counts(level))[question.places]
        masses = split_scores(tables, level.layout, GiniMass())
        picks = []
        for place, options in enumerate(question.options()):
            asked = level.layout.bins(int(level.layout.attribute_of[options[0]]))
            utilities = masses[place, options] / (SCALE * max(1, tables[place, asked].sum()))
            scale = 1 / float(share * shown.budget.total)
            picks.append(options[shown.published_choice(utilities.tolist(), scale)])
        return np.array(picks)


def random_forest(domain: Any, epsilon: float, seed: int, trees: int = 100) -> Any:
    """scikit-learn's forest with its default parameters, on ordinal codes. Not private."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OrdinalEncoder

    codes = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    return make_pipeline(codes, RandomForestClassifier(trees, random_state=seed, n_jobs=1))


DIFFPID3 = {"queries": "exponential", "criterion": "gini"}
TREES = ("1", "4")
FORMS: dict[str, dict[str, Any]] = {"": {}, " raw": {"consistent": False}, " published": PUBLISHED}

LEARNERS = {
    "diffpid3": learner(ID3Classifier, **DIFFPID3, max_depth=5),
    "diffpid3 global": learner(GlobalID3Classifier, **DIFFPID3, max_depth=4),
} | {
    f"dpdf {trees}{form}": learner(
        GiniForestClassifier, n_trees=int(trees), max_depth=4, **parameters
    )
    for form, parameters in FORMS.items()
    for trees in TREES
}
NAMES = {
    "diffpid3": "DiffPID3",
    "diffpid3 global": "DiffPID3, the paper's noise",
    "dpdf 1": "DPDF, 1 tree",
    "dpdf 4": "DPDF, 4 trees",
    "dpdf 1 raw": "DPDF, 1 tree, not consistent",
    "dpdf 4 raw": "DPDF, 4 trees, not consistent",
    "dpdf 1 published": "DPDF, 1 tree, as published",
    "dpdf 4 published": "DPDF, 4 trees, as published",
    "random forest": "random forest, exact",
    "random forest 10": "random forest of 10 trees, exact",
}
EXPERIMENT = Experiment(
    {"car": SMALL, "krkopt": LARGE, "connect4": LARGE, "mushroom": 5, "nursery": 6,
     "tic_tac_toe": SMALL},
    ("0.1", "0.25", "0.5", "1", "2"),
    LEARNERS,
    exact={
        "random forest": random_forest,
        "random forest 10": functools.partial(random_forest, trees=10),
    },
)  # fmt: skip

# -- the report --------------------------------------------------------------------------------

SETUP = """Fletcher and Islam 2015, section 5: five levels, 1 and 4 trees. The paper gives its
accuracies in plots only. In the paper DiffPID3 chooses by the Gini index as a share of a node's
records, with its global sensitivity 0.5; ours chooses by the Gini mass of a node, whose range is 2
records, which at a node of 1000 records weighs a difference about 500 times as much. Ours is
therefore a far stronger baseline, and the sound comparison is with it (five splits on a path). The
comparison as published is with the paper's noise and its epsilon for each query (Table 1: a tenth of
the budget, four splits). The random forest is scikit-learn's, exact, with today's default of 100
trees and with the 10 that were the default of the paper's release; how near a private tree comes to
it is judged by the paper's 10.
"""


def report(scores: Scores) -> Report:
    names = scores.values("set")
    forms = (("", "diffpid3"), (" published", "diffpid3 global"))
    better = _average_lead(scores, "", " published")
    smoother = _average_lead(scores, "", " raw")
    claims = [
        Claim(
            "on most sets DPDF, 1 or 4 trees, closes half of the gap from DiffPID3 to the forest",
            "most of 6",
            *(_halves(scores, form, base) for form, base in forms),
        )
    ]
    if "nursery" in names:
        claims += [
            Claim(
                "on nursery one tree beats DiffPID3 by almost 25 points (here: by 20, somewhere)",
                "almost 25",
                *(_nursery_lead(scores, form, base) for form, base in forms),
            ),
            Claim(
                "on nursery one tree comes within 7 points of the random forest (of 10 trees)",
                "within 7",
                *(_nursery_gap(scores, form) for form, _ in forms),
            ),
        ]
    claims += [
        Claim(
            "with 4 trees DPDF always beats DiffPID3 on tic-tac-toe and connect4",
            "10 of 10",
            *(_four_trees(scores, form, base) for form, base in forms),
        ),
        Claim(
            "ours: the sound forest is at least as accurate as the published one, on average",
            "",
            (better.mean >= 0, f"{better} points"),
        ),
        Claim(
            "ours: consistency helps, on average", "", (smoother.mean >= 0, f"{smoother} points")
        ),
    ]
    closed = [
        [
            name,
            *(
                f"{_closed(scores, name, f'dpdf {t}{form}', base):.2f}"
                for form, base in forms
                for t in TREES
            ),
        ]
        for name in names
    ]
    head = ("part of the gap closed", "sound, 1 tree", "4 trees", "as published, 1 tree", "4 trees")
    majority = {n: common.majority_accuracy(n, 1) for n in names}
    exact = [
        [
            n,
            f"{100 * majority[n]:.1f}",
            *(scores.cell(n, f, np.inf) for f in ("random forest 10", "random forest")),
        ]
        for n in names
    ]
    paragraphs = [
        SETUP,
        score_table(scores, score_rows(scores, LEARNERS, NAMES)),
        common.markdown_table(
            ("", "majority label", "random forest of 10 trees, exact", "of 100 trees"), exact
        ),
        "Accuracies averaged over epsilon; 1 is the random forest of 10 trees, 0 is DiffPID3:\n",
        common.markdown_table(head, closed),
        _findings(scores, majority),
    ]
    return Report("DPDF against DiffPID3", claims, paragraphs, _plot(scores, majority))


def _average_lead(scores: Scores, first: str, second: str) -> Lead:
    """Of one form of DPDF over another, over all sets, epsilons and numbers of trees."""
    return Lead.average([
        scores.lead(n, f"dpdf {t}{first}", f"dpdf {t}{second}", e)
        for n in scores.values("set") for t in TREES for e in scores.epsilons
    ])  # fmt: skip


def _closed(scores: Scores, name: str, learner: str, base: str) -> float:
    gap = scores.mean(name, "random forest 10", np.inf) - scores.mean(name, base)
    return (scores.mean(name, learner) - scores.mean(name, base)) / gap


def _halves(scores: Scores, form: str, base: str) -> tuple[bool, str]:
    names = scores.values("set")
    halved = [sum(_closed(scores, n, f"dpdf {t}{form}", base) >= 0.5 for n in names) for t in TREES]
    text = f"{halved[0]} of {len(names)} with 1 tree, {halved[1]} with 4"
    return max(halved) > len(names) / 2, text


def _nursery_lead(scores: Scores, form: str, base: str) -> tuple[bool, str]:
    leads = {e: scores.lead("nursery", f"dpdf 1{form}", base, e) for e in scores.epsilons}
    best = max(leads, key=lambda e: leads[e].mean)
    mean = np.mean([lead.mean for lead in leads.values()])
    return leads[best].mean >= 0.2, f"{leads[best]} at {best:g}; {100 * mean:.1f} on average"


def _nursery_gap(scores: Scores, form: str) -> tuple[bool, str]:
    ten, hundred = (scores.mean("nursery", f"random forest{n}", np.inf) for n in (" 10", ""))
    ours = {e: scores.mean("nursery", f"dpdf 1{form}", e) for e in scores.epsilons}
    best = max(ours, key=lambda e: ours[e])
    gaps = [100 * (forest - ours[best]) for forest in (ten, hundred)]
    return gaps[0] <= 7, f"{gaps[0]:.1f} at {best:g}; {gaps[1]:.1f} with 100 trees"


def _four_trees(scores: Scores, form: str, base: str) -> tuple[bool, str]:
    names = [n for n in ("tic_tac_toe", "connect4") if n in scores.values("set")]
    leads = [scores.lead(n, f"dpdf 4{form}", base, e) for n in names for e in scores.epsilons]
    wins = sum(lead.mean > 0 for lead in leads)
    return wins == len(leads), f"{wins} of {len(leads)}"


def _findings(scores: Scores, majority: dict[str, float]) -> str:
    cells = [(n, e) for n in majority for e in scores.epsilons]
    stronger = Lead.average([scores.lead(n, "diffpid3", "diffpid3 global", e) for n, e in cells])
    ahead = Lead.average([scores.lead(n, "dpdf 1", "diffpid3", e) for n, e in cells])
    more_trees = Lead.average([scores.lead(n, "dpdf 4", "dpdf 1", e) for n, e in cells])
    below = sum(scores.mean(n, "dpdf 1", e) < majority[n] for n, e in cells)
    return (
        f"Our DiffPID3 is {stronger} points better, over all sets and epsilons, than with the "
        "paper's noise. The claims about the distance to DiffPID3 are about that noise: against it "
        "the published forest shows most of what the paper says about nursery, and against ours a "
        f"sound forest of one tree is {ahead} points ahead on average. Four trees are {more_trees} "
        f"points ahead of one. Sound DPDF of one tree is under the majority label in {below} of "
        f"{len(cells)} cells; the paper's plots are needed to say whether its own was.\n"
    )


def _plot(scores: Scores, majority: dict[str, float]) -> Any:
    figure, axes = grid(list(majority), 3)
    lines = {
        "dpdf 1": (BLUE, "-"), "dpdf 1 published": (BLUE, "--"),
        "dpdf 4": (GREEN, "-"), "dpdf 4 published": (GREEN, "--"),
        "diffpid3": (ORANGE, "-"), "diffpid3 global": (ORANGE, "--"),
    }  # fmt: skip
    for axis, (name, most) in zip(axes, majority.items(), strict=True):
        draw_lines(axis, scores, name, lines, NAMES)
        draw_level(axis, most, "majority label")
        exact = scores.mean(name, "random forest", np.inf)
        axis.axhline(100 * exact, color=common.INK, linewidth=1, label=NAMES["random forest"])
    return finish(figure, axes, scores.epsilons)
