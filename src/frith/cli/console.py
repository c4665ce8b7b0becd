"""Results go to stdout, notes and errors to stderr.

File names and values are never read as Rich markup, so a bracket in one is only a bracket.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console


def out() -> Console:
    from rich.console import Console

    return Console(markup=False, highlight=False)


def err() -> Console:
    from rich.console import Console

    return Console(stderr=True, markup=False, highlight=False)


def say(text: str, style: str = "") -> None:
    """One paragraph on stdout. Only the terminal breaks lines, so that paths stay whole."""
    out().print(text, style=style, soft_wrap=True)


def say_note(text: str) -> None:
    err().print(f"note: {text}", style="yellow", soft_wrap=True)


def say_error(text: str) -> None:
    err().print(f"error: {text}", style="red", soft_wrap=True)


def quoted(path: Path) -> str:
    """A path as it is typed after a command."""
    return shlex.quote(str(path))


def print_json(data: Any) -> None:
    typer.echo(json.dumps(data, indent=2, ensure_ascii=False))


def print_rows(columns: Sequence[str], rows: Sequence[Sequence[str]], json: bool = False) -> None:
    """A small table, or the same as JSON."""
    if json:
        print_json([dict(zip(columns, row, strict=True)) for row in rows])
        return
    from rich.table import Table

    table = Table(box=None, header_style="dim", padding=(0, 2, 0, 0))
    for i, name in enumerate(columns):  # what comes first is a name or an id, to be copied
        table.add_column(name, no_wrap=i == 0, overflow="fold")
    for row in rows:
        table.add_row(*row)
    out().print(table)
