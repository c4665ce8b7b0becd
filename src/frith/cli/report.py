"""`frith report`: a page, a certificate or a model card of a forest."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from frith.cli.console import say, say_note
from frith.cli.files import check_output
from frith.cli.options import ForestFile


class Form(StrEnum):
    """What to write."""

    PAGE = "page"
    CERTIFICATE = "certificate"
    CARD = "card"


_SUFFIXES = {Form.PAGE: ".html", Form.CERTIFICATE: ".certificate.html", Form.CARD: ".md"}


def report(
    forest: ForestFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The page; else beside the forest.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(help="Records of your own with labels, to test it on.", metavar="FILE"),
    ] = None,
    form: Annotated[
        Form,
        typer.Option(help="A page, a certificate to print, or a model card in Markdown."),
    ] = Form.PAGE,
) -> None:
    """Write about a forest: its origin, its promise, its budget, its effects, rules and trees.

    Costs no budget. Without `--data` it may be shown to anyone; with it, it holds exact numbers about
    your records and is as private as they are.
    """
    from frith.engines.draft import read_table
    from frith.forest import Forest
    from frith.forest.report import write_card, write_certificate, write_report

    if form is Form.CERTIFICATE and data is not None:
        raise ValueError("a certificate is about the guarantee alone; leave out --data")
    path = output or forest.with_suffix(_SUFFIXES[form])
    check_output(path, forest, *([] if data is None else [data]))
    loaded, records = Forest.load(forest), None if data is None else read_table(data)[0]
    if form is Form.CERTIFICATE:
        write_certificate(loaded, path)
    else:
        (write_card if form is Form.CARD else write_report)(loaded, path, records)
    say(f"{path} written" + ("" if form is Form.CARD else "; open it in a browser"))
    if data is not None:
        say_note("it holds exact numbers about your records.")
