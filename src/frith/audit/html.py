"""The audit as one page: no script, no font, nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from frith.audit.outcomes import Outcome, Report, Status, versions
from frith.privacy.promise import amounts

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 62rem; margin: 2rem auto; padding: 0 1rem;
  color: #222; background: #fff }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.2rem }
table { border-collapse: collapse; width: 100% } caption { text-align: left; color: #555 }
th, td { text-align: left; vertical-align: top; padding: .3rem .8rem .3rem 0;
  border-bottom: 1px solid #ddd } th { color: #555; font-weight: 500 }
.passed { color: #17692f } .failed { color: #a4161a; font-weight: 600 } .not { color: #666 }
@media (prefers-color-scheme: dark) { body { color: #ddd; background: #16181a }
  th, caption, .not { color: #999 } th, td { border-color: #333 }
  .passed { color: #6fcf8b } .failed { color: #ff8a8a } }
"""

LIMITS = (
    "A lower bound says that epsilon is at least so large, with the stated confidence. Finding nothing "
    "proves nothing: the guarantee rests on its proof, and an audit can only refute it."
)


def page(reports: Sequence[Report]) -> str:
    """A self-contained page about one or more learners."""
    title = "Privacy audit: " + ", ".join(r.learner for r in reports)
    body = "".join(_section(report) for report in reports)
    known = ", ".join(f"{name} {number}" for name, number in versions().items())
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f'<meta name="viewport" content="width=device-width"><style>{_STYLE}</style></head>'
        f"<body><h1>{escape(title)}</h1><p>{escape(LIMITS)}</p>{body}"
        f"<p><small>{escape(known)}</small></p></body></html>\n"
    )


def _section(report: Report) -> str:
    rows = "".join(_row(outcome) for outcome in report.outcomes)
    verdict = "passed" if report.passed else "failed"
    return (
        f'<h2>{escape(report.learner)}: <span class="{verdict}">{verdict}</span></h2>'
        f"<p>{escape(' '.join(summary(report)))}</p><table><thead><tr><th>rung</th>"
        "<th>form</th><th>status</th><th>found</th><th>seconds</th></tr></thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _row(outcome: Outcome) -> str:
    kind = {Status.PASSED: "passed", Status.FAILED: "failed"}.get(outcome.status, "not")
    cells = (
        f"<td>{escape(outcome.rung)}</td><td>{escape(outcome.subject)}</td>"
        f'<td class="{kind}">{escape(outcome.status)}</td><td>{escape(outcome.found)}</td>'
    )
    return f"<tr>{cells}<td>{outcome.seconds:.1f}</td></tr>"


def summary(report: Report) -> list[str]:
    """What is claimed and what was found, a sentence each."""
    told = [f"Claimed: {amounts(report.claim.epsilon, report.claim.delta)}."]
    if report.measured is not None:
        told.append(
            f"Measured on fits: epsilon is at least {report.measured.loss:.3f}, at "
            f"{report.measured.confidence:.0%} confidence ({report.measured.rung})."
        )
    if report.computed is not None:
        told.append(f"Computed on small tables: a loss of {report.computed.loss:.4g}.")
    return told
