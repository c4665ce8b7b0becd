"""`frith effects`: what the trees of a saved forest add up to, attribute by attribute."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith._csv import table
from frith.cli.console import out, print_json, say, say_note
from frith.cli.options import ForestFile

if TYPE_CHECKING:
    from frith.forest.effects import Effects

_BAR = 12  # characters either way
_PAIRS = 20  # rows of pairs, the strongest


class EffectFormat(StrEnum):
    """How effects are printed."""

    TABLE = "table"
    JSON = "json"
    CSV = "csv"


def effects(
    forest: ForestFile,
    attribute: Annotated[
        str | None, typer.Option(metavar="NAME", help="Only this attribute's.")
    ] = None,
    pairs: Annotated[
        bool, typer.Option("--pairs", help="What pairs of attributes add beyond each alone.")
    ] = False,
    format: Annotated[EffectFormat, typer.Option(help="How to print them.")] = EffectFormat.TABLE,
) -> None:
    """Print what a forest's trees add to the odds, value by value. Costs no budget.

    Only a forest of scores has effects: they are the model's opinion, not counts. ± is the standard error
    of the noise, and claims no coverage. `frith draw --effects` draws them.
    """
    from frith.forest import Forest

    found = Forest.load(forest).effects()
    frame = found.pairs_to_frame() if pairs else found.to_frame()
    if attribute is not None:
        found.of(attribute)  # raises if there is none
        mine = (frame["first"] == attribute) | (frame["second"] == attribute) if pairs else (
            frame["attribute"] == attribute
        )  # fmt: skip
        frame = frame[mine]
    if format is EffectFormat.JSON:
        print_json(found.to_json())
    elif format is EffectFormat.CSV:
        typer.echo(table(frame), nl=False)
    else:
        _print(found, frame, pairs)


def _print(found: Effects, frame: Any, pairs: bool) -> None:
    from rich.table import Table

    from frith.domain import spelling

    say(f"what attributes add to {found.unit}")
    if not len(frame):
        say("no pair adds anything" if pairs else "no tree asks for any attribute", "dim")
    names = ["first", "first_value", "second", "second_value"] if pairs else ["attribute", "value"]
    names += [] if len(found.labels) == 1 else ["label"]
    grid = Table(*names, "adds", "± noise", "", box=None, header_style="dim", padding=(0, 2, 0, 0))
    strongest = float(frame["effect"].abs().max()) if len(frame) else 1.0
    if pairs:
        frame = frame.loc[frame["effect"].abs().sort_values(ascending=False).index[:_PAIRS]]
    for row in frame.to_dict("records"):
        role = f" ({row['role']})" if row.get("role") and row["role"] != row["value"] else ""
        words = [spelling(row[n]) + (role if n == "value" else "") for n in names]
        bar = _bar(row["effect"] / (strongest or 1.0))
        style = "dim" if abs(row["effect"]) < row["noise"] else ""
        grid.add_row(*words, f"{row['effect']:+.2f}", f"{row['noise']:.2f}", bar, style=style)
    out().print(grid)
    if found.never_asked and not pairs:
        say_note(f"no tree asks for {', '.join(found.never_asked)}.")


def _bar(share: float) -> str:
    """A bar from the middle, to the left if negative."""
    length = round(abs(share) * _BAR)
    left, right = ("", "█" * length) if share >= 0 else ("█" * length, "")
    return f"{left:>{_BAR}}│{right}"
