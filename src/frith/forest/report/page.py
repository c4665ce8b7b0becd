"""The page: one self-contained HTML file, without scripts and without anything from elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from frith._markup import Html, join, page, table, tag
from frith.forest.forest import Forest
from frith.forest.kinds import ValueKind
from frith.forest.nodes import printable
from frith.forest.report.about import (
    domain_section,
    effects_section,
    origin_section,
    recipe_section,
)
from frith.forest.report.charts import bars, calibration, waterfall
from frith.forest.report.facts import title_of
from frith.forest.report.trial import label_names, number_words, score_words, try_forest
from frith.forest.rules import RuleList
from frith.privacy.promise import amounts, promise

_RULES, _TREES, _ATTRIBUTES = 25, 3, 30
_FACTORS = (0.25, 0.5, 1.0, 2.0, 4.0)
_CLEAR = 2.0  # standard errors of noise from which a leaf's support is clear
_STILL = "× 1"  # the odds, moved by less than a rule can say

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2a22; --dim: #64706a; --paper: #fffefa; --card: #f4f3ee;
  --line: #d9d8cd; --green: #23694a; --amber: #d09a2d; }
@media (prefers-color-scheme: dark) { :root { --ink: #e8ece8; --dim: #9aa59f; --paper: #151b17;
  --card: #1e2621; --line: #37423b; --green: #5db38a; --amber: #e0b352; } }
body { margin: 0 auto; max-width: 60rem; padding: 1.5rem; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, sans-serif; overflow-wrap: break-word; }
h1, h2 { font-family: Georgia, serif; line-height: 1.2; } h2 { margin: 2.4rem 0 .6rem; }
.promise { border-left: 4px solid var(--green); padding: .4rem 1rem; background: var(--card); }
.none { border-color: #b3261e; } .dim, figcaption { color: var(--dim); }
table { border-collapse: collapse; width: 100%; }
th { text-align: left; color: var(--dim); font-weight: 500; }
td, th { padding: .3rem .7rem .3rem 0; border-bottom: 1px solid var(--line); }
.number { text-align: right; white-space: nowrap; }
.wide, figure { overflow-x: auto; margin: .6rem 0; } svg { max-width: 100%; height: auto; }
.chart text { font: 13px system-ui, sans-serif; fill: var(--ink); }
.chart text.dim { fill: var(--dim); }
.bars { display: grid; gap: .25rem; }
.row { display: grid; grid-template-columns: minmax(0, 16rem) 1fr 7rem; gap: 0 .9rem; align-items: center; }
.name { overflow-wrap: anywhere; font-size: .9rem; } .row .number { text-align: left; font-size: .9rem;
  line-height: 1.25; white-space: normal; }
.bar { width: 100%; height: 1.1rem; }
.spent { fill: var(--green); } .empty { fill: var(--line); } .point { fill: var(--green); }
.error { stroke: var(--amber); stroke-width: 2; } .diagonal { stroke: var(--dim); stroke-dasharray: 4 4; }
.picture { background: #fff; border-radius: 8px; padding: 8px; }
.panels { display: grid; gap: .6rem;
  grid-template-columns: repeat(auto-fill, minmax(min(100%, 17rem), 1fr)); }
.panels figure { margin: 0; } .panels svg { width: 100%; } .key { margin-right: 1.2rem; }
.swatch { display: inline-block; width: .7rem; height: .7rem; margin-right: .35rem; }
dl { display: grid; grid-template-columns: 9rem 1fr; gap: .1rem .9rem; } dt { color: var(--dim); }
dd { margin: 0; overflow-wrap: anywhere; } pre { overflow-x: auto; background: var(--card); padding: .7rem; }
@media (max-width: 40rem) { body { padding: 1rem; } .wide td, .wide th { padding-right: .5rem; }
  .row { grid-template-columns: 1fr 6.5rem; margin-bottom: .2rem; } .name { grid-column: 1 / -1; }
  .rules thead { display: none; } .rules tr { display: flex; flex-wrap: wrap; gap: 0 .9rem; padding: .5rem 0;
    border-bottom: 1px solid var(--line); } .rules td { border: 0; padding: 0; font-size: .9rem; }
  .rules td:first-child { flex-basis: 100%; } .rules td:nth-child(2)::before { content: "then "; }
  .picture svg { min-width: 40rem; } .panels .picture svg { min-width: 0; }
  dl { grid-template-columns: 1fr; } dd { margin-bottom: .4rem; } }
@media print { body { max-width: none; } h2 { break-after: avoid; } }
"""


