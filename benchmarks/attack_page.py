"""The scoreboard in words and pictures, and what on it would be wrong."""

from __future__ import annotations

import math
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from attack_bounds import FALSE_ALARM, largest_advantage
from attack_pictures import PUBLISHED, SHOWN, draw_membership, draw_reconstruction
from attack_sizes import (
    BAD,
    BAD_FITS,
    BRIEF,
    EPSILONS,
    EXACT,
    FLAGSHIP,
    FULL,
    GREEDY,
    JOBS,
    MEMORIZER,
    OURS,
    PEER,
    RANDOM,
    SKLEARN,
    SMALL,
    TABLES,
)
from common import markdown_table

Found = dict[str, pd.DataFrame]

HEAD = """# What attackers get

Other people's attacks, on forests of ours, on diffprivlib's, on scikit-learn's, and on forests that are bad
on purpose. Made by `make attack`; the [guide](../guide/what-attackers-get.md) says what it means. Every
figure is in `attacks_reconstruction.csv`, `attacks_membership.csv` and `attacks_replay.csv`.
"""
RECONSTRUCTION = """## Reconstruction: the most likely table

{runs}. From 100 records a forest is learned (ten trees of depth 5 where there are trees to choose), and the
attack looks for the most likely table of 100 records. The figure is its error: the share of attributes that
are wrong, records matched as well as can be. *random guess* knows the domain alone. *100 others* are other
records of the same table, a guess by somebody who knows the population but none of these people: only errors
below that one tell of persons. *published* is what the authors report for their own forests, given hours of
CP-SAT; the other figures are means over seeds.

![reconstruction error against epsilon](attacks_reconstruction.png)
"""
GRID = """## What was measured

How many of {tables} tables x {epsilons} epsilons have a figure, and by runs of which size. Systems without
noise have one case a table. What is *missing*, the next run measures. A run with `--full` is larger than
every one here that is not called full:

{full}
"""
PAIRS = """Which of two? Records came in pairs, and a coin chose the one that the forest learned from. The
nearer one to the table that was found is the guess. *by counts* needs no table: the guess is the record whose
leaves hold more than the population would put there. e^2epsilon bounds how often either can be right (another
record is one removed and one added). Right of 100, and the most that epsilon allows (chance of a false alarm
{alarm:g}):
"""
MEMBERSHIP = """## Membership: SACRO-ML

{runs}. A coin for each candidate decided whether it was trained on. *LiRA* and *worst case* give AUC, then
the true positive rate at a false positive rate of 1%, then right guesses of all candidates (or of those that
the worst case attack held out) and the most that epsilon allows. *own test* is LiRA's test of each record
at a false positive rate of 5% of its own: how many members, and how many others, it took for members.
*attribute* is how often a hidden category was guessed, of members and of others.

![area under the ROC curve of LiRA against epsilon](attacks_membership.png)
"""
REPLAY = """## Record and replay

{runs}. Each fit runs on 150 records, then with one record fewer or one odd record more, while all noise is
what it was. *moved* is the most that a record moved the inputs of all samplers together, over epsilon: at
most 1, and close to 1 means that no budget was wasted. *seen* is how much likelier the noise was on one of
both tables, as a logarithm over epsilon. *kept* is how many neighbors kept the claim.
"""


def write_page(found: Found, out: Path) -> Path:
    """The page, and its pictures."""
    parts = [
        HEAD,
        f"Versions of the last run; what earlier runs measured stays: {_versions()}.\n",
        verdict(found),
        grid(found),
    ]
    found = {attack: _largest(rows) for attack, rows in found.items()}
    if len(rows := found["reconstruction"]):
        draw_reconstruction(rows, out / "attacks_reconstruction.png")
        parts += [
            RECONSTRUCTION.format(runs=_runs(rows, "reconstruction")),
            errors(rows),
        ]
        parts += [PAIRS.format(alarm=FALSE_ALARM), pairs(rows), solver(rows)]
    if len(rows := found["membership"]):
        draw_membership(rows, out / "attacks_membership.png")
        parts += [
            MEMBERSHIP.format(runs=_runs(rows, "membership")),
            members(rows),
            structural(rows),
        ]
    if len(rows := found["replay"]):
        parts += [REPLAY.format(runs=_runs(rows, "replay")), replays(rows)]
    page = out / "attacks.md"
    page.write_text("\n".join(parts), encoding="utf-8")
    return page


