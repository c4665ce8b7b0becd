"""`frith domain`: drafting the public facts of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from frith.cli.console import say_note
from frith.cli.files import check_new, check_output
from frith.cli.options import Force, TableFiles

app = typer.Typer(no_args_is_help=True, help="Draft the public facts about a table.")


@app.command()
def draft(
    table: TableFiles,
    label: Annotated[str, typer.Option(help="The column to predict.", metavar="NAME")],
    person: Annotated[
        str | None,
        typer.Option(help="The column that names the protected person.", metavar="COLUMN"),
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="A column to leave out; may be given often.", metavar="NAME"),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write TOML (.json for JSON).")
    ] = None,
    force: Force = False,
) -> None:
    """Draft a domain from a table, for its curator to review.

    Leaves out columns that look like identifiers, or whose type a domain cannot describe, and says so.

    The draft holds exact facts about people: it is private until every value in it has been
    reviewed and is public knowledge.
    """
    from frith.domain.drafted import REVIEW
    from frith.engines.draft import draft_domain

    if output is not None:
        check_output(output, table)
        check_new(output, force, "may be reviewed already")
    made = draft_domain(table, label, person, leave_out or ())
    if output is None:
        typer.echo(str(made), nl=False)
    else:
        made.save(output)
    where = "" if output is None else f"{output} written. "
    for name, why in made.left_out.items():
        say_note(f"left out: {name!r}, {why}")
    say_note(where + " ".join(REVIEW))