_EXACT = "These numbers are exact: this page is now as private as the records they are about."


def write_report(forest: Forest, path: str | Path, data: Any = None) -> None:
    """Write the report of a forest; `data` is a table of your own to test it on."""
    Path(path).write_text(make_report(forest, data), encoding="utf-8")


def make_report(forest: Forest, data: Any = None) -> str:
    """One HTML page. Without `data` it reads releases only, so it may be shown to anyone.

    With `data` it holds exact numbers about those records, and is as private as they are.
    """
    title, has_target = title_of(forest), forest.domain.has_target
    parts = [_head(forest, title), origin_section(forest), _spending(forest)]
    if data is not None:
        parts.append(_tested_number(forest, data) if has_target else _tested(forest, data))
    parts += [effects_section(forest), _importances(forest)]
    parts += [] if has_target else [_rules(forest), _pictures(forest)]
    parts += [_elsewhere(forest), domain_section(forest), recipe_section(forest)]
    return page(title, _STYLE, *parts)


def _head(forest: Forest, title: str) -> Html:
    claim, trees = forest.guarantee, forest.trees
    kind = "promise" if claim.holds else "promise none"
    facts = [
        f"{trees.n_trees} tree{'s' if trees.n_trees != 1 else ''}, depth {forest.max_depth}, "
        f"{len(trees.leaves):,} leaves",
        f"{len(trees.asked)} of {len(forest.domain.attributes)} attributes used",
    ]
    head = [tag("h1", title), tag("p", "; ".join(facts), class_="dim")]
    claimed = amounts(claim.epsilon, claim.delta) if claim.holds else "no guarantee"
    head += [
        tag("h2", "What it promises"),
        tag("p", tag("strong", claimed), "; neighbors: ", claim.neighbors),
    ]
    if claim.assumptions:
        head.append(tag("p", "What it assumes, and what it does not cover:"))
        head.append(tag("ul", *(tag("li", text) for text in claim.assumptions)))
    if claim.parties:
        head.append(tag("p", "Several parties have spent on it:"))
        head.append(tag("ul", *(tag("li", str(share)) for share in claim.parties)))
    return join([*head, tag("p", promise(claim), class_=kind)])


def _spending(forest: Forest) -> Html:
    asked = forest.guarantee.asked
    if not asked:
        return Html("")
    rows = [
        (q.purpose, f"{q.cells:,}", q.mechanism, f"{q.scale:.4g}", f"{float(q.share):.2%}")
        for q in asked
    ]
    details = tag("details", tag("summary", "Every question"),
                  table(("question", "cells", "mechanism", "scale", "share"), rows, (1, 3, 4)))  # fmt: skip
    words = "Each question to the curator was charged before a record was read."
    return join([tag("h2", "Where the budget went"), tag("p", words, class_="dim"),
                 tag("figure", waterfall(asked)), details])  # fmt: skip


def _tested_number(forest: Forest, data: Any) -> Html:
    words, note = number_words(forest, data), tag("p", _EXACT, class_="dim")
    return join([tag("h2", "On your records"), tag("p", words), note])