def grid(found: Found) -> str:
    """Which cells of the grid of tables, epsilons, attacks and systems have rows."""
    systems = (FLAGSHIP, RANDOM, GREEDY, PEER, SKLEARN, f"{RANDOM}, exact", EXACT)
    lines = [
        [system, *(_cells(attack, rows, system) for attack, rows in found.items())]
        for system in systems
    ]
    full = "\n".join(f"- {attack}: {FULL.words_for(attack)}" for attack in found)
    head = GRID.format(tables=len(TABLES), epsilons=len(EPSILONS), full=full)
    return f"{head}\n{markdown_table(('system', *found), lines)}"


def _cells(attack: str, rows: pd.DataFrame, system: str) -> str:
    of = rows[rows["system"] == system] if len(rows) else rows
    asked = [
        (job["table"], job["epsilon"]) for job in JOBS[attack](SMALL) if job["system"] == system
    ]
    if not asked:
        return "not asked"
    wanted, cells = len(set(asked)), len(of[["table", "epsilon"]].drop_duplicates())
    if not cells:
        return f"{wanted} missing"
    sizes = of.drop_duplicates(["table", "epsilon", "size"])["size"].value_counts()
    return f"{cells} of {wanted} ({', '.join(f'{n} {size}' for size, n in sizes.items())})"


def _largest(rows: pd.DataFrame) -> pd.DataFrame:
    """Of cases that were measured in full, those rows alone."""
    if not len(rows):
        return rows
    rank = (rows["size"] == "full").astype(int)
    return rows[rank == rank.groupby([rows[k] for k in _CASE]).transform("max")]


_CASE = ("table", "system", "epsilon")


# -- what would be wrong -----------------------------------------------------------------------


def too_much(found: Found) -> list[str]:
    """Cases in which an attack on a forest of ours got more than epsilon allows."""
    lines = []
    for attack, rows in found.items():
        for row in rows.to_dict("records"):
            if row["system"] in OURS and any(_true(row.get(k)) for k in _beats(row)):
                lines.append(
                    f"TOO MUCH: {attack} on {row['system']}, {row['table']}, epsilon {row['epsilon']}"
                )
    return lines


def bad_unnoticed(found: Found) -> list[str]:
    """Bad forests on which an attack that must light up did not, on any table or seed."""
    return [
        f"SILENT: {attack} saw nothing wrong with {system!r}"
        for attack, bad in LIT.items()
        for system in bad
        if len(of := _of_system(found[attack], system))
        and not any(lights_up(attack, row) for row in of)
    ]


LIT = {
    "replay": (*BAD_FITS, SKLEARN),
    "reconstruction": (BAD, EXACT),
    "membership": (MEMORIZER, SKLEARN),
}
"""Which forests each attack must see something wrong with. Predictions of random trees tell little of
records, so SACRO-ML's attacks need not see that their noise is too small."""


def lights_up(attack: str, row: dict[str, Any]) -> bool:
    """Whether an attack on a bad forest saw that it is one.

    Of exact counts, reconstruction must come closer than other records of the population do. Where an epsilon
    is claimed, more guesses must be right than it allows; LiRA must show that scikit-learn's is not 0.
    """
    if attack == "reconstruction" and row["system"] == EXACT:
        return float(row["error"]) < float(row["fresh"])
    if attack == "membership" and row["system"] == SKLEARN:
        return float(row["lira_at_least"]) > 0
    return any(_true(row.get(k)) for k in _beats(row))


def _of_system(rows: pd.DataFrame, system: str) -> list[dict[str, Any]]:
    return rows[rows.system == system].to_dict("records") if len(rows) else []


def _beats(row: dict[str, Any]) -> list[str]:
    return [k for k in row if str(k).endswith("beats")]


def _true(value: Any) -> bool:
    return str(value) == "True"


