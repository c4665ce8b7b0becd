"""`frith audit`: try to break a learner's promise."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import err, out, print_json, say
from frith.cli.options import AsJson

if TYPE_CHECKING:
    from rich.table import Table

    from frith.audit.ladder import Verdict
    from frith.audit.outcomes import Report
    from frith.audit.sizes import Size
    from frith.privacy.budget import Budget


class Audited(StrEnum):
    """What can be audited, by the name it has on the command line."""

    FOREST = "forest"
    RANDOM_DECISION = "random-decision"
    SIGNAL = "signal"
    GINI = "gini"
    ID3 = "id3"
    C45 = "c45"
    INFO_GAIN = "info-gain"
    ALL = "all"
    KNOWN_BAD = "known-bad"


def audit(
    learner: Annotated[
        Audited, typer.Argument(help="A learner, `all` of them, or the `known-bad` fixtures.")
    ],
    epsilon: Annotated[
        str, typer.Option("--epsilon", metavar="E", help="The budget that is claimed.")
    ] = "1",
    delta: Annotated[
        str, typer.Option("--delta", metavar="D", help="0 for a pure budget, else such as 1e-6.")
    ] = "0",
    rungs: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Some of samplers, replay, small-world, black-box and canaries, by commas.",
        ),
    ] = None,
    full: Annotated[bool, typer.Option("--full", help="At the size of the proof run.")] = False,
    json: AsJson = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write a self-contained page.")
    ] = None,
) -> None:
    """Audit a learner: try to show that it gives away more than it claims.

    Runs on made-up tables, so no record is read and the output may be shown to anyone. Exits with 1
    if a rung fails; for `known-bad`, if a flaw is missed or a sound twin is flagged.
    """
    from frith.audit.sizes import FULL, QUICK
    from frith.privacy.budget import Budget

    chosen, budget, size = _rungs(rungs), Budget.of(epsilon, delta), FULL if full else QUICK
    if budget.is_exact:
        raise ValueError("epsilon=inf claims nothing, so there is nothing to audit")
    if learner is Audited.KNOWN_BAD:
        _audit_known_bad(budget, size, chosen, json, html)
    else:
        _audit_learners(learner, budget, size, chosen, json, html)


def _rungs(text: str | None) -> tuple[str, ...]:
    from frith.audit.ladder import RUNGS

    if text is None:
        return tuple(RUNGS)
    wanted = [name.strip().replace("-", " ") for name in text.split(",")]
    for name in wanted:
        if name not in RUNGS:
            known = ", ".join(r.replace(" ", "-") for r in RUNGS)
            raise ValueError(f"there is no rung {name!r}; there are {known}")
    return tuple(r for r in RUNGS if r in wanted)


def _audit_learners(
    learner: Audited,
    budget: Budget,
    size: Size,
    rungs: tuple[str, ...],
    json: bool,
    html: Path | None,
) -> None:
    from frith.audit.ladder import audit_learner, audit_noise
    from frith.audit.subjects import SOUND

    names = list(SOUND) if learner is Audited.ALL else [learner.value]
    with err().status("auditing") as status:
        say_status = lambda text: status.update(f"auditing {text}")  # noqa: E731
        reports = [audit_learner(name, budget, size, rungs, say_status) for name in names]
        if learner is Audited.ALL and "samplers" in rungs:
            reports.append(audit_noise(size))
    _write(reports, html)
    if json:
        print_json([r.to_json() for r in reports] if len(reports) > 1 else reports[0].to_json())
    else:
        for report in reports:
            _show(report)
    raise typer.Exit(0 if all(r.passed for r in reports) else 1)


def _audit_known_bad(
    budget: Budget, size: Size, rungs: tuple[str, ...], json: bool, html: Path | None
) -> None:
    from frith.audit.ladder import all_flaws, audit_flaw

    with err().status("auditing") as status:
        say_status = lambda text: status.update(f"auditing {text}")  # noqa: E731
        verdicts = [audit_flaw(f, budget, size, rungs, say_status) for f in all_flaws()]
    _write([r for v in verdicts for r in (v.bad, v.sound)], html)
    if json:
        print_json([_verdict(v) for v in verdicts])
    else:
        out().print(_flaws_table(verdicts, rungs))
    caught = all(v.flagged_on and v.sound.passed for v in verdicts)
    raise typer.Exit(0 if caught else 1)


def _write(reports: list[Report], path: Path | None) -> None:
    if path is not None:
        from frith.audit.html import audit_page

        path.write_text(audit_page(reports), encoding="utf-8")


def _verdict(verdict: Verdict) -> dict[str, Any]:
    flaw = verdict.flaw
    return {
        "flaw": flaw.name, "seen_in": flaw.seen_in, "flagged_on": list(verdict.flagged_on),
        "bad": verdict.bad.to_json(), "sound": verdict.sound.to_json(),
    }  # fmt: skip


def _show(report: Report) -> None:
    from frith.audit.html import summary

    style = "bold green" if report.passed else "bold red"
    say(f"\n{report.learner}: {'passed' if report.passed else 'failed'}", style)
    for sentence in summary(report):
        say(sentence)
    out().print(_outcomes_table(report))


def _outcomes_table(report: Report) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("rung", "form", "status", "found", "seconds"):
        table.add_column(name, justify="right" if name == "seconds" else "left")
    colors = {"passed": "green", "failed": "red"}
    for o in report.outcomes:
        status = Text(o.status, style=colors.get(o.status, "dim"))
        table.add_row(o.rung, o.subject, status, o.found, f"{o.seconds:.1f}")
    return table


def _flaws_table(verdicts: list[Verdict], rungs: tuple[str, ...]) -> Table:
    from rich.table import Table

    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for name in ("flaw", *rungs, "sound twin"):
        table.add_column(name)
    for verdict in verdicts:
        seen = ("flagged" if rung in verdict.flagged_on else "-" for rung in rungs)
        twin = "passed" if verdict.sound.passed else "FLAGGED"
        table.add_row(verdict.flaw.name, *seen, twin)
    return table