def _tested(forest: Forest, data: Any) -> Html:
    result, names = try_forest(forest, data), label_names(forest)
    rows = [
        (name, *(f"{c:,}" for c in row)) for name, row in zip(names, result.confusion, strict=True)
    ]
    matrix = table(("is \\ said", *names), rows, range(1, len(names) + 1))
    unknown = (
        [tag("p", f"{result.unknown:,} records without a known label were left out.", class_="dim")]
        if result.unknown
        else []
    )
    figure = tag(
        "figure", calibration(result.bins), tag("figcaption", "How often right, against how sure.")
    )
    words = score_words(result)
    return join([tag("h2", "On your records"), tag("p", words), tag("p", _EXACT, class_="dim"), *unknown,
                 matrix, figure])  # fmt: skip


def _importances(forest: Forest) -> Html:
    frame = forest.importances(errors=True).sort_values("importance", ascending=False)
    rows = [
        (str(n), float(r.importance), float(r.standard_error))
        for n, r in frame[:_ATTRIBUTES].iterrows()
    ]
    gain = "movement of the odds" if forest.kind is ValueKind.SCORES else "gain in purity"
    gain = "movement of predictions" if forest.domain.has_target else gain
    words = (
        f"How much of the {gain} comes from splits on it, ± the standard error of the noise. "
        "Attributes that no tree asks are not listed."
    )
    return join([tag("h2", "Which attributes tell"), tag("figure", bars(rows)),
                 tag("p", words, class_="dim")])  # fmt: skip


def _rules(forest: Forest) -> Html:
    lists = [("Rules", forest.rules())]
    if forest.kind is ValueKind.SCORES:
        lists = [("How its trees move the odds", forest.rules())]
        lists[:0] = (
            [("Rules that were counted", forest.measured.rules())] if forest.measured else []
        )
    return join([part for title, rules in lists for part in _list(forest, title, rules)])


def _list(forest: Forest, title: str, rules: RuleList) -> list[Html]:
    rows = [(rule.text, printable(str(rule.label)), *rule.cells) for rule in rules[:_RULES]]
    if forest.kind is ValueKind.SCORES:
        rows = [row for row in rows if row[2] != _STILL] or rows[:1]
    head = ("if", f"then {forest.domain.label.name}", *rules.headings)
    words = f"The clearest first. {rules.note}"
    return [
        tag("h2", title),
        tag("p", words, class_="dim"),
        tag("div", table(head, rows, (2, 3)), class_="rules"),
    ]


def _pictures(forest: Forest) -> Html:
    drawn = [forest.draw(tree=None)]
    drawn += [forest.draw(tree=t) for t in range(min(_TREES, forest.trees.n_trees))]
    figures = [tag("figure", Html(str(svg)), class_="picture") for svg in drawn]
    return join([tag("h2", "Trees"), *figures])


def _elsewhere(forest: Forest) -> Html:
    """What noise there would have been at other epsilons, from the released counts alone."""
    claim, leaves = forest.guarantee, forest.trees.leaves
    noise = float(np.sqrt(np.median(forest.variance[leaves])))
    if not claim.holds or not noise or forest.kind is ValueKind.SCORES:
        return Html("")
    support = forest.values[leaves].sum(axis=1)
    error = np.sqrt(forest.variance[leaves] * forest.domain.n_labels)
    rows = [
        (
            f"{float(claim.epsilon) * f:.4g}" + (" (this one)" if f == 1 else ""),
            f"{noise / f:.4g}",
            f"{np.mean(support > _CLEAR * error / f):.0%}",
        )
        for f in _FACTORS
    ]
    words = (
        "Noise on a leaf count shrinks as epsilon grows. The last column is the share of leaves whose "
        "released support is over twice its noise: with more of them clear, more of the trees' detail is "
        "signal. The same trees are assumed; a learner may grow others at another epsilon."
    )
    head = ("epsilon", "noise on a leaf count (standard deviation)", "leaves that stand out")
    return join(
        [tag("h2", "At other epsilons"), tag("p", words, class_="dim"), table(head, rows, (1, 2))]
    )
