"""`frith report`: a forest on one page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from frith.cli.console import say, say_note
from frith.cli.files import check_output
from frith.cli.options import ForestFile


def report(
    forest: ForestFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page; else beside the forest.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Records of your own with labels, to test it on.", metavar="FILE"),
    ] = None,
) -> None:
    """Write one HTML page about a forest: its promise, its budget, its rules, trees and noise.

    Costs no budget. Without `--data` it may be shown to anyone; with it, the page holds exact numbers
    about your records and is as private as they are.
    """
    from frith.engines.draft import read_table
    from frith.forest import Forest
    from frith.forest.report import write_report

    path = output or forest.with_suffix(".html")
    check_output(path, forest, *([] if data is None else [data]))
    write_report(Forest.load(forest), path, None if data is None else read_table(data))
    say(f"{path} written; open it in a browser")
    if data is not None:
        say_note("it holds exact numbers about your records.")
