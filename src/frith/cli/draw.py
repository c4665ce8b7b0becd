"""`frith draw`: a saved forest as a picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from frith.cli.console import say_note
from frith.cli.files import check_output
from frith.cli.options import ForestFile
from frith.errors import FrithError


def draw(
    forest: ForestFile,
    output: Annotated[
        Path, typer.Option("--output", "-o", help="A .svg file, or .png with matplotlib.")
    ],
    tree: Annotated[
        int | None,
        typer.Option(metavar="N", help="Which tree, counted from 0; by default the first."),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            min=0,
            metavar="N",
            help="Splits on a path; by default as many as stay readable.",
        ),
    ] = None,
    all: Annotated[bool, typer.Option("--all", help="All trees at a glance.")] = False,
    effects: Annotated[
        bool, typer.Option("--effects", help="What all trees add up to, of a forest of scores.")
    ] = False,
) -> None:
    """Draw a tree of a forest, all of them at a glance, or their effects. Costs no budget.

    Everything drawn is released: each number with the standard error of its noise, and nodes that
    have fewer records than noise faded.
    """
    from frith.forest import Forest

    if (all or effects) and (tree is not None or depth is not None or (all and effects)):
        raise ValueError(
            "--all and --effects draw every tree, in one way each; leave out --tree and --depth"
        )
    check_output(output, forest)
    loaded = Forest.load(forest)
    try:
        if effects:
            loaded.effects().draw(output)
        else:
            loaded.draw(output, tree=None if all else tree or 0, max_depth=depth)
    except ImportError as error:
        raise FrithError(str(error)) from None
    what = "forest is" if all else "effects are" if effects else "tree is"
    say_note(f"the {what} drawn in {output}")