def verdict(found: Found) -> str:
    """The page's first lines: whether anybody got more than epsilon allows, and whether bad forests show."""
    cases = sum(int(rows.system.isin(OURS).sum()) for rows in found.values() if len(rows))
    low = [
        row
        for rows in found.values()
        for row in rows.to_dict("records")
        if row["system"] in OURS and float(row["epsilon"]) <= 1
    ]
    wrong, silent = too_much(found), bad_unnoticed(found)
    first = (
        f"**In none of {cases} cases did an attack on a forest of ours get more than its epsilon "
        f"allows** ({len(low)} of them at epsilon 1 or less)."
        if not wrong
        else "**" + "; ".join(wrong) + "**"
    )
    lit = (
        "Every attack lit up on the forests that are bad on purpose."
        if not silent
        else "; ".join(silent)
    )
    bounds = ", ".join(f"{largest_advantage(float(e)):.3f} at {e}" for e in EPSILONS)
    return (
        f"{first} {lit} What epsilon allows: true positives <= e^epsilon false positives, for every "
        f"record; so an advantage (true less false positives) of at most (e^epsilon - 1) / (e^epsilon + 1), "
        f"which is {bounds}.\n"
    )


def summary(found: Found) -> str:
    """For the guide: each attack in one figure a forest and epsilon, over all tables."""
    rows = []
    for attack, column, systems in (
        ("reconstruction", "error", (*SHOWN, EXACT)),
        ("membership", "lira_auc", (FLAGSHIP, RANDOM, PEER, SKLEARN)),
    ):
        of = _largest(found[attack])
        for system in systems if len(of) else ():
            mine = of[of.system == system]
            cells = [_mean(mine[mine.epsilon == e], column) for e in (*EPSILONS, "inf")]
            rows.append([_WORDS[attack], system, *cells])
        if attack == "reconstruction" and len(of):
            for name, words in (("random", "a random guess"), ("fresh", "100 others")):
                rows.append([_WORDS[attack], f"*{words}*", *[_mean(of, name)] * 4, ""])
    replayed = found["replay"]
    for system in OURS if len(replayed) else ():
        mine = replayed[replayed.system == system]
        moved = [pd.to_numeric(mine[mine.epsilon == e].largest).max() for e in EPSILONS]
        rows.append([_WORDS["replay"], system, *(f"{m:.3f}" for m in moved), ""])
    return markdown_table(["", "forest", *(f"epsilon {e}" for e in EPSILONS), "no noise"], rows)


_WORDS = {
    "reconstruction": "reconstruction, error", "membership": "LiRA, AUC",
    "replay": "replay, share of epsilon",
}  # fmt: skip


# -- tables ------------------------------------------------------------------------------------


def errors(rows: pd.DataFrame) -> str:
    table = []
    for name, group in rows.groupby("table", sort=False):
        for system in (*SHOWN, BAD, EXACT):
            of = group[group.system == system]
            cells = [_mean(of[of.epsilon == e], "error") for e in EPSILONS]
            if any(cells) or len(of):
                exact = _mean(of[of.epsilon == "inf"], "error")
                table.append([name, system, *cells, exact])
        known = PUBLISHED[str(name)]
        table.append([name, "*published*", *(_number(known.get(e)) for e in EPSILONS), ""])
        others = f"*random guess* {_mean(group, 'random')}, *100 others* {_mean(group, 'fresh')}"
        table.append([name, others, "", "", "", "", ""])
    return markdown_table(["table", "forest", *(f"epsilon {e}" for e in EPSILONS), "exact"], table)


def pairs(rows: pd.DataFrame) -> str:
    table = []
    for system in (*SHOWN, BAD, EXACT):
        for name, of in rows[rows.system == system].groupby("table", sort=False):
            for words, kind in (("", ""), (", by counts", "counts_")):
                if f"{kind}right" not in of or not len(known := of[of[f"{kind}right"] != ""]):
                    continue
                cells = []
                for e in (*EPSILONS, "inf"):
                    here = known[known.epsilon == e]
                    cells.append(_of(here, f"{kind}right", f"{kind}allowed") if len(here) else "")
                table.append([name, f"{system}{words}", *cells])
    head = ["table", "forest", *(f"epsilon {e}" for e in EPSILONS), "exact"]
    return markdown_table(head, table)


