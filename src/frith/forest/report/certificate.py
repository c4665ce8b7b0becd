"""The certificate: what was promised about a forest, on one sheet of paper."""

from __future__ import annotations

import math
from pathlib import Path

from frith._markup import Html, page, tag
from frith.forest.forest import Forest
from frith.forest.report.facts import facts_of, spent_rows, title_of, unit_of
from frith.privacy.promise import amounts, promise

_MOST_ASSUMPTIONS = 12  # on the sheet; the forest's file has them all
_STYLE = """
:root { color-scheme: light; }
@page { size: A4; margin: 14mm; }
body { margin: 0 auto; max-width: 46rem; padding: 1rem; background: #fff; color: #1d2a22;
  font: 14px/1.4 system-ui, sans-serif; }
main { border: 3px double #23694a; padding: 1.2rem 1.6rem; }
h1, h2 { font-family: Georgia, serif; line-height: 1.2; } h1 { margin: 0; font-size: 1.7rem; }
h2 { font-size: 1.05rem; margin: 1rem 0 .3rem; color: #23694a; } p, ul, dl { margin: .3rem 0; }
.figure { font: 1.4rem Georgia, serif; } .none { color: #b3261e; } ul { padding-left: 1.2rem; }
dl { display: grid; grid-template-columns: 9rem 1fr; gap: .1rem .8rem; }
dt { color: #64706a; } dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 30rem) { main { padding: .8rem; } dl { grid-template-columns: 1fr; }
  dd { margin-bottom: .3rem; } }
@media print { body { max-width: none; padding: 0; font-size: 12px; } main { break-inside: avoid; } }
"""
_NOT_SAID = (
    "It does not say that anybody is anonymous, that predictions are right, or that what many records "
    "have in common stays unknown: a forest is there to say that."
)


def write_certificate(forest: Forest, path: str | Path) -> None:
    """Write the certificate as one HTML page that prints on one sheet."""
    Path(path).write_text(make_certificate(forest), encoding="utf-8")


def make_certificate(forest: Forest) -> str:
    """One HTML page: the guarantee in plain words, assumptions, budget, and receipt. For anyone."""
    claim = forest.guarantee
    kind = None if claim.holds else "none"
    title = "Certificate of a private release" if claim.holds else "No certificate"
    claimed = amounts(claim.epsilon, claim.delta) if claim.holds else "no guarantee"
    parts: list[Html] = [
        tag("h1", title, class_=kind),
        tag("p", f"{title_of(forest)}."),
        tag("h2", "What is promised"),
        tag("p", claimed, class_="figure"),
    ]
    if claim.holds:
        parts += _assumptions(claim.assumptions)
    parts.append(tag("p", promise(claim)))
    if claim.holds:
        parts += [tag("p", _in_plain_words(forest)), tag("p", _NOT_SAID)]
    parts += [tag("h2", "What was spent, and by whom"), _list(spent_rows(forest))]
    parts += [tag("h2", "Which forest"), _list([*facts_of(forest), _domain(forest)])]
    return page(title, _STYLE, *parts)


def _in_plain_words(forest: Forest) -> str:
    """Whom it protects; of a pure guarantee also how sure anybody can become."""
    epsilon, delta = forest.guarantee.epsilon, forest.guarantee.delta
    words = f"Protected is {unit_of(forest)}, whatever anybody else knows."
    if delta:
        return words
    sure = math.ceil(1000 / (1 + math.exp(-float(epsilon)))) / 10
    return (
        f"{words} Whoever thinks it as likely as not that it was in the table can, by this forest, become at "
        f"most {sure:g}% sure of it."
    )


def _assumptions(assumptions: tuple[str, ...]) -> list[Html]:
    shown = [tag("li", text) for text in assumptions[:_MOST_ASSUMPTIONS]]
    more = len(assumptions) - _MOST_ASSUMPTIONS
    shown += [tag("li", f"and {more} more, in the forest's file")] if more > 0 else []
    words = "It assumes, and does not cover:"
    return [tag("p", words), tag("ul", *shown)] if shown else []


def _list(rows: list[tuple[str, str]]) -> Html:
    return tag(
        "dl", *(part for name, value in rows for part in (tag("dt", name), tag("dd", value)))
    )


def _domain(forest: Forest) -> tuple[str, str]:
    return "Domain", forest.domain.fingerprint
