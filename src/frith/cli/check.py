"""`frith check`: tells the curator, and nobody else, what lies outside a domain."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from frith.cli.console import out, print_json, say, say_note
from frith.cli.options import AnyTable, AsJson, DomainFile

if TYPE_CHECKING:
    from rich.table import Table

    from frith.domain.check import Finding, Report

_SHOWN = 40  # characters of an example


def check(
    table: AnyTable,
    domain: DomainFile,
    json: AsJson = False,
) -> None:
    """Tell what a table holds outside its domain. The output is PRIVATE.

    For the curator's desk alone: the counts and examples are exact facts about people. Exits with
    0 if nothing lies outside, 1 if something does, 2 on errors.
    """
    from frith.engines.check import check

    report = check(table, domain)
    if json:
        print_json(report.to_json())
    else:
        _show(report)
    say_note(
        "this report holds exact facts about people; it is for the curator alone. Saved "
        "output is a publication."
    )
    raise typer.Exit(1 if report.is_outside else 0)


def _show(report: Report) -> None:
    say(f"rows: {report.rows:,}; declared columns: {len(report.findings)}")
    if report.malformed_rows:
        say(f"rows with a wrong number of cells, not counted: {report.malformed_rows:,}", "red")
    seen = [f for f in report.findings if f.is_outside or f.missing]
    if not report.is_outside:
        say("nothing lies outside the domain", "green")
    if seen:
        out().print(_grid(seen))
    for notice in report.notices:
        say(f"note: {notice}", "yellow")


def _grid(seen: list[Finding]) -> Table:
    from rich.table import Table

    grid = Table("column", box=None, header_style="bold", padding=(0, 2, 0, 0))
    for name in ("missing", "outside", "clamped"):
        grid.add_column(name, justify="right")
    grid.add_column("what happens")
    grid.add_column("examples")
    for finding in seen:
        grid.add_row(*_cells(finding), style="" if finding.is_outside else "dim")
    return grid


def _cells(finding: Finding) -> list[str]:
    counts = (finding.missing, finding.outside, finding.clamped)
    name = finding.column if finding.role == "attribute" else f"{finding.column} ({finding.role})"
    examples = ", ".join(_shortened(e) for e in finding.examples)
    return [name, *(f"{n:,}" if n else "-" for n in counts), finding.consequence, examples]


def _shortened(example: object) -> str:
    """Short numbers, and text in quotes without control characters, which a terminal would obey."""
    if isinstance(example, float):
        return f"{example:g}"
    text = repr(example)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 4]}...{text[-1]}"
