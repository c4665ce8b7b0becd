"""`frith domain`: drafting the public facts of a table."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from frith.cli.console import say_note
from frith.cli.files import check_new, check_output
from frith.cli.options import (
    Delta,
    Force,
    LedgerFile,
    PersonColumn,
    RecordsPerPerson,
    TableFiles,
)

if TYPE_CHECKING:
    from frith.domain import Domain

PAID = (
    "Bounds and values are private releases. Replace what you know better from outside; `paid` stays, and is "
    "added to the guarantee of every forest."
)

app = typer.Typer(no_args_is_help=True, help="Draft the public facts about a table.")


@app.command()
def draft(
    table: TableFiles,
    label: Annotated[str, typer.Option(help="The column to predict.", metavar="NAME")],
    person: PersonColumn = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="A column to leave out; may be given often.", metavar="NAME"),
    ] = None,
    private: Annotated[
        bool,
        typer.Option("--private", help="Pay for the draft: --epsilon, and a --column for each."),
    ] = False,
    column: Annotated[
        list[str] | None,
        typer.Option(
            help="What a column is, with --private: number, date, values (needs --delta) or a list of values "
            "such as a,b,c; give one for each, also the label.",
            metavar="NAME=KIND",
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option(help="What a private draft spends: 0.1, 1/3.", metavar="E")
    ] = None,
    delta: Delta = "0",
    records: Annotated[
        int | None,
        typer.Option(help="The number of records, if it is public; with --private.", metavar="N"),
    ] = None,
    records_per_person: RecordsPerPerson = 1,
    ledger: LedgerFile = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write TOML (.json for JSON).")
    ] = None,
    force: Force = False,
) -> None:
    """Draft a domain from a table, for its curator to review.

    Leaves out columns that look like identifiers, or whose type a domain cannot describe, and says so.

    The draft holds exact facts about people: it is private until every value in it has been
    reviewed and is public knowledge. With --private, bounds and values are private releases instead, and
    forests that are trained with the draft state its price with their own.
    """
    from frith.domain.drafted import REVIEW
    from frith.engines.draft import draft_domain

    if output is not None:
        check_output(output, table, *([] if ledger is None else [ledger]))
        check_new(output, force, "may be reviewed already")
    if private:
        if leave_out:
            raise ValueError("a private draft has the columns that --column names, and no others")
        if epsilon is None:
            raise ValueError("a private draft is paid for: say how much, --epsilon 0.5")
        paid = _draft_privately(
            table, label, column or (), epsilon=epsilon, delta=delta, records=records, ledger=ledger,
            person=None if person is None else (person, records_per_person),
        )  # fmt: skip
        text, save, notes = f"# {PAID}\n\n{paid.to_toml()}", paid.save, [f"{paid.paid}", PAID]
    else:
        if column or epsilon is not None or delta != "0" or ledger is not None:
            raise ValueError("--column, --epsilon, --delta and --ledger are for --private drafts")
        made = draft_domain(table, label, person, leave_out or ())
        left_out = [f"left out: {name!r}, {why}" for name, why in made.left_out.items()]
        text, save, notes = str(made), made.save, [*left_out, " ".join(REVIEW)]
    if output is None:
        typer.echo(text, nl=False)
    elif output.suffix == ".json":
        save(output)
    else:
        output.write_text(text, encoding="utf-8")
    *first, last = notes
    for note in first:
        say_note(note)
    say_note(("" if output is None else f"{output} written. ") + last)


def _draft_privately(
    table: Path,
    label: str,
    columns: Sequence[str],
    *,
    person: tuple[str, int] | None,
    **budget: Any,
) -> Domain:
    from frith.domain import Person
    from frith.learners.private_domain import draft_privately

    who = None if person is None else Person(*person)
    return draft_privately(table, label, read_kinds(columns), person=who, **budget)


def read_kinds(columns: Sequence[str]) -> dict[str, Any]:
    """What `--column NAME=KIND` says of each column."""
    from frith.learners.private_domain import KINDS

    kinds: dict[str, Any] = {}
    for text in columns:
        name, equals, kind = text.partition("=")
        if not equals or not kind or name in kinds:
            raise ValueError(f"--column takes NAME=KIND, once for a name, and not {text!r}")
        kinds[name] = kind if kind in KINDS else kind.split(",")
    return kinds
