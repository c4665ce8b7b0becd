"""`frith rules`: what a saved forest says, rule by rule."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from frith.cli.console import out, print_json, say, say_note
from frith.cli.options import ForestFile

if TYPE_CHECKING:
    from frith.forest.nodes import Rule
    from frith.forest.rules import RuleList

_SHOWN = 20  # rules in a table, unless --top says more


class Format(StrEnum):
    """How rules are printed."""

    TABLE = "table"
    MARKDOWN = "markdown"
    JSON = "json"
    CSV = "csv"


class Sort(StrEnum):
    """Which rules come first, by the names of `frith.forest.rules.SORTS`."""

    CERTAINTY = "certainty"
    CONFIDENCE = "confidence"
    SUPPORT = "support"
    TREE = "tree"


def rules(
    forest: ForestFile,
    min_confidence: Annotated[
        float | None,
        typer.Option(min=0, max=1, metavar="SHARE", help="The least share of a rule's label."),
    ] = None,
    min_support: Annotated[
        float | None, typer.Option(metavar="N", help="The least noisy number of records.")
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="VALUE", help="Only rules that predict this label.")
    ] = None,
    attribute: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only rules that test this attribute.")
    ] = None,
    leaves: Annotated[bool, typer.Option("--leaves", help="Leave out sub-rules.")] = False,
    sort: Annotated[
        Sort, typer.Option(help="Which come first; certainty is what is left after the noise.")
    ] = Sort.CERTAINTY,
    top: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help=f"How many; by default {_SHOWN} in a table, else all."
        ),
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Print scores though rules were counted.")
    ] = False,
    format: Annotated[Format, typer.Option(help="How to print them.")] = Format.TABLE,
) -> None:
    """Print a forest's rules and sub-rules, with their noise. Costs no budget.

    A rule is the path to a leaf, a sub-rule the path to a node above one. Rules that were counted
    state confidence and support with 95% intervals, which hold for all rules at once. A forest of
    scores states by how much each of its trees moves the odds of a label; if rules were counted beside
    it, those are printed, unless --scores is given.
    """
    from frith.forest import Forest

    loaded = Forest.load(forest)
    found = (loaded if scores else loaded.measured or loaded).rules(
        min_confidence=min_confidence,
        min_support=min_support,
        label=label,
        attribute=attribute,
        leaves_only=leaves,
        sort=sort.value,
    )
    if top is None and format is Format.TABLE:
        top = _SHOWN
    _print(found[:top], format)
    if format is Format.TABLE and len(found):
        say_note(found.note)
    if len(found) > (top or len(found)):
        say_note(f"{len(found):,} rules in all; --top shows more of them.")


def _print(rules: RuleList, format: Format) -> None:
    if format is Format.JSON:
        print_json(rules.to_json())
    elif format is Format.CSV:
        typer.echo(rules.to_csv(), nl=False)
    elif format is Format.MARKDOWN:
        typer.echo(rules.to_markdown(), nl=False)
    elif len(rules):
        _print_table(rules)
    else:
        say("no rule passes these filters; relax one of them")


def _print_table(rules: RuleList) -> None:
    from rich.table import Table

    grid = Table(box=None, header_style="bold", padding=(0, 2, 0, 0))
    for heading in rules.headings:
        grid.add_column(heading, justify="right", no_wrap=True)
    grid.add_column(rules.nodes.forest.domain.label.name, style="bold")
    grid.add_column("rule")
    for rule, node in zip(rules, rules.chosen, strict=True):
        grid.add_row(*_cells(rule), style="dim" if rules.nodes.is_faint[node] else "")
    out().print(grid)


def _cells(rule: Rule) -> list[str]:
    from frith.domain import spelling
    from frith.forest.nodes import printable

    return [*rule.cells, printable(spelling(rule.label)), rule.text]
