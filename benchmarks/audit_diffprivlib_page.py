"""The words of benchmarks/audit_diffprivlib.py: what a run saw, as a page."""

from __future__ import annotations

import statistics
from typing import Any

from common import markdown_table

from frith.audit.black_box import CONFIDENCE

HEAD = """# An audit of diffprivlib's forest

A demonstration: our black-box audit on a forest that is not ours, and simpler looks at the same forest. It
says what one run saw of one version with the settings below; other versions and settings may behave
otherwise, and the rest of that package was not looked at. Finding nothing proves nothing. Made by
`python benchmarks/audit_diffprivlib.py`; noise has no seed, so another run differs a little.
"""


def page(found: dict[str, Any]) -> str:
    parts = (_audited, _seeds, _moves, _spending, _bounds, _undeclared)
    return "\n".join([HEAD, *(part(found) for part in parts)])


def _audited(found: dict[str, Any]) -> str:
    about = found["about"]
    versions = ", ".join(f"{name} {number}" for name, number in about["versions"].items())
    named = "names its" if about["names_neighbors"] else "names no kind of"
    return f"""- audited: `diffprivlib.models.RandomForestClassifier`; {versions}
- claimed: epsilon {about["epsilon"]:g} a fit, delta 0; the class's docstring {named} neighbors, so each check
  says which it used
- settings: its defaults `random_state=None`, `shuffle={about["shuffle"]}` and, where no other number is
  given, {about["trees"]} trees of depth {about["depth"]}; bounds and classes declared, but in the last check
"""


def _seeds(found: dict[str, Any]) -> str:
    s = found["seeds"]
    trees, none = s["trees"], "Not all trees hold a seed, so none was put to use in this run."
    return f"""## Can the noise be drawn again from the model?

A forest was fitted on 200 records, pickled and read back. {s["kept"]} of {trees} trees hold an integer in
`random_state`. Grown again with it on the rows that the tree was given, {s["same"]} of {trees} came out the
same, splits and labels; on another tree's rows, {s["same_on_other_rows"]} of {trees - 1}. The record counts
in the nodes add up to {s["counts_in_nodes"]}.

{_replayed(s) if s["kept"] == trees else none}
"""


def _replayed(s: dict[str, Any]) -> str:
    left, tables = [g["left"] for g in s["guesses"]], s["guesses"][0]["tables"]
    truths, search = sum(g["truth"] for g in s["guesses"]), s["search"]
    rate, right = search["tries"] / search["seconds"], ", that one" * search["right"]
    return f"""What such a seed tells: a forest of one tree was fitted on 7 records, then grown again with its
seed on each of {tables} small tables, all those with 0 to 3 records of each of two values and two labels.
Over {len(left)} models, {min(left)} to {max(left)} tables ({statistics.median(left):g} in the middle) give
the published tree; the true table does {truths} times. If it always does, a table that does not is ruled
out. Without seeds none ever is: in permute and flip, the mechanism used, every label has some chance on every
table.

With the seed taken out: the first tree's root threshold comes from {search["found"]} of {search["tries"]:,}
seeds around the right one{right}. They were tried in Python at {rate:,.0f} a second; the largest seed kept is
{s["largest"]:,}. The whole range, 2^31, was not tried."""


def _moves(found: dict[str, Any]) -> str:
    rows = [
        [f"{m['rows']:,}", *(m[k] for k in ("removed", "moved", "trees"))] for m in found["moves"]
    ]
    head = (
        "records",
        "removed row",
        "other rows that change trees",
        "trees that they leave or enter",
    )
    return f"""## Do other rows move when one is removed?

Neighbors: a table, and the same rows in the same order without one. Every tree told which rows it was given.

{markdown_table(head, rows)}
Trees can share one epsilon when a record's absence changes one of them alone (parallel composition). Where
other rows move, it changes more of them, and that argument does not hold.
"""


def _spending(found: dict[str, Any]) -> str:
    steps: dict[str, list[str]] = {}
    for s in found["spending"]:
        steps.setdefault(s["step"], []).append(f"{s['spent']:g}" + ", refused" * s["refused"])
    head = ("step", *dict.fromkeys(f"accountant {s['accountant']}" for s in found["spending"]))
    return f"""## What do cross-validation and scores spend?

A `BudgetAccountant` with room for one fit, and these steps one after the other on 200 records. The figures
are the epsilon that it had counted after each.

{markdown_table(head, [[step, *spent] for step, spent in steps.items()])}
scikit-learn's searches fit clones of a forest. Scores are exact shares of records, so they too tell of them.
"""


def _bounds(found: dict[str, Any]) -> str:
    claim = found["about"]["epsilon"]
    rows = [
        [
            b["neighbors"], b["words"], f"{b['fits']:,}", b["event"], f"{b['epsilon']:.2f}",
            f"{b['most']:.2f}", "yes" if b["over"] else "no",
        ]
        for b in found["bounds"]
    ]  # fmt: skip
    head = ("neighbors", "tables and forest", "fits", "event", "epsilon at least", "at most shown")
    return f"""## Black box

Many fits on each of two neighbors at a claimed epsilon of {claim:g}: the best event on one half, its bound on
the other, and the most that so many fits could show. The bounds hold together with {CONFIDENCE:.0%}
confidence; "over {claim:g}" is said where a bound that errs once in a million runs is over it too. Seeds are
looked at in the last row alone. Single trees are fitted more often, since two trials with 1,000 fits
disagreed on whether the third row is over 1.

{markdown_table((*head, f"over {claim:g}"), rows)}
*Direction* and *likelihood* weigh all that was looked at, by weights learned on the first half. A replaced
record is one removed and one added, so a claim of {claim:g} for add/remove neighbors allows {2 * claim:g}
there.
"""


def _undeclared(found: dict[str, Any]) -> str:
    u = found["undeclared"]
    rows = [[k, u[k]["warnings"], u[k]["high"], u[k]["classes"]] for k in ("with", "without")]
    head = ("the record", "privacy warnings", "upper bound in the model", "classes in the model")
    named = [[n["names"], f"{100 * n['accuracy']:.1f}"] for n in u["named"]]
    return f"""## Also seen

Bounds and classes not declared, 51 records, one of which has the largest value, 0.97, and the only label 2:

{markdown_table(head, rows)}
Not a matter of privacy, but of use: declared labels other than 0, 1, ... The second label where the attribute
is over one half, epsilon 1,000, mean accuracy of 10 forests in percent on their own 1,000 records:

{markdown_table(("labels", "accuracy"), named)}"""
