"""The audit as one page: no script, no font, nothing loaded from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from frith._markup import Html, join, page, table, tag
from frith.audit.outcomes import Report, versions
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
    "A lower bound says that epsilon is at least this large, with the stated confidence. Finding nothing "
    "proves nothing: the guarantee rests on its proof, and an audit can only refute it."
)


def audit_page(reports: Sequence[Report]) -> str:
    """A self-contained page about one or more learners."""
    title = "Privacy audit: " + ", ".join(r.learner for r in reports)
    known = ", ".join(f"{name} {number}" for name, number in versions().items())
    about = tag("p", tag("small", known))
    return page(title, _STYLE, tag("h1", title), tag("p", LIMITS), *map(_section, reports), about)


def _section(report: Report) -> Html:
    verdict = "passed" if report.passed else "failed"
    rows = [
        (o.rung, o.subject, tag("span", o.status, class_=o.status), o.found, f"{o.seconds:.1f}")
        for o in report.outcomes
    ]
    head = tag("h2", report.learner, ": ", tag("span", verdict, class_=verdict))
    found = table(("rung", "form", "status", "found", "seconds"), rows)
    return join([head, tag("p", " ".join(summary(report))), found])


def summary(report: Report) -> list[str]:
    """One sentence about the claim and one about each finding."""
    told = [f"Claimed: {amounts(report.claim.epsilon, report.claim.delta)}."]
    if report.measured is not None:
        told.append(
            f"Measured on fits: epsilon is at least {report.measured.loss:.3f}, at "
            f"{report.measured.confidence:.0%} confidence ({report.measured.rung})."
        )
    if report.computed is not None:
        told.append(f"Computed on small tables: a loss of {report.computed.loss:.4g}.")
    return told