def solver(rows: pd.DataFrame) -> str:
    """How CP-SAT ended, and how much better a table could be."""
    of = rows[~rows.system.isin((FLAGSHIP, PEER))]
    solved = of[of.outcome != "annealed"].outcome.value_counts()
    outcomes = ", ".join(f"{n} {word}" for word, n in solved.items()) or "none was tried"
    by = []
    for e in EPSILONS:
        gaps = pd.to_numeric(of[of.epsilon == e].gap, errors="coerce").dropna()
        by.append(f"{100 * gaps.mean():.0f}% at {e}" if len(gaps) else "")
    return (
        f"CP-SAT, of {int(solved.sum())} forests with counts that it was tried on: {outcomes}. *not solved* "
        f"keeps the table of annealing. The mean gap between a table's cost and the least that any table can "
        f"have, by the solver or by trees apart: {', '.join(filter(None, by))}. The flagship's steps and "
        f"diffprivlib's labels have no such bound.\n"
    )


def members(rows: pd.DataFrame) -> str:
    table = []
    for name, group in rows.groupby("table", sort=False):
        for (system, epsilon), of in group.groupby(["system", "epsilon"], sort=False):
            table.append([
                name, system, epsilon,
                _three(of, "lira"),
                f"{_percent(of, 'own_tpr')} / {_percent(of, 'own_fpr')}",
                _three(of, "worst"),
                f"{_percent(of, 'attribute_in')} / {_percent(of, 'attribute_out')}",
            ])  # fmt: skip
    head = ["table", "forest", "epsilon", "LiRA", "own test", "worst case", "attribute"]
    return markdown_table(head, table)


def _three(rows: pd.DataFrame, attack: str) -> str:
    guesses = _of(rows, f"{attack}_right", f"{attack}_allowed")
    return f"{_mean(rows, f'{attack}_auc')}, {_percent(rows, f'{attack}_tpr_at_0.01')}, {guesses}"


def structural(rows: pd.DataFrame) -> str:
    """The checklist, for each system the flags that were raised most."""
    lines = []
    for system, of in rows.groupby("system", sort=False):
        flags = of.structural.replace("", "nothing").value_counts()
        lines.append(
            f"- {system}: " + ", ".join(f"{words} ({n} of {len(of)})" for words, n in flags.items())
        )
    return (
        "The structural checklist counts training records with the same prediction. It does not know noise, "
        "so it raises flags on private forests too; what it says of each, with the number of cases:\n\n"
        + "\n".join(lines) + "\n"
    )  # fmt: skip


def replays(rows: pd.DataFrame) -> str:
    table = []
    for system, of in rows.groupby("system", sort=False):
        for e, here in of.groupby("epsilon", sort=False):
            moved = pd.to_numeric(here.largest).max()
            kept, pairs_ = int(here.kept.astype(int).sum()), int(here.pairs.astype(int).sum())
            why = "; ".join(sorted({str(w) for w in here.why if str(w)}))
            seen = pd.to_numeric(here.seen).max()
            table.append([system, e, _plain(moved), _plain(seen), f"{kept} of {pairs_}", why])
    return markdown_table(["forest", "epsilon", "moved", "seen", "kept", "what was wrong"], table)


def _mean(rows: pd.DataFrame, column: str) -> str:
    numbers = pd.to_numeric(rows[column], errors="coerce").dropna() if len(rows) else []
    return f"{np.mean(numbers):.3f}" if len(numbers) else ""


def _percent(rows: pd.DataFrame, column: str) -> str:
    return f"{100 * pd.to_numeric(rows[column]).mean():.0f}%"


def _of(rows: pd.DataFrame, right: str, allowed: str) -> str:
    got, most = pd.to_numeric(rows[right]), pd.to_numeric(rows[allowed])
    return f"{got.mean():.0f} of at most {most.mean():.0f}{' (too many)' if (got > most).any() else ''}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.3f}"


def _plain(value: float) -> str:
    return "no bound" if math.isinf(value) else f"{value:.3f}"


def _runs(rows: pd.DataFrame, attack: str) -> str:
    sizes = {s.name: s.words_for(attack) for s in (BRIEF, SMALL, FULL)}
    parts = []
    for name, of in rows.groupby("size", sort=False):
        parts.append(f"{len(of)} cases of {sizes.get(str(name), str(name))}, {_seeds(of)}")
    return "Measured: " + "; ".join(parts)


def _seeds(rows: pd.DataFrame) -> str:
    return f"{rows.seed.nunique()} seed{'s' * (rows.seed.nunique() > 1)}"


def _versions() -> str:
    found = []
    for package in ("frith", "sacroml", "ortools", "diffprivlib", "scikit-learn"):
        try:
            found.append(f"{package} {version(package)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)
